#include "analysis/diff/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "analysis/collectives/collectives.h"
#include "analysis/operations/op_groups.h"
#include "analysis/totals.h"
#include "base/strings.h"
#include "report/layout.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;
using report::Kind;
using report::Value;
using trace::ApiKind;

// The same thing in both traces.
struct Pair {
  int64_t calls_a = 0, calls_b = 0;
  int64_t a_ns = 0, b_ns = 0;
  int64_t delta_ns() const { return b_ns - a_ns; }
};
using Pairs = std::map<std::string, Pair>;

template <typename Row, typename Delta>
void sort_by_delta(std::vector<Row>& rows, Delta delta) {
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return std::abs(delta(a)) > std::abs(delta(b));
  });
}

struct Part {
  std::string what, name;
  int64_t a_ns = 0, b_ns = 0;
  int64_t delta_ns() const { return b_ns - a_ns; }
};

void add_parts(const char* what, const std::map<std::string, int64_t>& a,
               const std::map<std::string, int64_t>& b, std::vector<Part>& parts) {
  std::map<std::string, Part> by_name;
  for (const auto& [name, time_ns] : a) by_name[name].a_ns = time_ns;
  for (const auto& [name, time_ns] : b) by_name[name].b_ns = time_ns;
  for (const auto& [name, part] : by_name) parts.push_back({what, name, part.a_ns, part.b_ns});
}

std::string signed_time(int64_t time_ns) {
  return (time_ns < 0 ? "-" : "+") + format_duration(std::abs(time_ns));
}

// Two traces with their steps, where they have such of the same kind.
struct Sides {
  const trace::Trace& a;
  const trace::Trace& b;
  std::optional<StepTimes> steps_a, steps_b;
  std::string note;  // why steps of both are not compared
  Sides(const trace::Trace& in_a, const trace::Trace& in_b)
      : a(in_a), b(in_b), steps_a(step_times(in_a)), steps_b(step_times(in_b)) {
    if (steps_a && steps_b && steps_a->of_device != steps_b->of_device) {
      const auto kind = [](const StepTimes& steps) {
        return steps.of_device ? "kernels that repeat" : "markers";
      };
      note = fmt::format("steps are not compared: those of A are {}, those of B {}", kind(*steps_a),
                         kind(*steps_b));
    }
    if (steps_a.has_value() != steps_b.has_value()) {
      note = fmt::format(
          "{} has fewer than {} steps or none, so the whole runs are compared, not a step of each",
          steps_a ? "B" : "A", kFewestSteps);
    }
    if (!steps_a || !steps_b || !note.empty()) {
      steps_a.reset();
      steps_b.reset();
    }
  }
  // Calls are compared by step where the numbers of steps differ.
  int64_t count_a() const { return steps_a ? steps_a->count : 1; }
  int64_t count_b() const { return steps_b ? steps_b->count : 1; }
};

// Three decimals, or digits of what is less than a hundredth.
std::string ratio_text(int64_t b_ns, int64_t a_ns) {
  const double ratio = static_cast<double>(b_ns) / static_cast<double>(a_ns);
  return ratio < 0.01 ? fmt::format("{:.3g}", ratio) : fmt::format("{:.3f}", ratio);
}

// More steps on one side, or a slow first step, are no change of the program.
std::string steps_text(const Sides& sides) {
  if (!sides.steps_a) return "";
  const StepTimes &a = *sides.steps_a, &b = *sides.steps_b;
  const auto of = [](const StepTimes& steps) {
    return fmt::format("{} in the {} of {}", format_duration(steps.step_ns),
                       steps.host_runs_ahead ? "mean" : "median", steps.count);
  };
  std::string text = fmt::format("; a step takes {} times as long, {} and {}",
                                 ratio_text(b.step_ns, a.step_ns), of(a), of(b));
  for (const auto& [name, steps] : {std::pair("A", a), std::pair("B", b)}) {
    if (!steps.host_runs_ahead) continue;
    text += fmt::format("; the host of {} launches steps before its GPU works on them", name);
  }
  if (a.host_runs_ahead || b.host_runs_ahead) return text;
  constexpr double kOther = 1.2;  // a ratio that the median does not tell
  const double means = b.mean_ns / a.mean_ns;
  const double medians = static_cast<double>(b.step_ns) / static_cast<double>(a.step_ns);
  if (means > kOther * medians || medians > kOther * means) {
    text += fmt::format(" ({:.3f} times as long in the mean)", means);
  }
  for (const auto& [name, times] : {std::pair("A", a), std::pair("B", b)}) {
    if (!times.has_warm_up) continue;
    text += fmt::format("; the first step of {} takes {}, as in a warm-up", name,
                        format_duration(times.first_ns));
  }
  return text;
}

std::string without_times(const Sides& sides) {
  const auto lacks = [](const trace::Trace& trace) {
    return trace.ops.size() != 0 && !has_op_times(trace);
  };
  if (!lacks(sides.a) && !lacks(sides.b)) return "";
  return fmt::format("{} no operation times, so GPU work and idle time cannot be compared",
                     lacks(sides.a) && lacks(sides.b) ? "A and B have"
                     : lacks(sides.a)                 ? "A has"
                                                      : "B has");
}

std::string verdict_of(const Sides& sides, const WallParts& a, const WallParts& b,
                       const std::vector<Part>& parts, int64_t unexplained_ns) {
  const int64_t delta_ns = b.wall_ns - a.wall_ns;
  if (a.wall_ns == 0 || b.wall_ns == 0) return "one of the traces has no events";
  if (const std::string text = without_times(sides); !text.empty()) return text;
  int64_t busy_ns = 0, idle_ns = 0;
  for (const Part& part : parts) (part.what == "busy" ? busy_ns : idle_ns) += part.delta_ns();
  std::string text = fmt::format(
      "B takes {} times as long as A, {}: GPU work {}, calls while no GPU works {}, neither {}",
      ratio_text(b.wall_ns, a.wall_ns), signed_time(delta_ns), signed_time(busy_ns),
      signed_time(idle_ns), signed_time(unexplained_ns));
  return text + steps_text(sides);
}

report::Section wall_section(const Sides& sides) {
  const trace::Trace &trace_a = sides.a, &trace_b = sides.b;
  const WallParts a = wall_parts(trace_a), b = wall_parts(trace_b);
  std::vector<Part> parts;
  add_parts("busy", a.busy_ns, b.busy_ns, parts);
  add_parts("idle", a.idle_ns, b.idle_ns, parts);
  sort_by_delta(parts, [](const Part& part) { return part.delta_ns(); });
  const int64_t delta_ns = b.wall_ns - a.wall_ns;
  const int64_t unexplained_ns = b.nothing_ns - a.nothing_ns;
  report::Section section{.key = "wall", .empty_text = "Neither trace has operations or calls."};
  section.add_fact(
      {"verdict", "Verdict", Kind::kText, verdict_of(sides, a, b, parts, unexplained_ns)});
  section.add_fact({"a", "A", Kind::kText, trace_a.path});
  section.add_fact({"b", "B", Kind::kText, trace_b.path});
  if (a.wall_ns != 0)
    section.add_fact({"wall_a_ns", "First to last event of A", Kind::kTime, a.wall_ns});
  if (b.wall_ns != 0)
    section.add_fact({"wall_b_ns", "First to last event of B", Kind::kTime, b.wall_ns});
  if (a.wall_ns != 0 && b.wall_ns != 0) {
    section.add_fact({"delta_ns", "Difference", Kind::kTime, delta_ns});
    section.add_fact({"explained_ns", "Explained", Kind::kTime, delta_ns - unexplained_ns});
    section.add_fact({"unexplained_ns", "Unexplained", Kind::kTime, unexplained_ns});
  }
  if (sides.steps_a) {
    section.add_fact({"steps_a", "Steps of A", Kind::kInteger, sides.steps_a->count});
    section.add_fact({"steps_b", "Steps of B", Kind::kInteger, sides.steps_b->count});
    const auto title = [](const StepTimes& steps) {
      return steps.host_runs_ahead ? "Mean step" : "Median step";
    };
    section.add_fact({"step_a_ns", fmt::format("{} of A", title(*sides.steps_a)), Kind::kTime,
                      sides.steps_a->step_ns});
    section.add_fact({"step_b_ns", fmt::format("{} of B", title(*sides.steps_b)), Kind::kTime,
                      sides.steps_b->step_ns});
  }
  report::Table& table = section.table;
  table.add_columns({text("what", "GPU"), name("name", "In"), time("a_ns", "A"),
                     compared(time("b_ns", "B")), compared(time("delta_ns", "B - A")),
                     percent("percentage", "Of difference")});
  report::leave_first(table, {"percentage", "b_ns", "a_ns"});  // the difference stays
  for (const Part& part : parts) {
    table.add_row({part.what, part.name, part.a_ns, part.b_ns, part.delta_ns(),
                   percent_of(part.delta_ns(), delta_ns)});
  }
  return section;
}

const char* change_of(const Sides& sides, int64_t calls_a, int64_t calls_b) {
  if (calls_a == 0) return "added";
  if (calls_b == 0) return "removed";
  if (calls_a * sides.count_b() == calls_b * sides.count_a()) return "unchanged";
  return calls_a * sides.count_b() < calls_b * sides.count_a() ? "increased" : "decreased";
}

report::Section names_section(const Sides& sides, const char* key, const char* title,
                              const char* empty_text, const Pairs& pairs) {
  report::Section section{.key = key, .title = title, .empty_text = empty_text};
  std::map<std::string, int64_t> changes;
  std::vector<const Pairs::value_type*> rows;
  for (const auto& entry : pairs) {
    rows.push_back(&entry);
    ++changes[change_of(sides, entry.second.calls_a, entry.second.calls_b)];
  }
  // Of the number of calls, which a reader would not guess: their time may have doubled.
  constexpr std::array<std::pair<const char*, const char*>, 5> kChanges = {
      {{"added", "Added"},
       {"removed", "Removed"},
       {"increased", "More calls"},
       {"decreased", "Fewer calls"},
       {"unchanged", "As many calls"}}};
  for (const auto& [change, label] : kChanges) {
    if (pairs.empty()) break;
    section.add_fact({change, label, Kind::kInteger, changes[change]});
  }
  sort_by_delta(rows, [](const auto* row) { return row->second.delta_ns(); });
  report::Table& table = section.table;
  table.add_columns({name("name", "Name"), text("change", "Calls"), integer("calls_a", "Calls A"),
                     integer("calls_b", "Calls B"), time("total_a_ns", "Total A"),
                     compared(time("total_b_ns", "Total B")), compared(time("delta_ns", "B - A")),
                     time("mean_a_ns", "Mean A"), compared(time("mean_b_ns", "Mean B"))});
  report::leave_first(table, {"mean_b_ns", "mean_a_ns", "calls_b", "calls_a", "change",
                              "total_b_ns", "total_a_ns"});
  const auto mean = [](int64_t total_ns, int64_t calls) {
    return calls == 0 ? Value(std::monostate{}) : Value(total_ns / calls);
  };
  for (const auto* row : rows) {
    const Pair& pair = row->second;
    table.add_row({row->first, std::string(change_of(sides, pair.calls_a, pair.calls_b)),
                   pair.calls_a, pair.calls_b, pair.a_ns, pair.b_ns, pair.delta_ns(),
                   mean(pair.a_ns, pair.calls_a), mean(pair.b_ns, pair.calls_b)});
  }
  return section;
}

report::Section renamed_section(const Sides& sides) {
  report::Section section{.key = "renamed", .title = "Kernels that may have been renamed"};
  report::Table& table = section.table;
  table.add_columns({name("name_a", "In A"), name("name_b", "In B"), integer("calls_a", "A"),
                     integer("calls_b", "B"), time("total_a_ns", "Total A"),
                     compared(time("total_b_ns", "Total B")), compared(time("delta_ns", "B - A"))});
  report::leave_first(table, {"calls_b", "calls_a", "total_b_ns", "total_a_ns"});
  for (const Renamed& one : renamed_kernels(sides.a, sides.b, sides.count_a(), sides.count_b())) {
    table.add_row(
        {one.a, one.b, one.calls_a, one.calls_b, one.a_ns, one.b_ns, one.b_ns - one.a_ns});
  }
  return section;
}

// Totals of one trace by name, put into their half of the pairs.
void add_operations(const trace::Trace& trace, bool is_b, Pairs& pairs) {
  for (const OpGroup& group : group_ops(trace, {"name"}, all_ops(trace)).groups) {
    Pair& pair = pairs[group.name()];
    (is_b ? pair.calls_b : pair.calls_a) += group.time.calls;
    (is_b ? pair.b_ns : pair.a_ns) += group.time.total_ns;
  }
}

void add_operators(const trace::Trace& trace, bool is_b, Pairs& pairs) {
  std::vector<Total> totals(trace.names.size());
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    if (trace.apis.kind[i] == ApiKind::kOperator) totals[trace.apis.label[i]].add(trace.api_ns(i));
  }
  for (size_t i = 0; i < totals.size(); ++i) {
    if (totals[i].calls == 0) continue;
    Pair& pair = pairs[trace.names[i]];
    (is_b ? pair.calls_b : pair.calls_a) += totals[i].calls;
    (is_b ? pair.b_ns : pair.a_ns) += totals[i].total_ns;
  }
}

struct TreeRow {
  size_t aligned = 0;
  int64_t delta_ns = 0;
};

std::string path_of(const PathTree& a, const PathTree& b, const std::vector<AlignedNode>& aligned,
                    size_t i) {
  if (i == 0) return "(no operator)";
  std::vector<std::string> names;
  for (; i != 0; i = aligned[i].parent) {
    const AlignedNode& node = aligned[i];
    const std::string& name =
        node.a != AlignedNode::kNone ? a.nodes[node.a].name : b.nodes[node.b].name;
    const bool is_renamed = node.a != AlignedNode::kNone && node.b != AlignedNode::kNone &&
                            b.nodes[node.b].name != name;
    names.push_back(is_renamed ? name + " => " + b.nodes[node.b].name : name);
  }
  return fmt::format("{}", fmt::join(names.rbegin(), names.rend(), " / "));
}

report::Section tree_section(const trace::Trace& trace_a, const trace::Trace& trace_b) {
  const PathTree a = path_tree(trace_a), b = path_tree(trace_b);
  const std::vector<AlignedNode> aligned = align(a, b);
  static const PathTree::Node kAbsent;
  const auto node = [](const PathTree& tree, size_t i) -> const PathTree::Node& {
    return i == AlignedNode::kNone ? kAbsent : tree.nodes[i];
  };
  std::vector<TreeRow> rows;
  for (size_t i = 0; i < aligned.size(); ++i) {
    const PathTree::Node& in_a = node(a, aligned[i].a);
    const PathTree::Node& in_b = node(b, aligned[i].b);
    if (in_a.ops == 0 && in_b.ops == 0 && in_a.calls == in_b.calls) continue;
    rows.push_back({i, in_b.gpu_ns - in_a.gpu_ns});
  }
  sort_by_delta(rows, [](const TreeRow& row) { return row.delta_ns; });
  report::Section section{
      .key = "tree", .title = "Operators by where they are called", .empty_text = "No operators."};
  report::Table& table = section.table;
  table.add_columns({name("path", "Operator"), integer("calls_a", "Calls A"),
                     integer("calls_b", "Calls B"), integer("ops_a", "Ops A"),
                     integer("ops_b", "Ops B"), time("gpu_a_ns", "GPU A"),
                     compared(time("gpu_b_ns", "GPU B")), compared(time("delta_ns", "B - A"))});
  report::leave_first(table, {"ops_b", "ops_a", "calls_b", "calls_a", "gpu_b_ns", "gpu_a_ns"});
  for (const TreeRow& row : rows) {
    const PathTree::Node& in_a = node(a, aligned[row.aligned].a);
    const PathTree::Node& in_b = node(b, aligned[row.aligned].b);
    table.add_row({path_of(a, b, aligned, row.aligned), in_a.calls, in_b.calls, in_a.ops, in_b.ops,
                   in_a.gpu_ns, in_b.gpu_ns, row.delta_ns});
  }
  return section;
}

}  // namespace

// Includes what collectives need, for the clocks of ranks.
trace::Request diff_needs() {
  trace::Request request = collectives_needs();
  request.explains_idle = true;
  return request;
}

report::Report diff_report(const trace::Trace& a, const trace::Trace& b) {
  report::Report report;
  report.name = "diff";
  report.subject = a.path + " and " + b.path;
  for (const trace::Trace* trace : {&a, &b}) {
    for (const std::string& warning : trace->warnings) {
      report.warnings.push_back((trace == &a ? "A: " : "B: ") + warning);
    }
  }
  Pairs operations, operators;
  add_operations(a, false, operations);
  add_operations(b, true, operations);
  add_operators(a, false, operators);
  add_operators(b, true, operators);
  const Sides sides(a, b);
  if (!sides.note.empty()) report.notes.push_back(sides.note);
  report.sections.push_back(wall_section(sides));
  report.sections.push_back(names_section(sides, "operations", "Kernels, copies and memsets",
                                          "Neither trace has device operations.", operations));
  if (auto renamed = renamed_section(sides); !renamed.table.rows.empty()) {
    report.sections.push_back(std::move(renamed));
  }
  report.sections.push_back(names_section(sides, "operators", "Operators",
                                          "Neither trace has framework operators.", operators));
  report.sections.push_back(tree_section(a, b));
  return report;
}

const char* const kDiffDefinition =
    "diff: what takes longer or shorter in B than in A, and why. Differences are B - A.\n\n"
    "What is compared is the window, or the time from the first start to the last end of "
    "operations, operators, markers, Python frames and calls of runtimes: First to last event. "
    "(The wall time that check and record show also has the start and end of the processes.) It is "
    "cut into parts that add up to it. Busy: the time in which an operation ran on any GPU, "
    "assigned to the operation; time shared by several counts for the one that began first, and for "
    "communication only where nothing else ran, on any GPU: a collective also waits. Idle: "
    "the time in which none ran, assigned to the innermost call, operator, Python frame or range "
    "of a data loader or of garbage collection of one thread: among those that launched "
    "operations, the one with the most calls; where it was in none, the next; and last those that "
    "launched nothing, such as helpers that wait. The rest, with no operation and no call, is not "
    "explained. So Explained and Unexplained add up to the difference of these times, and the rows "
    "of the first table to Explained.\n\n"
    "Steps: where both traces have three or more of the same kind (sonde breakdown --per step), "
    "the verdict says how much longer the median step takes, which depends neither on the number "
    "of steps nor on a warm-up. It mentions a first step of more than three times the median, unless "
    "one in twenty of the others takes as long, and the ratio of the means (without such first "
    "steps) where it is more than a fifth from that of the medians. In a file of several ranks, "
    "their clocks are first aligned by their collectives, as in sonde collectives.\n\n"
    "Kernels and Operators: joined by name. Added and removed are those that only B, and only A, "
    "has; increased, decreased and unchanged are by the number of calls, per step if the traces "
    "have steps. Kernels may have been renamed if one that only A has and one that only B has "
    "stand between the same kernels on their queue as many times a step, and no other pair does. "
    "Total adds up durations, which may overlap; that of an operator includes the operators in "
    "it.\n\n"
    "Operators by where they are called: operators and markers by the path of those around them, "
    "numbers of iterations left out. Children of one parent are the same if their names are; else, "
    "in the order in which they come first, if their names share a word of at least four letters "
    "(miopen_convolution => cudnn_convolution). GPU is the time of the operations whose innermost "
    "operator it is, so that each operation is in one row; (no operator) has the rest.\n";

}  // namespace sonde::analysis
