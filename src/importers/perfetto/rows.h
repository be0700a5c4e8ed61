// PerfettoRows: passes a PerfettoModel to a sink: calls and markers track by track, then the
// operations with their launches, the counters, and the arrows that are not launches. rows.cpp has
// the slices, ops.cpp what devices did.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "importers/perfetto/model.h"
#include "importers/perfetto/slices.h"
#include "importers/sink/call_table.h"

namespace sonde::importers {

class PerfettoRows {
 public:
  PerfettoRows(const PerfettoModel& model, const std::string& path, Sink& sink, Tally& tally)
      : model_(model), path_(path), sink_(sink), tally_(tally) {
    names_.resize(model.pool.size(), -1);
  }

  Status write();

 private:
  using Kind = PerfettoCategory::Kind;
  struct SliceOp {
    PerfettoSlice slice;
    uint32_t track;
  };
  // A slice that a flow touches: a call, or an operation (index into slice_ops_).
  struct FlowEnd {
    uint64_t id;
    int64_t time_ns;
    bool ends;
    int64_t api;
    size_t op;
    PerfettoTracks::Place place;
  };
  static constexpr size_t kNoOp = SIZE_MAX;

  Name name(uint32_t text) {
    Name& known = names_[text];
    if (known < 0) known = sink_.name(model_.pool.at(text));
    return known;
  }
  std::string_view text(uint32_t id) const { return model_.pool.at(id); }
  std::string_view arguments(const PerfettoDetail& detail) const {
    return std::string_view(model_.arguments).substr(detail.text, detail.text_size);
  }

  void describe();
  void slices();
  void slices_of(uint32_t track, std::vector<uint32_t> events);
  bool is_operation(const PerfettoEvent& event) const;
  void call(const PerfettoSlice& slice, uint32_t track);
  void links_of(const PerfettoEvent& event, const Api& row, int64_t pid, int64_t api);
  void remember_flows(const PerfettoDetail& detail, int64_t time_ns, int64_t api, size_t op,
                      const PerfettoTracks::Place& place);
  void slice_op(size_t index);
  std::string_view type_of(Kind kind, const PerfettoOpFacts& facts, std::string_view name) const;
  void place_op(const PerfettoOpFacts& facts, std::string_view track, Op& op,
                std::string_view type) const;
  void stage(const PerfettoStage& stage);
  void gpus();
  void counters();
  template <typename Take>
  void each_flow(Take&& take) const;
  void flows();
  void launchers_by_flow();
  void launchers_by_number();
  std::string process_label(int64_t pid) const;

  const PerfettoModel& model_;
  const std::string& path_;
  Sink& sink_;
  Tally& tally_;
  std::vector<Name> names_;  // by id in the pool
  int64_t last_ns_ = 0;
  std::vector<SliceOp> slice_ops_;
  std::vector<FlowEnd> flow_ends_;
  std::unordered_map<uint64_t, int64_t> api_of_stage_;  // by event id
  std::unordered_map<size_t, int64_t> api_of_op_;       // by index into slice_ops_
  std::unordered_map<int64_t, int64_t> gpu_of_number_;  // in the .rpd, by place in GpuInfo
  CallTable calls_;
};

}  // namespace sonde::importers
