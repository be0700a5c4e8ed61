#include <algorithm>
#include <map>

#include "analysis/analysis.h"
#include "analysis/time/idle_gaps.h"
#include "analysis/totals.h"
#include "report/layout.h"
#include "trace/frames.h"
#include "trace/group_names.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;

int64_t length_of(trace::Interval time) { return time.end_ns - time.start_ns; }

report::Section reasons_section(const trace::Trace& trace, const std::vector<Gap>& gaps,
                                const std::map<int64_t, GpuTime>& gpus) {
  report::Section section{.key = "idle",
                          .empty_text = gpus.empty()
                                            ? no_op_times(trace)
                                            : "The GPUs were never idle between their operations."};
  report::Table& table = section.table;
  table.add_columns({id("gpu_id", "GPU"), text("reason", "Reason"), integer("gaps", "Gaps"),
                     time("total_ns", "Total"), percent("wall_percentage", "Wall"),
                     time("mean_ns", "Mean"), time("max_ns", "Max")});
  std::map<std::pair<int64_t, IdleReason>, Total> sums;
  for (const Gap& gap : gaps) sums[{gap.gpu, gap.reason}].add(length_of(gap.time));
  std::vector<std::pair<std::pair<int64_t, IdleReason>, Total>> order(sums.begin(), sums.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first.first != b.first.first ? a.first.first < b.first.first
                                          : a.second.total_ns > b.second.total_ns;
  });
  for (const auto& [key, sum] : order) {
    table.add_row({int64_t{key.first}, std::string(idle_reason_name(key.second)), sum.calls,
                   sum.total_ns, percent_of(sum.total_ns, length_of(gpus.at(key.first).extent)),
                   sum.mean_ns(), sum.max_ns});
  }
  return section;
}

class Names {
 public:
  Names(const trace::Trace& trace, const trace::UserFrames& user)
      : trace_(trace), tree_(trace::build_op_tree(trace)), user_(user) {}
  Value host(const Gap& gap) const {
    return gap.host.time_ns == 0 ? Value() : Value(text_of(trace_, gap.host));
  }
  Value op(Row row) const {
    return row == kNone ? Value() : Value(trace_.names[trace_.label(static_cast<size_t>(row))]);
  }
  Value thread(Row row) const {
    const Row api = api_of(row);
    if (api == kNone) return std::monostate{};
    return trace_.threads[trace_.apis.thread[static_cast<size_t>(api)]].tid;
  }
  Value leaf(Row row) const {
    return row == kNone ? Value() : call(tree_.leaf[static_cast<size_t>(row)]);
  }
  Value frame(Row row) const {
    return call(tree_.nearest(api_of(row), [&](size_t i) { return user_.contains(i); }));
  }

 private:
  Row api_of(Row row) const {
    return row == kNone ? kNone : trace_.ops.api[static_cast<size_t>(row)];
  }
  Value call(Row api) const {
    if (api == kNone) return std::monostate{};
    return trace_.names[trace_.apis.label[static_cast<size_t>(api)]];
  }

  const trace::Trace& trace_;
  trace::OpTree tree_;
  const trace::UserFrames& user_;
};

report::Section longest_section(const trace::Trace& trace, std::vector<Gap> gaps, size_t most,
                                const trace::UserFrames& user) {
  report::Section section{.key = "gaps", .title = "The longest gaps", .empty_text = "None."};
  report::Table& table = section.table;
  table.add_columns({id("gpu_id", "GPU"), time("start_ns", "From"), time("duration_ns", "Gap"),
                     text("reason", "Reason"), text("host", "Host"), time("host_ns", "For"),
                     name("previous", "After"), name("next", "Before"), id("tid", "Thread"),
                     text("operator", "Operator"), text("frame", "Frame")});
  std::erase_if(gaps, [](const Gap& gap) { return gap.reason == IdleReason::kCopy; });
  std::stable_sort(gaps.begin(), gaps.end(), [](const Gap& a, const Gap& b) {
    return length_of(a.time) > length_of(b.time);
  });
  if (gaps.size() > most) gaps.resize(most);
  if (gaps.empty()) return section;
  const Names names(trace, user);
  for (const Gap& gap : gaps) {
    table.add_row({int64_t{gap.gpu}, gap.time.start_ns - trace.origin_ns, length_of(gap.time),
                   std::string(idle_reason_name(gap.reason)), names.host(gap),
                   gap.host.time_ns == 0 ? Value() : Value(gap.host.time_ns),
                   names.op(gap.previous), names.op(gap.next), names.thread(gap.next),
                   names.leaf(gap.next), names.frame(gap.next)});
  }
  return section;
}

// The program's wall time before and after the operations of a GPU.
struct Around {
  trace::Interval before, after;
  Row first = kNone, last = kNone;  // operations
};

std::map<int64_t, Around> times_around(const trace::Trace& trace,
                                       const std::map<int64_t, GpuTime>& gpus) {
  std::map<int64_t, Around> around;
  if (!trace.program) return around;
  for (const auto& [id, gpu] : gpus) {
    const trace::Interval program = *trace.program;
    around[id].before = {program.start_ns, std::max(program.start_ns, gpu.extent.start_ns)};
    around[id].after = {std::min(program.end_ns, gpu.extent.end_ns), program.end_ns};
  }
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    Around& of = around[trace.ops.gpu[i]];
    if (of.first == kNone) of.first = static_cast<Row>(i);
    of.last = static_cast<Row>(i);
  }
  return around;
}

report::Section program_section(const trace::Trace& trace, const std::vector<Gap>& gaps,
                                const std::map<int64_t, Around>& around) {
  report::Section section{
      .key = "program", .title = "Share of the program's wall time", .empty_text = "Not known."};
  report::Table& table = section.table;
  table.add_columns({id("gpu_id", "GPU"), time("program_ns", "Program"),
                     time("before_ns", "Before the first op"), time("idle_ns", "Idle between"),
                     time("after_ns", "After the last"),
                     percent("idle_percentage", "Idle of program")});
  for (const auto& [id, of] : around) {
    const int64_t program_ns = length_of(*trace.program);
    int64_t idle_ns = 0;
    for (const Gap& gap : gaps) {
      if (gap.gpu == id && gap.reason != IdleReason::kCopy) idle_ns += length_of(gap.time);
    }
    const int64_t before_ns = length_of(of.before), after_ns = length_of(of.after);
    table.add_row({int64_t{id}, program_ns, before_ns, idle_ns, after_ns,
                   percent_of(before_ns + idle_ns + after_ns, program_ns)});
  }
  return section;
}

// What the launching threads did while a GPU was idle.
class HostTable {
 public:
  HostTable(const trace::Trace& trace, const HostTime& host)
      : trace_(trace), host_(host), groups_(trace) {}

  void add(int64_t gpu, const char* when, Row previous, Row next, trace::Interval time,
           Row launch = kNone) {
    if (time.end_ns <= time.start_ns) return;
    for (const HostDeed& deed : host_.deeds_between(previous, next, time, launch)) {
      lines_[{gpu, when, deed.work, groups_.of(deed.label)}].add(deed.time_ns);
    }
  }

  report::Section section(const std::map<int64_t, GpuTime>& gpus) const {
    report::Section section{.key = "host",
                            .title = "What the host did while nothing was launched",
                            .empty_text = "Not known."};
    report::Table& table = section.table;
    table.add_columns({id("gpu_id", "GPU"), text("when", "When"), text("what", "What"),
                       text("name", "Call"), integer("gaps", "Gaps"), time("total_ns", "Total"),
                       time("max_ns", "Max")});
    report::lead_with(table, "name");
    report::leave_first(table, {"max_ns", "gaps", "when"});
    std::vector<std::pair<Key, Total>> sorted(lines_.begin(), lines_.end());
    std::stable_sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) {
      if (a.first.gpu != b.first.gpu) return a.first.gpu < b.first.gpu;
      if (a.second.total_ns != b.second.total_ns) return a.second.total_ns > b.second.total_ns;
      return groups_.text(a.first.label) < groups_.text(b.first.label);
    });
    for (const auto& [key, line] : sorted) {
      if (gpus.count(key.gpu) == 0) continue;
      const std::string& name = groups_.text(key.label);
      table.add_row({int64_t{key.gpu}, std::string(key.when),
                     std::string(trace::host_work_name(key.work)),
                     name.empty() ? Value() : Value(name), line.calls, line.total_ns, line.max_ns});
    }
    return section;
  }

 private:
  struct Key {
    int64_t gpu;
    std::string_view when;
    trace::HostWork work;
    trace::NameId label;
    auto operator<=>(const Key&) const = default;
  };
  const trace::Trace& trace_;
  const HostTime& host_;
  trace::GroupNames groups_;
  std::map<Key, Total> lines_;
};

report::Section host_section(const trace::Trace& trace, const HostTime& host,
                             const std::vector<Gap>& gaps, const std::map<int64_t, GpuTime>& gpus,
                             const std::map<int64_t, Around>& around) {
  HostTable table(trace, host);
  for (const Gap& gap : gaps) {
    if (gap.reason == IdleReason::kLaunchBound) {
      table.add(gap.gpu, "between", gap.previous, gap.next, gap.time, gap.launch);
    }
  }
  for (const auto& [id, of] : around) {
    table.add(id, "before", kNone, of.first, of.before);
    table.add(id, "after", kNone, of.last, of.after);
  }
  return table.section(gpus);
}

// Each gap by its own length.
report::Section lengths_section(const std::vector<Gap>& gaps) {
  report::Section section{.key = "lengths", .title = "Gaps by length", .empty_text = "None."};
  report::Table& table = section.table;
  table.add_columns({time("from_ns", "From"), time("below_ns", "Below"), integer("gaps", "Gaps"),
                     time("total_ns", "Total")});
  constexpr int64_t kEdges[] = {0,      1'000,   2'000,     5'000,      10'000,      20'000,
                                50'000, 100'000, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000};
  std::vector<Total> sums(std::size(kEdges));
  for (const Gap& gap : gaps) {
    if (gap.reason == IdleReason::kCopy) continue;
    const int64_t length_ns = length_of(gap.time);
    const auto above = std::upper_bound(std::begin(kEdges), std::end(kEdges), length_ns);
    sums[static_cast<size_t>(above - std::begin(kEdges)) - 1].add(length_ns);
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].calls == 0) continue;
    const bool open = i + 1 == sums.size();
    table.add_row(
        {kEdges[i], open ? Value() : Value(kEdges[i + 1]), sums[i].calls, sums[i].total_ns});
  }
  return section;
}

Result<report::Report> run(const trace::Trace& trace, const Parameters& parameters) {
  SONDE_ASSIGN(const int64_t latency_ns, parameters.duration_ns("latency"));
  SONDE_ASSIGN(const int64_t most, parameters.count("gaps"));
  SONDE_ASSIGN(const auto user, trace::UserFrames::create(trace, parameters.text("user")));
  report::Report report = begin_report("idle", trace);
  const auto gpus = gpu_times(trace);
  const HostTime host(trace);
  const std::vector<Gap> gaps = idle_gaps(trace, host, latency_ns);
  const auto around = times_around(trace, gpus);
  report.sections = {reasons_section(trace, gaps, gpus),
                     host_section(trace, host, gaps, gpus, around),
                     longest_section(trace, gaps, static_cast<size_t>(most), user),
                     lengths_section(gaps), program_section(trace, gaps, around)};
  const bool any_unlinked = std::any_of(
      gaps.begin(), gaps.end(), [](const Gap& gap) { return gap.reason == IdleReason::kUnlinked; });
  if (any_unlinked) {
    report.notes.push_back(
        "unlinked: the file does not have the calls that launched what ends these gaps, so their "
        "reason is not known");
  }
  std::string clocks = clocks_text(trace);
  if (!clocks.empty()) report.notes.push_back(std::move(clocks));
  return report;
}

constexpr const char* kDefinition =
    "idle: why a GPU did nothing. A gap is a time between the first start and the last end of the "
    "GPU's operations (or of the window) in which none of them ran, over all queues. Its reason is "
    "the first of these that applies to the operation that ends it:\n\n"
    "    copy            not idle: copies or memsets ran, and no kernel\n"
    "    sync            until its launching call began, the thread that made it was in a call "
    "that\n"
    "                    waits for a device\n"
    "    launch-bound    until its launching call began, that thread did something else\n"
    "    launch latency  the call began before, and the gap is shorter than --latency\n"
    "    dependency      the call had returned before, and since the launch of the operation "
    "before\n"
    "                    it in its queue the thread had told a queue to wait "
    "(hipStreamWaitEvent);\n"
    "                    where the file names streams, the operation's stream\n"
    "    unlinked        its launching call is not in the file\n"
    "    edge            the window begins or ends it, and what comes next was launched before: "
    "before\n"
    "                    the window, or the gap at its end; or it is not known what comes next\n"
    "    other           none of these: the call began before, and what kept the GPU from the\n"
    "                    operation is not in the file\n\n"
    "A gap is split where a waiting call begins or ends: what the thread does afterwards is not "
    "waiting. It is also split where its launching call began, and one of reason dependency where "
    "that call returned; if the operation begins less than --latency after that, this time counts "
    "with what the thread did before the launch. Parts have their own reasons and count as gaps. "
    "Waiting calls are those that wait for a device, stream or event, and copies that return when "
    "they are done.\n\n"
    "copy is the exposed copy and memset time of sonde breakdown, and all other reasons add up to "
    "its Idle. Wall is the share of the time between first start and last end, or of the "
    "window.\n\n"
    "What the host did: the launch-bound time, and the program's time before the first and after "
    "the last operation, by the innermost call, operator, Python frame or range that the launching "
    "thread was in, or by the data loader, garbage collection, compiler, module load, free or "
    "allocation around it. If that thread was in none of these, or blocked, for half of a gap, and "
    "the thread that launched the operation before the gap was in one of them for half of it, the "
    "gap counts by what that thread did. blocked: in a call or frame that waits for input, another "
    "thread or process, or a timer. no call: nothing was recorded then. Numbered steps and layers "
    "are one row (ProfilerStep#N). Share of the program's wall time: from the start of its first "
    "process to the end of its last, or where the file does not say, from its first to its last "
    "event.\n\n"
    "The longest gaps: Host is what took most of the gap on the launching thread, and For how much "
    "of it; calls that free or allocate memory count together there, and so do calls that compile "
    "or load modules. From counts from the start of the trace, like --from; Thread, Operator and "
    "Frame are those of the call that launched what ends the gap (as in sonde operators and sonde "
    "stacks). Gaps by length sorts each single gap by its own length; copy is in neither table.\n";

}  // namespace

Analysis idle_analysis() {
  return {
      "idle",
      "Show why each GPU was idle",
      "Shows the time in which nothing ran on a GPU, by reason: the program waited for the GPU, "
      "launched too late, or the launch itself took time; and the longest gaps, with what was "
      "launched after them and from where.",
      kDefinition,
      {{"sonde idle trace.json", "reasons, the longest gaps, and gaps by length"},
       {"sonde idle trace.rpd --latency 10us", "a gap of 10 us does not count as launch latency"}},
      {{"latency", "TIME", "a gap shorter than this after a timely launch is launch latency",
        "30us"},
       {"gaps", "N", "list this many of the longest gaps", "25"},
       {"user", "REGEX",
        "frames that are the user's own code [those of no library that Sonde knows]", ""}},
      [](const Parameters&) {
        return trace::Request{.ops = true,
                              .links = true,
                              .streams = true,
                              .program = true,
                              .explains_idle = true,
                              .all_apis = true,
                              .args_of = trace::bit_of(trace::ApiKind::kRuntime),
                              .args_named = trace::is_wait_call};
      },
      run,
      true};
}

}  // namespace sonde::analysis
