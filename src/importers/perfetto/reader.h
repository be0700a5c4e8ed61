// PerfettoReader: packets of a .pftrace into a PerfettoModel. What it cannot use is in the tally.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "importers/perfetto/model.h"
#include "importers/perfetto/packets.h"

namespace sonde::importers {

class PerfettoReader {
 public:
  PerfettoReader(PerfettoModel& model, const Wants& wants, Tally& tally)
      : model_(model), wants_(wants), tally_(tally) {}

  void take(std::string_view packet, const PerfettoPackets& packets);
  // After the last packet.
  void finish(const std::string& path);

 private:
  struct Packet {
    PerfettoSequence& sequence;
    std::optional<int64_t> time_ns;
    uint64_t clock = 0;
    const PerfettoPackets& packets;
  };
  struct CounterSpec {
    uint32_t name = 0;
    bool forwards = false;
    std::optional<int64_t> last_ns;
  };

  void body(uint32_t field, std::string_view message, Packet& packet);
  bool timed(const Packet& packet);
  void track_event(std::string_view message, Packet& packet);
  void slice(std::string_view message, PerfettoEvent& event, Packet& packet);
  bool detail(std::string_view message, uint32_t category, Packet& packet, PerfettoDetail& made);
  void call_stack(std::string_view message);
  uint32_t text_in(std::string_view message);  // its field 1; 0 = none
  void counter(uint64_t uuid, double value, const Packet& packet);
  void extra_counters(std::string_view message, const Packet& packet);
  void render_stage(std::string_view message, Packet& packet);
  void stage_specifications(std::string_view message);
  void launch(std::string_view message, PerfettoSequence& sequence, PerfettoStage& stage);
  void launch_argument(std::string_view message, PerfettoSequence& sequence, PerfettoStage& stage);
  void gpu_counters(std::string_view message, Packet& packet);
  void counter_specs(std::string_view descriptor, int64_t gpu);
  void gpu_info(std::string_view message);

  PerfettoModel& model_;
  const Wants wants_;
  Tally& tally_;
  std::unordered_map<uint32_t, PerfettoSequence> sequences_;
  std::unordered_map<uint32_t, double> sums_;  // of incremental counters, by track
  std::map<std::pair<int64_t, uint64_t>, CounterSpec> counter_specs_;  // by GPU and counter id
  std::vector<uint32_t> old_stages_;  // names, in files that number them by place
  PerfettoArgs args_;
};

}  // namespace sonde::importers
