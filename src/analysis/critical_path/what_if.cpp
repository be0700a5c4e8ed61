#include <array>

#include "analysis/critical_path/graph.h"
#include "analysis/totals.h"
#include "base/number.h"
#include "trace/name_filter.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;
using report::Kind;
using trace::kNone;

struct Change {
  std::string what;  // a class of BoundBy, or an expression over names
  double factor = 1;
};

Result<Change> change_of(const std::string& setting) {
  const size_t equals = setting.rfind('=');
  double percentage = -1;
  if (equals != setting.npos) {
    std::string_view text = std::string_view(setting).substr(equals + 1);
    if (!text.empty() && text.back() == '%') text.remove_suffix(1);
    percentage = number_in<double>(text).value_or(-1);
  }
  if (equals == 0 || !(percentage >= 0 && percentage <= 100)) {
    return make_error(ErrorCode::kInvalidArgument, "'" + setting + "' is not NAME=PERCENT",
                      "--what-if",
                      "a percentage from 0 to 100, such as gpu_compute=50 or 'gemm=30'");
  }
  return Change{setting.substr(0, equals), 1 - percentage / 100};
}

// Edges of the class, or of events with such a name.
class Chosen {
 public:
  static Result<Chosen> create(const trace::Trace& trace, const Graph& graph,
                               const std::string& what) {
    Chosen chosen(trace, graph);
    if (const auto bound = bound_by_of(what)) {
      chosen.bound_ = *bound;
      return chosen;
    }
    SONDE_ASSIGN(const auto filter, trace::NameFilter::compile(what, "--what-if"));
    for (const std::string& name : trace.names) chosen.names_.push_back(filter.wants(name));
    return chosen;
  }

  bool contains(const Edge& edge) const {
    if (edge.weight_ns == 0) return false;
    if (bound_ != BoundBy::kNothing) return edge.bound == bound_;
    if (edge.kind != EdgeKind::kSpan) return false;
    const Moment moment = graph_->moment_of(edge.from);
    const auto row = static_cast<size_t>(edge.api != kNone ? edge.api : moment.row);
    const bool is_op = edge.api == kNone && moment.is_op;
    return names_[is_op ? trace_->label(row) : trace_->apis.label[row]];
  }

 private:
  Chosen(const trace::Trace& trace, const Graph& graph) : trace_(&trace), graph_(&graph) {}

  const trace::Trace* trace_;
  const Graph* graph_;
  BoundBy bound_ = BoundBy::kNothing;
  std::vector<bool> names_;  // by NameId
};

std::array<int64_t, kBoundBy> times_of(const Graph& graph, const LongestPath& path) {
  std::array<int64_t, kBoundBy> times{};
  for (const size_t edge : path.edges) {
    times[static_cast<size_t>(graph.edges[edge].bound)] += graph.edges[edge].weight_ns;
  }
  return times;
}

}  // namespace

Result<report::Section> what_if_section(const trace::Trace& trace, const Graph& graph,
                                        const LongestPath& path, const std::string& setting) {
  SONDE_ASSIGN(const Change change, change_of(setting));
  SONDE_ASSIGN(const Chosen chosen, Chosen::create(trace, graph, change.what));
  Graph changed = graph;
  int64_t edges = 0;
  for (Edge& edge : changed.edges) {
    if (!chosen.contains(edge)) continue;
    edge.weight_ns = static_cast<int64_t>(static_cast<double>(edge.weight_ns) * change.factor);
    ++edges;
  }
  const LongestPath then = longest_path(changed);
  report::Section section{.key = "what_if", .title = "If " + setting + " % less"};
  if (setting.back() == '%') section.title = "If " + setting + " less";
  section.empty_text = "No path.";
  section.add_fact({"changed_edges", "Shorter edges", Kind::kInteger, edges});
  section.add_fact({"length_then_ns", "Length then", Kind::kTime, then.length_ns});
  section.add_fact({"saved_ns", "Saved", Kind::kTime, path.length_ns - then.length_ns});
  section.add_fact({"saved_percentage", "Saved, of the length", Kind::kPercent,
                    percent_of(path.length_ns - then.length_ns, path.length_ns)});
  section.table.add_columns(
      {text("bound_by", "Bound by"), time("time_ns", "Time"), time("time_then_ns", "Then")});
  const auto before = times_of(graph, path), after = times_of(changed, then);
  for (size_t bound = 0; bound < kBoundBy; ++bound) {
    if (before[bound] == 0 && after[bound] == 0) continue;
    section.table.add_row(
        {std::string(bound_by_name(static_cast<BoundBy>(bound))), before[bound], after[bound]});
  }
  return section;
}

}  // namespace sonde::analysis
