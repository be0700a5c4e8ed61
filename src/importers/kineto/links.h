// LaunchLinks: which call launched which operation of a GPU, by process and correlation number, and
// what the call knows about the launch where the operation does not. Operations wait until all
// calls are known, or a room of them is full and there is one process only. Private to the kineto
// importer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "importers/kineto/events.h"
#include "importers/kineto/frame.h"
#include "importers/sink/call_table.h"
#include "importers/sink/sink.h"
#include "importers/sink/tally.h"

namespace sonde::importers {

class LaunchLinks {
 public:
  LaunchLinks(Sink& sink, const Wants& wants) : sink_(sink), wants_(wants) {}

  // A call into the runtime, by the process `pid` of the file. In a file that has each correlation
  // number once, all calls may have the same `pid`.
  void call(std::string_view name, const LaunchArgs& args, int64_t pid, const Api& row,
            int64_t api);
  // An operation, and what its own arguments say. `pid` is where the file shows it.
  void op(const LaunchArgs& args, Category category, int64_t pid, const Op& row, int64_t op);
  // Links all operations, and says how many have no call. `label` is what the file calls a pid.
  void finish(const std::function<std::string(int64_t pid)>& label, Tally& tally);

  // Passes to the sink what is known about the GPUs that operations ran on, and about all others.
  void describe_devices(const Frame& frame);

 private:
  // What a grid of a call counts (store/launch_unit.h).
  enum class GridUnit : uint8_t { kGroups, kWorkItems };
  struct Call {
    int64_t api = 0, process = 0;
    int32_t facts = -1;  // index into facts_
    GridUnit unit = GridUnit::kGroups;
  };
  struct Facts {
    int64_t grid[3], block[3];
    int64_t bytes, shared_bytes;
  };
  struct Waiting {
    LaunchArgs args;  // its views are not valid any more
    Category category;
    Name name;
    int64_t op, start_ns;
    uint32_t track;
  };
  static constexpr size_t kRoom = 100'000;

  void link(const Waiting& op, const CallTable::Call* launcher);
  void link_known();
  void link_by_track(const std::function<std::string(int64_t pid)>& label, Tally& tally);

  Sink& sink_;
  Wants wants_;
  bool is_amd_ = false;
  CallTable table_;  // of indices into calls_
  std::vector<Call> calls_;
  std::vector<Facts> facts_;
  std::vector<Waiting> waiting_;
  std::map<std::pair<int64_t, int64_t>, uint32_t> tracks_;  // number by pid and device
  std::set<std::pair<int64_t, int64_t>> queues_;            // device, stream
  uint64_t ops_ = 0, unlinked_ = 0;
};

}  // namespace sonde::importers
