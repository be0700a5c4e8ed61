#include "fault/allocations.h"

#include <limits>

namespace sonde::fault {

const wire::BoardAllocation* nearest_allocation(const wire::Board& board, uint64_t address,
                                                int64_t time_ns) {
  constexpr uint64_t kPage = 4096, kFar = uint64_t{1} << 28;
  const wire::BoardAllocation* best = nullptr;
  uint64_t best_distance = std::numeric_limits<uint64_t>::max();
  for (const wire::BoardAllocation& entry : board.allocations) {
    if (entry.address == 0 || (time_ns != 0 && entry.made_ns > time_ns)) continue;
    const int64_t freed_ns = freed_ns_at(entry, time_ns);
    const uint64_t end = entry.address + entry.bytes;
    // Pages are unmapped as a whole.
    const uint64_t room_end = freed_ns != 0 ? (end + kPage - 1) / kPage * kPage : end;
    uint64_t distance = address < entry.address ? entry.address - address : 0;
    if (address >= room_end) distance = address - end + 1;
    const int64_t best_freed_ns = best != nullptr ? freed_ns_at(*best, time_ns) : 0;
    const bool later = best != nullptr && distance == best_distance &&
                       (freed_ns == 0 ? best_freed_ns != 0 || entry.made_ns > best->made_ns
                                      : best_freed_ns != 0 && freed_ns > best_freed_ns);
    if (distance < best_distance || later) {
      best = &entry;
      best_distance = distance;
    }
  }
  return best_distance < kFar ? best : nullptr;
}

int64_t freed_ns_at(const wire::BoardAllocation& allocation, int64_t time_ns) {
  return time_ns != 0 && allocation.freed_ns > time_ns ? 0 : allocation.freed_ns;
}

}  // namespace sonde::fault
