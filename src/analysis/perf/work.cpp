#include "analysis/perf/work.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "trace/op_tree.h"

namespace sonde::analysis {
namespace {

using trace::ApiKind;
using trace::kNone;
using trace::Row;

// How an operator's work counts against that of operators inside of it.
int weight_of(WorkKind kind) {
  if (kind <= WorkKind::kAttention) return 2;
  return kind == WorkKind::kNormalisation ? 1 : 0;
}

class Attribution {
 public:
  explicit Attribution(const trace::Trace& trace)
      : trace_(trace), tree_(trace::build_op_tree(trace)), model_of_name_(trace.names.size()) {
    for (size_t name = 0; name < trace.names.size(); ++name) {
      model_of_name_[name] = find_perf_model(trace.names[name]);
    }
  }

  ModelledWork attribute() {
    result_.call_of_op.assign(trace_.ops.size(), kNone);
    std::vector<Row> owner(trace_.ops.size(), kNone);
    for (size_t op = 0; op < owner.size(); ++op) {
      if (trace_.class_of(op) != trace::OpClass::kKernel) continue;
      owner[op] = innermost_known(trace_.ops.api[op]);
      if (owner[op] != kNone) known_.at(owner[op]).has_kernels = true;
    }
    leave_out_containers();
    for (size_t op = 0; op < owner.size(); ++op) {
      if (trace_.class_of(op) == trace::OpClass::kKernel) count(op, owner[op]);
    }
    for (auto& [key, row] : unmodelled_) {
      row.name = key.first;
      row.why = key.second;
      result_.unmodelled.push_back(std::move(row));
    }
    std::stable_sort(result_.unmodelled.begin(), result_.unmodelled.end(),
                     [](const Unmodelled& a, const Unmodelled& b) { return a.gpu_ns > b.gpu_ns; });
    return std::move(result_);
  }

 private:
  struct Known {
    Estimate estimate;
    bool has_kernels = false;
    bool is_container = false;
    size_t call = ~size_t{0};  // of ModelledWork::calls
  };

  const PerfModel* model_of(Row api) const {
    const auto row = static_cast<size_t>(api);
    if (trace_.apis.kind[row] != ApiKind::kOperator) return nullptr;
    return model_of_name_[trace_.apis.label[row]];
  }

  const Known& known(Row api, const PerfModel& model) {
    const auto [entry, is_new] = known_.try_emplace(api);
    if (is_new) {
      const uint32_t args = trace_.apis.args[static_cast<size_t>(api)];
      const auto inputs = Inputs::parse(trace_.texts[args]);
      entry->second.estimate =
          inputs ? model.estimate(model.name, *inputs) : Estimate::none(kNoSizes);
    }
    return entry->second;
  }

  Row innermost_known(Row api) {
    for (; api != kNone; api = tree_.parent[static_cast<size_t>(api)]) {
      const PerfModel* model = model_of(api);
      if (model != nullptr && known(api, *model).estimate.work) return api;
    }
    return kNone;
  }

  void leave_out_containers() {
    for (auto& [api, one] : known_) {
      if (!one.has_kernels) continue;
      const int weight = weight_of(model_of(api)->kind);
      if (weight == 0) continue;
      for (Row up = tree_.parent[static_cast<size_t>(api)]; up != kNone;
           up = tree_.parent[static_cast<size_t>(up)]) {
        const auto outer = known_.find(up);
        if (outer == known_.end()) continue;
        if (weight >= weight_of(model_of(up)->kind)) outer->second.is_container = true;
      }
    }
  }

  void count(size_t op, Row owner) {
    const int64_t duration = trace_.op_ns(op);
    ++result_.kernels;
    result_.gpu_ns += duration;
    if (owner == kNone || known_.at(owner).is_container) return count_unmodelled(op, duration);
    Known& one = known_.at(owner);
    if (one.call == ~size_t{0}) {
      one.call = result_.calls.size();
      result_.calls.push_back(
          {owner, model_of(owner), *one.estimate.work, trace_.ops.gpu[op], 0, 0});
    }
    result_.call_of_op[op] = static_cast<Row>(one.call);
    ++result_.calls[one.call].kernels;
    result_.calls[one.call].gpu_ns += duration;
  }

  void count_unmodelled(size_t op, int64_t duration) {
    std::string name = "(unattributed)";
    std::string why = "no launching call recorded";
    if (const Row leaf = tree_.leaf[op]; leaf != kNone) {
      name = trace_.names[trace_.apis.label[static_cast<size_t>(leaf)]];
      why = reason(trace_.ops.api[op]);
    }
    Unmodelled& row = unmodelled_[{std::move(name), std::move(why)}];
    ++row.kernels;
    row.gpu_ns += duration;
  }

  // The reason that the innermost operator with a model gives.
  std::string reason(Row api) {
    for (; api != kNone; api = tree_.parent[static_cast<size_t>(api)]) {
      const PerfModel* model = model_of(api);
      if (model == nullptr) continue;
      const Known& one = known(api, *model);
      return one.estimate.work ? "the operators inside it have the work" : one.estimate.missing;
    }
    return "no model";
  }

  const trace::Trace& trace_;
  trace::OpTree tree_;
  std::vector<const PerfModel*> model_of_name_;
  std::unordered_map<Row, Known> known_;
  std::map<std::pair<std::string, std::string>, Unmodelled> unmodelled_;
  ModelledWork result_;
};

bool wants_args(std::string_view name) { return find_perf_model(name) != nullptr; }

}  // namespace

trace::Request modelled_work_needs() {
  trace::Request request;
  request.ops = request.links = request.devices = true;
  request.all_apis = request.whole = true;
  request.args_of = trace::bit_of(ApiKind::kOperator);
  request.args_named = wants_args;
  return request;
}

ModelledWork modelled_work(const trace::Trace& trace) { return Attribution(trace).attribute(); }

}  // namespace sonde::analysis
