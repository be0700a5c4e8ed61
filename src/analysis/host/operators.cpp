#include <algorithm>
#include <tuple>

#include "analysis/analysis.h"
#include "analysis/groups.h"
#include "analysis/totals.h"
#include "trace/group_names.h"
#include "trace/op_tree.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;
using trace::ApiKind;
using trace::NameId;

constexpr const char* kUnattributed = "(unattributed)";

// The nearest operator around each call, itself not counted.
std::vector<Row> operators_around(const trace::Trace& trace, const trace::OpTree& tree) {
  std::vector<Row> around(trace.apis.size(), kNone);
  for (size_t i = 0; i < around.size(); ++i) {  // parents come first
    const Row parent = tree.parent[i];
    if (parent == kNone) continue;
    const auto up = static_cast<size_t>(parent);
    around[i] = trace.apis.kind[up] == ApiKind::kOperator ? parent : around[up];
  }
  return around;
}

// How many operators each operator has right inside of it.
std::vector<uint32_t> operators_inside(const trace::Trace& trace, const std::vector<Row>& around) {
  std::vector<uint32_t> inside(around.size());
  for (size_t i = 0; i < around.size(); ++i) {
    if (trace.apis.kind[i] != ApiKind::kOperator || around[i] == kNone) continue;
    ++inside[static_cast<size_t>(around[i])];
  }
  return inside;
}

struct Operator {
  int64_t calls = 0, cpu_ns = 0, cpu_self_ns = 0;
  int64_t self_ops = 0, self_gpu_ns = 0, self_busy_ns = 0;
  int64_t total_ops = 0, total_gpu_ns = 0, total_busy_ns = 0;
  bool listed = false;
};

class Operators {
 public:
  explicit Operators(const trace::Trace& trace)
      : trace_(trace),
        tree_(trace::build_op_tree(trace)),
        around_(operators_around(trace, tree_)),
        inside_(operators_inside(trace, around_)),
        rows_(trace.names.size() + 1),
        groups_(trace) {
    find_outermost();
    add_calls();
    add_gpu_time();
  }
  // By NameId, and then that of no operator.
  const std::vector<Operator>& rows() const { return rows_; }
  std::string name(size_t row) const {
    return row + 1 == rows_.size() ? kUnattributed : groups_.text(static_cast<NameId>(row));
  }

 private:
  NameId label(Row api) const { return groups_.of(trace_.apis.label[static_cast<size_t>(api)]); }
  // The only operator in one of its own name is the same call seen twice: by an overload that
  // calls another, or by a dispatch mode.
  bool is_seen_twice(Row api) const {
    const Row up = around_[static_cast<size_t>(api)];
    return up != kNone && inside_[static_cast<size_t>(up)] == 1 && label(up) == label(api);
  }

  // Each operator itself, or the nearest around it that is in no other of its own name. Going from
  // one of these to the next, each name on the way up comes once.
  void find_outermost() {
    std::vector<std::vector<Row>> inside(around_.size() + 1);  // the last: in no operator
    for (size_t i = 0; i < around_.size(); ++i) {
      if (trace_.apis.kind[i] != ApiKind::kOperator) continue;
      const size_t up = around_[i] == kNone ? around_.size() : static_cast<size_t>(around_[i]);
      inside[up].push_back(static_cast<Row>(i));
    }
    outermost_.assign(around_.size(), kNone);
    std::vector<uint32_t> open(rows_.size(), 0);  // operators of each name on the way
    struct Visit {
      Row api;
      bool is_over;
    };
    std::vector<Visit> visits;
    for (const Row root : inside.back()) visits.push_back({root, false});
    while (!visits.empty()) {
      const auto [api, is_over] = visits.back();
      visits.pop_back();
      if (is_over) {
        --open[label(api)];
        continue;
      }
      const auto row = static_cast<size_t>(api);
      const bool is_first = open[label(api)]++ == 0;
      outermost_[row] = is_first ? api : outermost_[static_cast<size_t>(around_[row])];
      visits.push_back({api, true});
      for (const Row child : inside[row]) visits.push_back({child, false});
    }
  }

  void add_calls() {
    const std::vector<int64_t> self_ns = trace::self_times(
        trace_, [&](size_t i) { return trace_.apis.kind[i] == ApiKind::kOperator; });
    for (size_t i = 0; i < trace_.apis.size(); ++i) {
      if (trace_.apis.kind[i] != ApiKind::kOperator) continue;
      Operator& row = rows_[label(static_cast<Row>(i))];
      row.listed = true;
      row.cpu_self_ns += self_ns[i];
      if (!is_seen_twice(static_cast<Row>(i))) ++row.calls;
      if (outermost_[i] == static_cast<Row>(i)) row.cpu_ns += trace_.api_ns(i);
    }
  }

  void add_gpu_time() {
    std::vector<uint32_t> self(trace_.ops.size());
    // Each operation with each operator name it is in, once.
    std::vector<uint32_t> total_op, total_name;
    for (size_t op = 0; op < self.size(); ++op) {
      const Row leaf = tree_.leaf[op];
      self[op] = leaf == kNone ? static_cast<uint32_t>(rows_.size() - 1) : label(leaf);
      for (Row up = leaf; up != kNone; up = around_[static_cast<size_t>(up)]) {
        if (const Row outer = outermost_[static_cast<size_t>(up)]; outer != kNone) up = outer;
        total_op.push_back(static_cast<uint32_t>(op));
        total_name.push_back(label(up));
      }
    }
    const Groups by_self = group_rows(self, rows_.size());
    for (size_t name = 0; name < rows_.size(); ++name) {
      const auto ops = by_self.of(name);
      if (ops.empty()) continue;
      Operator& row = rows_[name];
      row.listed = true;
      row.self_ops = static_cast<int64_t>(ops.size());
      row.self_gpu_ns = sum_of(ops);
      row.self_busy_ns = busy_ns(trace_, ops);
    }
    const Groups by_total = group_rows(total_name, rows_.size());
    std::vector<uint32_t> ops;
    for (size_t name = 0; name < rows_.size(); ++name) {
      ops.clear();
      for (const uint32_t pair : by_total.of(name)) ops.push_back(total_op[pair]);
      if (ops.empty()) continue;
      rows_[name].total_ops = static_cast<int64_t>(ops.size());
      rows_[name].total_gpu_ns = sum_of(ops);
      rows_[name].total_busy_ns = busy_ns(trace_, ops);
    }
    Operator& unattributed = rows_.back();
    unattributed.total_ops = unattributed.self_ops;
    unattributed.total_gpu_ns = unattributed.self_gpu_ns;
    unattributed.total_busy_ns = unattributed.self_busy_ns;
  }

  int64_t sum_of(std::span<const uint32_t> ops) const {
    int64_t sum = 0;
    for (const uint32_t op : ops) sum += trace_.op_ns(op);
    return sum;
  }

  const trace::Trace& trace_;
  trace::OpTree tree_;
  std::vector<Row> around_;
  std::vector<uint32_t> inside_;
  std::vector<Row> outermost_;
  std::vector<Operator> rows_;
  trace::GroupNames groups_;
};

report::Section empty_section() {
  report::Section section{.key = "operators",
                          .empty_text = "No operators and no device operations."};
  report::Table& table = section.table;
  table.add_columns({text("operator", "Operator"), integer("calls", "Calls"),
                     integer("self_ops", "Ops"), time("self_gpu_ns", "Self GPU"),
                     percent("percentage", "Share"), time("self_busy_ns", "Self busy"),
                     integer("total_ops", "Total ops"), time("total_gpu_ns", "Total GPU"),
                     time("total_busy_ns", "Total busy"), time("cpu_ns", "CPU"),
                     time("cpu_self_ns", "Self CPU")});
  return section;
}

Result<report::Report> run(const trace::Trace& trace, const Parameters&) {
  report::Report report = begin_report("operators", trace);
  report::Section section = empty_section();
  const Operators operators(trace);
  const std::vector<Operator>& rows = operators.rows();
  const bool has_gpu = trace.ops.size() != 0;
  const auto gpu = [&](int64_t value) { return has_gpu ? Value(value) : Value(); };
  int64_t whole = 0;
  std::vector<size_t> order;
  for (size_t row = 0; row < rows.size(); ++row) {
    whole += rows[row].self_gpu_ns;
    if (rows[row].listed) order.push_back(row);
  }
  // Of equal GPU time that of no operator comes first.
  const auto place = [&](size_t row) {
    const bool has_name = row < trace.names.size();
    return std::tuple(-rows[row].self_gpu_ns, has_name, -rows[row].cpu_self_ns,
                      has_name ? std::string_view(trace.names[row]) : std::string_view());
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return place(a) < place(b); });
  for (const size_t row : order) {
    const Operator& one = rows[row];
    const auto cpu = [&](int64_t value) { return one.calls != 0 ? Value(value) : Value(); };
    section.table.add_row({operators.name(row), cpu(one.calls), gpu(one.self_ops),
                           gpu(one.self_gpu_ns), percent_of(one.self_gpu_ns, whole),
                           gpu(one.self_busy_ns), gpu(one.total_ops), gpu(one.total_gpu_ns),
                           gpu(one.total_busy_ns), cpu(one.cpu_ns), cpu(one.cpu_self_ns)});
  }
  report.sections.push_back(std::move(section));
  if (!has_gpu) report.notes.push_back("no device operations: CPU times only");
  return report;
}

constexpr const char* kDefinition =
    "operators: the time that framework operators (aten::mm) took on GPUs and on the CPU, by "
    "name. An operation of a GPU belongs to the innermost operator around the call that launched "
    "it, on the same thread; where there is no operator, to the innermost marker or Python frame; "
    "else to the call itself. So each operation is in exactly one row, or in (unattributed) if no "
    "launching call of it is in the file, and Self GPU adds up to the time of all operations.\n\n"
    "Ops and Self GPU are the number and the summed durations of the operations that belong to "
    "the operator itself; Share is Self GPU in percent of all; Self busy is the length of the "
    "union of their times on each GPU. Total ops, Total GPU and Total busy include the operations "
    "of operators inside it; an operation counts once for each name, however often the name "
    "occurs around it. The totals of different rows overlap and do not add up.\n\n"
    "Calls is what key_averages() of torch.profiler counts: every call, but one that is the only "
    "operator in a call of the same name is the same call seen twice (an overload that calls "
    "another, a dispatch mode) and not counted. Where a profiler wrote whole microseconds, calls "
    "that begin and end together may be counted differently by either. CPU adds up the durations "
    "of the calls that are in no other of the same name, so that no time counts twice; Self CPU, "
    "of all calls, is without the operators inside: of operators that overlap on a thread, the "
    "time is that of the one that began last. With --from or --to GPU time is that in the window, "
    "whenever it was launched, and calls and CPU time are of the whole trace.\n";

trace::Request needs(const Parameters&) { return {.ops = true, .links = true, .all_apis = true}; }

}  // namespace

Analysis operators_analysis() {
  return {
      "operators",
      "Show the GPU time of each operator, every kernel counted once",
      "Shows PyTorch operators (or the program's ranges if there are none) with the time of the "
      "kernels and copies that they launched, self and total, and CPU time.",
      kDefinition,
      {{"sonde operators trace.json", "largest self GPU time first"},
       {"sonde operators trace.json --sort total_gpu",
        "by total GPU time, including operators "
        "inside"},
       {"sonde operators trace.json --sort cpu_self", "by self CPU time"}},
      {},
      needs,
      run,
      true};
}

}  // namespace sonde::analysis
