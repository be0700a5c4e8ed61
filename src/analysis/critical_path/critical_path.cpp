#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "analysis/analysis.h"
#include "analysis/collectives/collectives.h"
#include "analysis/critical_path/graph.h"
#include "analysis/totals.h"
#include "base/strings.h"
#include "trace/group_names.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;

struct Answer {
  const trace::Trace& trace;
  Graph graph;
  LongestPath path;
  const Edge& edge(size_t i) const { return graph.edges[path.edges[i]]; }
  int64_t elapsed_ns(const Edge& edge) const {
    return graph.time_ns[edge.to] - graph.time_ns[edge.from];
  }
};

trace::NameId label_of(const trace::Trace& trace, const Moment& moment) {
  const auto row = static_cast<size_t>(moment.row);
  return moment.is_op ? trace.label(row) : trace.apis.label[row];
}

const std::string& name_of(const trace::Trace& trace, const Moment& moment) {
  return trace.names[label_of(trace, moment)];
}

int64_t start_of(const Answer& answer) {
  return answer.path.edges.empty() ? 0 : answer.graph.time_ns[answer.edge(0).from];
}

// As --from counts.
int64_t from_origin(const Answer& answer, int64_t time_ns) {
  return time_ns - answer.trace.origin_ns;
}

// Whose time an edge is: for a span the call or operation itself, otherwise what it leads to.
Moment event_of(const Answer& answer, const Edge& edge) {
  if (edge.api != kNone) return {edge.api, false, false};
  return answer.graph.moment_of(edge.kind == EdgeKind::kSpan ? edge.from : edge.to);
}

struct Sum {
  int64_t edges = 0, time_ns = 0, elapsed_ns = 0;
  void add(const Answer& answer, const Edge& edge) {
    ++edges;
    time_ns += edge.weight_ns;
    elapsed_ns += answer.elapsed_ns(edge);
  }
};

report::Section bound_section(const Answer& answer) {
  report::Section section{
      .key = "bound_by",
      .empty_text = "No path: no calls and no operations that depend on each other."};
  std::array<Sum, kBoundBy> sums;
  int64_t elapsed_ns = 0;
  for (size_t i = 0; i < answer.path.edges.size(); ++i) {
    const Edge& edge = answer.edge(i);
    sums[static_cast<size_t>(edge.bound)].add(answer, edge);
    elapsed_ns += answer.elapsed_ns(edge);
  }
  report::Table& table = section.table;
  table.add_columns({text("bound_by", "Bound by"), time("time_ns", "Time"),
                     percent("percentage", "Share"), integer("edges", "Edges")});
  std::vector<size_t> order;
  for (size_t i = 0; i < kBoundBy; ++i) {
    if (sums[i].time_ns != 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sums[a].time_ns > sums[b].time_ns; });
  for (const size_t i : order) {
    table.add_row({std::string(bound_by_name(static_cast<BoundBy>(i))), sums[i].time_ns,
                   percent_of(sums[i].time_ns, answer.path.length_ns), sums[i].edges});
  }
  if (answer.path.edges.empty()) return section;
  section.add_fact({"length_ns", "Length", Kind::kTime, answer.path.length_ns});
  section.add_fact({"elapsed_ns", "From start to end", Kind::kTime, elapsed_ns});
  section.add_fact(
      {"unexplained_ns", "Unexplained", Kind::kTime, elapsed_ns - answer.path.length_ns});
  section.add_fact({"at_ns", "Begins at", Kind::kTime, from_origin(answer, start_of(answer))});
  section.add_fact(
      {"edges", "Edges", Kind::kInteger, static_cast<int64_t>(answer.path.edges.size())});
  // Shares of a short path would be read as shares of the program's time.
  if (elapsed_ns / 2 > answer.path.length_ns) {
    section.remarks.push_back(fmt::format(
        "The shares are of the path's length. {:.0f} % of the time from its start to its end is "
        "unexplained: between these calls the host did what no call or operation shows. sonde idle "
        "shows when the GPU waited, sonde stacks what the host did.",
        100.0 * static_cast<double>(elapsed_ns - answer.path.length_ns) /
            static_cast<double>(elapsed_ns)));
  }
  return section;
}

report::Section kinds_section(const Answer& answer) {
  report::Section section{.key = "edge_kinds", .title = "Edges of the path by kind"};
  report::Table& table = section.table;
  table.add_columns({text("kind", "Kind"), integer("edges", "Edges"), time("time_ns", "Time"),
                     time("elapsed_ns", "From start to end"),
                     time("unexplained_ns", "Unexplained")});
  std::array<Sum, kEdgeKinds> sums;
  for (size_t i = 0; i < answer.path.edges.size(); ++i) {
    sums[static_cast<size_t>(answer.edge(i).kind)].add(answer, answer.edge(i));
  }
  for (size_t i = 0; i < kEdgeKinds; ++i) {
    if (sums[i].edges == 0) continue;
    table.add_row({std::string(edge_kind_name(static_cast<EdgeKind>(i))), sums[i].edges,
                   sums[i].time_ns, sums[i].elapsed_ns, sums[i].elapsed_ns - sums[i].time_ns});
  }
  return section;
}

report::Section names_section(const Answer& answer) {
  report::Section section{.key = "names", .title = "What the path consists of"};
  report::Table& table = section.table;
  table.add_columns({name("name", "Name"), text("bound_by", "Bound by"), integer("edges", "Edges"),
                     time("time_ns", "Time"), percent("percentage", "Share")});
  const trace::GroupNames names(answer.trace);
  std::map<std::pair<trace::NameId, BoundBy>, Sum> sums;
  for (size_t i = 0; i < answer.path.edges.size(); ++i) {
    const Edge& edge = answer.edge(i);
    if (edge.weight_ns == 0) continue;
    const trace::NameId name = names.of(label_of(answer.trace, event_of(answer, edge)));
    sums[{name, edge.bound}].add(answer, edge);
  }
  std::vector<std::pair<std::pair<trace::NameId, BoundBy>, Sum>> rows(sums.begin(), sums.end());
  std::sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
    if (a.second.time_ns != b.second.time_ns) return a.second.time_ns > b.second.time_ns;
    if (a.first.first == b.first.first) return a.first.second < b.first.second;
    return names.text(a.first.first) < names.text(b.first.first);
  });
  for (const auto& [key, sum] : rows) {
    table.add_row({names.text(key.first), std::string(bound_by_name(key.second)), sum.edges,
                   sum.time_ns, percent_of(sum.time_ns, answer.path.length_ns)});
  }
  return section;
}

void add_place_columns(report::Table& table) {
  table.add_columns(
      {id("gpu_id", "GPU"), id("queue_id", "Queue"), id("pid", "Process"), id("tid", "Thread")});
}

void add_place(const trace::Trace& trace, const Moment& moment, std::vector<Value>& row) {
  const auto event = static_cast<size_t>(moment.row);
  if (moment.is_op) {
    const trace::Queue& queue = trace.queues[trace.ops.queue[event]];
    row.insert(row.end(), {int64_t{queue.gpu}, queue.queue, std::monostate{}, std::monostate{}});
    return;
  }
  const trace::Thread& thread = trace.threads[trace.apis.thread[event]];
  Value pid;
  if (thread.process != kNone) pid = trace.processes[static_cast<size_t>(thread.process)].pid;
  row.insert(row.end(), {std::monostate{}, std::monostate{}, pid, thread.tid});
}

report::Section edges_section(const Answer& answer) {
  report::Section section{
      .key = "edges",
      .empty_text = "No path: no calls and no operations that depend on each other."};
  report::Table& table = section.table;
  table.add_columns({time("at_ns", "At"), time("elapsed_ns", "Elapsed"), text("kind", "Kind"),
                     text("bound_by", "Bound by"), time("time_ns", "Time"), name("name", "Of"),
                     name("from", "From"), name("to", "To")});
  add_place_columns(table);
  const auto moment_text = [&](uint32_t node) {
    const Moment moment = answer.graph.moment_of(node);
    return fmt::format("{} {}", moment.is_end ? "end of" : "start of",
                       name_of(answer.trace, moment));
  };
  for (size_t i = 0; i < answer.path.edges.size(); ++i) {
    const Edge& edge = answer.edge(i);
    const Moment event = event_of(answer, edge);
    std::vector<Value> row = {from_origin(answer, answer.graph.time_ns[edge.from]),
                              answer.elapsed_ns(edge),
                              std::string(edge_kind_name(edge.kind)),
                              std::string(bound_by_name(edge.bound)),
                              edge.weight_ns,
                              name_of(answer.trace, event),
                              moment_text(edge.from),
                              moment_text(edge.to)};
    add_place(answer.trace, event, row);
    table.add_row(std::move(row));
  }
  return section;
}

report::Section slack_section(const Answer& answer) {
  report::Section section{.key = "slack", .empty_text = "No device operations."};
  report::Table& table = section.table;
  table.add_columns({name("name", "Name"), time("at_ns", "At"), time("duration_ns", "Duration"),
                     time("slack_ns", "Slack")});
  add_place_columns(table);
  const std::vector<int64_t> after_ns = longest_after(answer.graph);
  const auto through = [&](uint32_t node) { return answer.path.before_ns[node] + after_ns[node]; };
  // How much longer an event could take before the longest path became longer.
  const auto slack_ns = [&](uint32_t begin) {
    return answer.path.length_ns - std::max(through(begin), through(begin + 1));
  };
  for (size_t op = 0; op < answer.trace.ops.size(); ++op) {
    const Moment moment = {static_cast<trace::Row>(op), true, false};
    std::vector<Value> row = {name_of(answer.trace, moment),
                              from_origin(answer, answer.trace.ops.start_ns[op]),
                              answer.trace.op_ns(op), slack_ns(answer.graph.begin_of_op(op))};
    add_place(answer.trace, moment, row);
    table.add_row(std::move(row));
  }
  return section;
}

void add_notes(const Answer& answer, report::Report& report) {
  const auto say = [&](uint64_t count, const char* what) {
    if (count != 0) report.notes.push_back(format_count(count) + what);
  };
  say(answer.graph.against_time,
      " edges are left out, because they lead to an earlier time: clocks differ");
  say(answer.path.unordered, " begins and ends are left out, because they wait for each other");
  if (answer.trace.ops.size() == 0) report.notes.push_back("the trace has no operations");
  if (answer.trace.apis.size() == 0) report.notes.push_back("the trace has no calls");
}

Result<report::Report> run(const trace::Trace& trace, const Parameters& parameters) {
  SONDE_ASSIGN(const int64_t gap_ns, parameters.duration_ns("kernel-gap"));
  report::Report report = begin_report("critical-path", trace);
  Answer answer{trace, build_graph(trace, {gap_ns}), {}};
  answer.path = longest_path(answer.graph);
  const std::string& show = parameters.text("show");
  if (show == "edges") {
    report.sections.push_back(edges_section(answer));
  } else if (show == "slack") {
    report.sections.push_back(slack_section(answer));
  } else {
    report.sections.push_back(bound_section(answer));
    if (!answer.path.edges.empty()) {
      report.sections.push_back(kinds_section(answer));
      report.sections.push_back(names_section(answer));
    }
    const std::string& what_if = parameters.text("what-if");
    if (!what_if.empty()) {
      SONDE_ASSIGN(report::Section section,
                   what_if_section(trace, answer.graph, answer.path, what_if));
      report.sections.push_back(std::move(section));
    }
  }
  add_notes(answer, report);
  return report;
}

constexpr const char* kDefinition =
    "critical-path: the longest chain of calls and operations in which each one waited for the one "
    "before it.\n\n"
    "The begin and the end of each call and operation are nodes. An edge leads from what had to "
    "finish first to what could then start, and its weight is the time that this explains. The "
    "path is the chain of edges with the largest sum of weights; of two equal chains, the one that "
    "ends last. Length is that sum. From start to end is the time between the first and the last "
    "node of the path, and Unexplained is the part of it that no weight explains. Share is a share "
    "of Length.\n\n"
    "Edges and their weights:\n"
    "span: the duration of an operation, or the self time of a call (without the calls inside it). "
    "A collective in which a rank of the same file waited for another weighs what it took from when "
    "the last rank was there, and another edge leads to its end from the start of that rank's. "
    "Once a call starts to wait for an operation, the rest of it weighs 0. A queue may begin an "
    "operation slightly before the one before it ends, and times are rounded. So if that end comes "
    "after the start, but closer to it than the launch and everything else that came first, the "
    "edge covers the earlier operation up to the start.\n"
    "launch delay: from the start of the launching call to the start of its operation, if the "
    "queue or stream was free when the call began, or if the operation runs beside the one before "
    "it. Each node of a graph has such an edge from the launch of the graph.\n"
    "kernel-kernel delay: from the end of an operation to the start of the next one on its queue "
    "or in its stream, if the next one was launched by then. A delay longer than --kernel-gap "
    "counts as a dependency. If the launching calls name their streams (HIP, CUDA), each stream is "
    "in order, whatever queues it runs on. The null stream waits for the other streams of its "
    "process and GPU, and they wait for it, except for streams that the file shows to be "
    "non-blocking or whose creation is not in the file. Without stream names (OpenCL, HSA, traces "
    "of PyTorch) each queue of the file is in order. The signals that HSA's packets wait for are "
    "not recorded.\n"
    "sync: weight 0, from the end of an operation to the end of the call that waited for it (for a "
    "device, a queue or an event), or to the start of an operation whose queue had to wait for it. "
    "Files of CUDA say this in synchronisation records. In recordings of Sonde the arguments of "
    "the calls say it: an event of HIP stands for the work that was in its stream when it was last "
    "recorded, and a wait list of OpenCL names the operations that gave its events. Where a file "
    "says neither, a call waits for the operation that its process had launched before and that "
    "ended last during the call; and the first operation that a thread launches after it makes a "
    "queue wait depends on the operation that ended last on another queue; if that was more than "
    "20 us before, on the one that ended last on another GPU of the process, if that was not. "
    "Operations without a call at the start of a queue were launched before the recording. Clocks "
    "differ, so an operation that ends after the call, but closer to the call's end than to its start, counts as "
    "awaited too, and the edge covers the operation up to the call's end. Calls that return when "
    "their copy is done (hipMemcpy, a blocking clEnqueueReadBuffer) wait for their own operation. "
    "hipFree and cudaFree wait like a synchronisation.\n"
    "dependency: weight 0, from the end of a call to the start of the next call on the same "
    "thread.\n"
    "thread: weight 0, from the end of the last call of another thread of the process to the start "
    "of a call whose own thread was between calls. Which thread woke which is not recorded.\n\n"
    "Only one edge leads to the start of an operation: from whatever came last of its launch, its "
    "queue and its wait. Calls are framework operators, runtime calls and data loader markers. "
    "Python frames and other markers do not count as work.\n\n"
    "Bound by, with the name that JSON and CSV have for it: CPU (cpu) and data loading "
    "(data_loading: in a range whose name contains DataLoader) are spans of calls. GPU kernels "
    "(gpu_compute), GPU communication (gpu_communication) and GPU copies (gpu_copy, with memsets) "
    "are spans of operations. Launch overhead (kernel_launch_overhead) and gaps between kernels "
    "(kernel_kernel_overhead) are the delays; other work on the GPU (gpu_other_work) are those of "
    "30 us or longer in which the GPU mostly ran kernels (for a copy: did other copies) of other "
    "streams, queues or processes.\n\n"
    "--show edges lists the path in order; At and Begins at count from the start of the trace, "
    "like --from. --show slack lists every operation with its slack: how much longer it could take "
    "before Length grew. Slack is 0 on the path.\n\n"
    "--what-if reduces the weights of a row of Bound by (either of its names), or the spans of all "
    "calls and operations whose name matches a regular expression, by a percentage, and finds the "
    "longest path again. Unexplained time does not change.\n";

std::string place_of(const trace::Trace& trace, const Moment& moment) {
  const auto event = static_cast<size_t>(moment.row);
  if (moment.is_op) {
    const trace::Queue& queue = trace.queues[trace.ops.queue[event]];
    return fmt::format("GPU {}, queue {}", queue.gpu, queue.queue);
  }
  const trace::Thread& thread = trace.threads[trace.apis.thread[event]];
  if (thread.process == kNone) return fmt::format("thread {}", thread.tid);
  return fmt::format("thread {} of process {}", thread.tid,
                     trace.processes[static_cast<size_t>(thread.process)].pid);
}

}  // namespace

std::vector<Step> critical_path_steps(const trace::Trace& trace) {
  Answer answer{trace, build_graph(trace, {}), {}};
  answer.path = longest_path(answer.graph);
  std::vector<Step> steps;
  for (size_t i = 0; i < answer.path.edges.size(); ++i) {
    const Edge& edge = answer.edge(i);
    if (answer.elapsed_ns(edge) == 0) continue;
    const Moment event = event_of(answer, edge);
    steps.push_back({answer.graph.time_ns[edge.from], answer.graph.time_ns[edge.to], edge.weight_ns,
                     edge.kind, edge.bound, name_of(trace, event), place_of(trace, event), event});
  }
  return steps;
}

Analysis critical_path_analysis() {
  return {
      "critical-path",
      "Show the chain of work that determined how long the program took",
      "Finds the longest path through everything that waited for something else (calls, launches, "
      "kernels, queues and synchronisation): how long it is, what bounds it, and what lies on it.",
      kDefinition,
      {{"sonde critical-path trace.json", "what bounds the program"},
       {"sonde critical-path trace.rpd --show edges --limit 0", "the whole path, step by step"},
       {"sonde critical-path trace.rpd --show slack --sort=-slack", "what is nearly on it"},
       {"sonde critical-path trace.rpd --what-if gemm=50",
        "what would be saved if matrix products took half the time"}},
      {{"show",
        "WHAT",
        "the summary, the path itself, or the slack of every operation",
        "summary",
        {"summary", "edges", "slack"}},
       {"kernel-gap", "TIME",
        "longer gaps between operations of a queue do not count as queue "
        "delay",
        "1500us"},
       {"what-if", "NAME=PERCENT",
        "how long the path would be if this row of Bound by (such as 'launch overhead'), or calls "
        "and kernels with this name, took PERCENT less [nothing]",
        ""}},
      [](const Parameters&) {
        return trace::Request{.ops = true,
                              .links = true,
                              .streams = true,
                              .explains_idle = true,
                              .args_of = trace::bit_of(trace::ApiKind::kRuntime) |
                                         trace::bit_of(trace::ApiKind::kDeviceSync) |
                                         trace::bit_of(trace::ApiKind::kOperator),
                              .args_named = [](std::string_view name) {
                                return critical_path_wants_args(name) ||
                                       collectives_want_args(name);
                              }};
      },
      run};
}

}  // namespace sonde::analysis
