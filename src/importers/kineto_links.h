// LaunchLinks: which call launched which operation of a GPU, by correlation number, and what the
// call knows about the launch where the operation does not. Private to the kineto importer.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "importers/kineto_events.h"
#include "importers/kineto_frame.h"
#include "importers/sink.h"
#include "importers/tally.h"

namespace sonde::importers {

class LaunchLinks {
 public:
  LaunchLinks(Sink& sink, const Wants& wants) : sink_(sink), wants_(wants) {}

  // A call into the runtime. The first one with a correlation number is the launching one.
  void call(std::string_view name, const LaunchArgs& args, int64_t api, int64_t process);
  // An operation, and what its own arguments say.
  void op(const LaunchArgs& args, Category category, Name name, int64_t op);
  // Links the operations whose calls came after them, and says how many have none.
  void finish(Tally& tally);

  // Tells the sink what is known of the GPUs that operations ran on, and of all others there are.
  void describe_devices(const Frame& frame);

 private:
  // What a grid of a call counts: hipExtModuleLaunchKernel takes work items, all others groups.
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
    int64_t correlation;
    LaunchArgs args;  // its views are not valid any more
    Category category;
    Name name;
    int64_t op;
  };

  void link(const Waiting& op, const Call* call);

  Sink& sink_;
  Wants wants_;
  bool is_amd_ = false;
  std::unordered_map<int64_t, Call> calls_;
  std::vector<Facts> facts_;
  std::vector<Waiting> waiting_;
  std::set<std::pair<int64_t, int64_t>> queues_;  // device, stream
  uint64_t ops_ = 0, unlinked_ = 0;
};

}  // namespace sonde::importers
