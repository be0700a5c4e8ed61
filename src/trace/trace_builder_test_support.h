// TraceBuilder: a Trace from rows written down in a test, made by the same arrange() as real ones.
// Rows may be given to it in any order; build(seed) shuffles them.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "trace/columns.h"

namespace sonde::trace {

class TraceBuilder {
 public:
  struct Api {
    std::string category, name;
    int64_t start_ns = 0, end_ns = 0;
    int64_t tid = 1, pid = 1;
    std::string domain = {}, args = {};
    int64_t stream = kNoStream;
    bool blocks = false;
  };
  struct Op {
    std::string name;
    int64_t start_ns = 0, end_ns = 0;
    int64_t gpu = 0;
    int64_t queue = 0;
    std::string type = "KernelExecution";
    int64_t bytes = -1;
    std::vector<std::pair<std::string, double>> counters = {};
    std::vector<int64_t> grid = {}, group = {};  // three each, or unknown
    int api = kNone;                             // the call that launched it: what add() returned
  };

  int add(Api api) {
    apis_.push_back(std::move(api));
    return static_cast<int>(apis_.size()) - 1;
  }
  void add(Op op) { ops_.push_back(std::move(op)); }
  // A call, and what it launches.
  template <typename... More>
  int add(Api call, Op launched, More... more) {
    const int api = add(std::move(call));
    for (Op* op : {&launched, &more...}) {
      op->api = api;
      add(std::move(*op));
    }
    return api;
  }
  void set_device(int64_t gpu, std::string name, int64_t compute_units = 0) {
    devices_.push_back({gpu, std::move(name), compute_units});
  }
  void set_rank(int64_t pid, int64_t rank) { ranks_.emplace_back(pid, rank); }
  const std::vector<Op>& ops() const { return ops_; }

  // With seed 0 the rows keep their order.
  Trace build(uint32_t seed = 0, const Request& wanted = everything(),
              const Window& window = {}) const {
    std::mt19937 random(seed);
    std::vector<size_t> op_order(ops_.size());
    std::vector<size_t> api_order(apis_.size());
    std::iota(op_order.begin(), op_order.end(), 0);
    std::iota(api_order.begin(), api_order.end(), 0);
    if (seed != 0) {
      std::shuffle(op_order.begin(), op_order.end(), random);
      std::shuffle(api_order.begin(), api_order.end(), random);
    }
    Trace trace;
    trace.path = "test";
    trace.names.emplace_back();
    trace.texts.emplace_back();
    Raw raw;
    std::vector<Row> row_of(apis_.size());
    add_apis(api_order, trace, raw, row_of);
    add_ops(op_order, row_of, trace);
    for (const auto& [pid, rank] : ranks_) {
      for (Process& process : trace.processes) {
        if (process.pid == pid) process.rank = rank;
      }
    }
    if (wanted.devices) trace.devices = devices_;
    trace.window = window.extent;
    raw.extent = span();
    if (wanted.program) trace.program = raw.extent;
    arrange(completed(wanted), window, raw, trace);
    return trace;
  }

  static Request everything() {
    Request request;
    request.op_counters = request.devices = true;
    request.ops = request.op_bytes = request.op_shapes = request.links = true;
    request.args_of = ~0u;
    return completed(request);
  }

 private:
  std::optional<Interval> span() const {
    std::optional<Interval> span;
    for (const Api& api : apis_) extend(span, {api.start_ns, api.end_ns});
    for (const Op& op : ops_) extend(span, {op.start_ns, op.end_ns});
    return span;
  }

  static NameId intern(Trace& trace, const std::string& text) {
    for (size_t i = 0; i < trace.names.size(); ++i) {
      if (trace.names[i] == text) return static_cast<NameId>(i);
    }
    trace.names.push_back(text);
    return static_cast<NameId>(trace.names.size() - 1);
  }

  static int32_t process_of(Trace& trace, int64_t pid) {
    for (size_t i = 0; i < trace.processes.size(); ++i) {
      if (trace.processes[i].pid == pid) return static_cast<int32_t>(i);
    }
    trace.processes.push_back({pid, {}});
    return static_cast<int32_t>(trace.processes.size() - 1);
  }

  void add_apis(const std::vector<size_t>& order, Trace& trace, Raw& raw,
                std::vector<Row>& row_of) const {
    Numbering threads(trace.threads);
    const bool has_streams = std::any_of(apis_.begin(), apis_.end(),
                                         [](const Api& api) { return api.stream != kNoStream; });
    for (const size_t i : order) {
      const Api& api = apis_[i];
      row_of[i] = static_cast<Row>(trace.apis.size());
      trace.apis.start_ns.push_back(api.start_ns);
      trace.apis.end_ns.push_back(api.end_ns);
      trace.apis.name.push_back(intern(trace, api.name));
      trace.apis.label.push_back(intern(trace, api.name));
      trace.apis.domain.push_back(intern(trace, api.domain));
      trace.apis.thread.push_back(threads.index({process_of(trace, api.pid), api.tid}));
      raw.api_category.push_back(intern(trace, api.category));
      trace.apis.args.push_back(static_cast<uint32_t>(trace.texts.size()));
      trace.texts.push_back(api.args);
      if (has_streams) trace.apis.stream.push_back(api.stream);
      if (has_streams) trace.apis.blocks.push_back(api.blocks ? 1 : 0);
    }
  }

  void add_ops(const std::vector<size_t>& order, const std::vector<Row>& row_of,
               Trace& trace) const {
    Numbering queues(trace.queues);
    ShapeNumbering shapes(trace.shapes);
    for (const size_t i : order) {
      const Op& op = ops_[i];
      trace.ops.start_ns.push_back(op.start_ns);
      trace.ops.end_ns.push_back(op.end_ns);
      trace.ops.gpu.push_back(op.gpu);
      trace.ops.queue.push_back(queues.index({op.gpu, op.queue}));
      trace.ops.name.push_back(intern(trace, op.name));
      trace.ops.type.push_back(intern(trace, op.type));
      trace.ops.bytes.push_back(op.bytes);
      for (const auto& [name, value] : op.counters) {
        trace.op_counters.op.push_back(static_cast<Row>(trace.ops.size()) - 1);
        trace.op_counters.name.push_back(intern(trace, name));
        trace.op_counters.value.push_back(value);
      }
      LaunchShape shape;
      std::copy(op.grid.begin(), op.grid.end(), shape.grid);
      std::copy(op.group.begin(), op.group.end(), shape.group);
      trace.ops.shape.push_back(shapes.index(shape));
      trace.ops.api.push_back(op.api == kNone ? kNone : row_of[static_cast<size_t>(op.api)]);
    }
  }

  std::vector<Api> apis_;
  std::vector<Op> ops_;
  std::vector<Device> devices_;
  std::vector<std::pair<int64_t, int64_t>> ranks_;
};

}  // namespace sonde::trace
