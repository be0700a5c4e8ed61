// PerfettoModel: what the packets of a .pftrace say, in memory, because packets come in no order
// and refer to tracks that are described later. PerfettoReader fills it; write_perfetto() passes it
// to a sink. A begin or end takes about 30 bytes, and arguments what their text takes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "importers/perfetto/args.h"
#include "importers/perfetto/clocks.h"
#include "importers/perfetto/texts.h"
#include "importers/perfetto/tracks.h"
#include "importers/sink/sink.h"
#include "importers/sink/tally.h"

namespace sonde::importers {

constexpr uint32_t kNoDetail = UINT32_MAX;

struct PerfettoEvent {
  enum class Type : uint8_t { kBegin = 1, kEnd = 2, kInstant = 3 };
  int64_t time_ns = 0;
  uint32_t track = 0;
  uint32_t name = 0, category = 0;  // in the pool
  uint32_t detail = kNoDetail;
  Type type = Type::kBegin;
};

// What few events have.
struct PerfettoDetail {
  uint64_t text = 0;  // of the arguments, in PerfettoModel::arguments
  uint32_t text_size = 0;
  uint32_t facts = kNoDetail;
  uint32_t stack = 0, stack_size = 0;  // in PerfettoModel::frames, outermost first
  uint32_t flows = 0, flow_count = 0;
  uint32_t submits = 0, submit_count = 0;  // in PerfettoModel::submitted
  bool marker = false;
};

struct PerfettoFlow {
  uint64_t id = 0;
  bool ends = false;
};

struct PerfettoCounter {
  int64_t time_ns = 0;
  uint32_t track = 0;
  double value = 0;
};

// A value of a GpuCounterEvent.
struct PerfettoGpuCounter {
  int64_t time_ns = 0;
  int64_t gpu = 0;
  uint32_t name = 0;
  double value = 0;
};

struct PerfettoStage {
  uint64_t event = 0;
  int64_t start_ns = 0, end_ns = 0;
  int64_t gpu = 0, queue = 0, pid = -1, bytes = -1, status = 0;
  int64_t device = INT64_MIN;  // of the argument of that name
  uint32_t name = 0, type = 0;
  bool compute = false;
  int64_t groups[3] = {-1, -1, -1}, items[3] = {-1, -1, -1}, group[3] = {-1, -1, -1};
  int64_t group_segment_bytes = -1, private_segment_bytes = -1;
  std::string args;
};

struct PerfettoGpu {
  std::string name, vendor;
};

struct PerfettoModel {
  TextPool pool;
  PerfettoTracks tracks{pool};
  PerfettoClocks clocks;
  std::vector<PerfettoEvent> events;
  std::vector<PerfettoDetail> details;
  std::vector<PerfettoOpFacts> facts;
  std::vector<PerfettoFlow> flows;
  std::vector<uint64_t> submitted;  // event ids of stages
  std::vector<uint32_t> frames;
  std::string arguments;
  std::vector<PerfettoCounter> counters;
  std::vector<PerfettoGpuCounter> gpu_counters;
  std::vector<PerfettoStage> stages;
  std::map<int64_t, PerfettoGpu> gpus;   // by place in GpuInfo
  std::map<int64_t, uint64_t> backends;  // Perfetto's API number by GPU

  // Nothing in them where nothing is said.
  PerfettoDetail detail_of(const PerfettoEvent& event) const {
    return event.detail == kNoDetail ? PerfettoDetail() : details[event.detail];
  }
  const PerfettoOpFacts& facts_of(const PerfettoEvent& event) const {
    static const PerfettoOpFacts kNone;
    const uint32_t place = detail_of(event).facts;
    return place == kNoDetail ? kNone : facts[place];
  }
};

// What a category says of its slices.
struct PerfettoCategory {
  enum class Kind : uint8_t { kCall, kMarker, kKernel, kCopy, kMemory, kOperation, kSample };
  Kind kind = Kind::kCall;
  std::string_view domain;
};
PerfettoCategory perfetto_category(std::string_view category);

Status write_perfetto(const PerfettoModel& model, const std::string& path, Sink& sink,
                      Tally& tally);

}  // namespace sonde::importers
