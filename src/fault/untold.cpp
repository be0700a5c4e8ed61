#include "fault/untold.h"

#include <algorithm>

#include "fault/waves.h"

namespace sonde::fault {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint32_t kNotPresent = 1;

bool is_mapped(const std::vector<MemoryMap>& maps, uint64_t address) {
  return std::any_of(maps.begin(), maps.end(), [address](const MemoryMap& map) {
    return address >= map.begin && address < map.end && map.permissions[0] == 'r';
  });
}

// The first unmapped address that a lane accesses; if there is none, the instruction's own address.
uint64_t address_of(const Wave& wave, CodeObjects& code, const std::vector<MemoryMap>& maps) {
  if (wave.finding) return wave.finding->address;
  const auto lanes = touched_by(wave, code);
  const auto found = std::find_if(lanes.begin(), lanes.end(), [&](const WaveLane& lane) {
    return !is_mapped(maps, lane.address);
  });
  if (found != lanes.end()) return found->address;
  return lanes.empty() ? wave.pc : lanes.front().address;
}

}  // namespace

void add_untold(const Wave& wave, CodeObjects& code, const LiveProcess& process, Board& board) {
  wire::Board& state = *board.state;
  const auto maps = process.maps();
  const uint64_t address = address_of(wave, code, maps);
  wire::BoardFault& fault = state.faults[0];
  fault = {};
  fault.kind = wire::kBoardMemoryFault;
  fault.gpu = wave.gpu;
  fault.queue = wire::kBoardQueues;
  fault.reasons = kNotPresent;
  fault.address = address / kPage * kPage;
  fault.time_ns = wave.time_ns;
  fault.host_mapped = is_mapped(maps, address) ? 1 : 0;
  uint32_t taken = 0;
  for (uint64_t i = 0; i < wire::kBoardDispatches && taken < wire::kBoardArguments; ++i) {
    const wire::BoardDispatch& dispatch = state.dispatches[i];
    if (dispatch.number == 0 || wire::ended_ns(state, i) != 0) continue;
    wire::BoardArguments& arguments = state.arguments[taken++];
    const int64_t read = process.read(dispatch.kernarg, arguments.data, sizeof arguments.data);
    arguments.number = dispatch.number;
    arguments.bytes = read > 0 ? static_cast<uint32_t>(read) : 0;
    arguments.error = read < 0 ? static_cast<uint32_t>(-read) : 0;
  }
}

}  // namespace sonde::fault
