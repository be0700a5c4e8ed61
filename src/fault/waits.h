// What the queues of a live process wait for, from its board and the values of its signals. Used by
// compose.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fault/report.h"
#include "wire/board.h"

namespace sonde::fault {

// A signal's current value; nothing if it cannot be read.
using SignalValue = std::function<std::optional<int64_t>(uint64_t signal)>;

struct Waits {
  std::vector<QueueWait> queues;  // queues blocked by a barrier, in the board's order
  std::vector<size_t> cycle;      // as in the report
};
// `kernel_name` names the kernel of a dispatch on the board.
Waits find_waits(const wire::Board& board, const SignalValue& value_of,
                 const std::function<std::string(const wire::BoardDispatch&)>& kernel_name);

// Whether a dispatch is behind the barrier that blocks its queue.
bool is_held(const std::vector<QueueWait>& waits, const Dispatch& dispatch);

// "queue 1 waits at packet 5 for signal 0x7f00 (value 1), which packet 3 of queue 2 completes".
std::string wait_text(const QueueWait& wait);
std::string signal_text(const AwaitedSignal& signal);

// "queues 1 and 2 wait for each other"; "" without a cycle.
std::string cycle_text(const std::vector<QueueWait>& waits, const std::vector<size_t>& cycle);

}  // namespace sonde::fault
