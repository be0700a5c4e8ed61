#include "device/load.h"

#include <algorithm>

namespace softgpu {

void LoadMeter::Track::begin(int64_t start_ns) {
  if (running++ == 0) running_since_ns = start_ns;
}

void LoadMeter::Track::end(int64_t start_ns, int64_t end_ns) {
  --running;
  add(start_ns, end_ns);
}

void LoadMeter::Track::add(int64_t start_ns, int64_t end_ns) {
  start_ns = std::max(start_ns, busy_until_ns);
  if (end_ns <= start_ns) return;
  busy_until_ns = end_ns;
  // Longer than the history: only the end matters.
  start_ns = std::max(start_ns, end_ns - kSlotNs * static_cast<int64_t>(busy_ns.size() - 1));
  while (start_ns < end_ns) {
    int64_t number = start_ns / kSlotNs;
    int64_t until = std::min(end_ns, (number + 1) * kSlotNs);
    size_t i = static_cast<size_t>(number) % slot.size();
    if (slot[i] != number) busy_ns[i] = 0;
    slot[i] = number;
    busy_ns[i] += until - start_ns;
    start_ns = until;
  }
}

double LoadMeter::Track::share(int64_t now_ns) const {
  Track seen = *this;
  if (running > 0) seen.add(running_since_ns, now_ns);
  int64_t last = now_ns / kSlotNs, sum = 0;
  for (size_t i = 0; i < slot.size(); ++i) {
    if (seen.slot[i] > last - 16 && seen.slot[i] <= last) sum += seen.busy_ns[i];
  }
  // The current slot is not over yet.
  double seconds = 15.0 * kSlotNs + static_cast<double>(now_ns % kSlotNs);
  return std::clamp(static_cast<double>(sum) / seconds, 0.0, 1.0);
}

void LoadMeter::begin(bool copy, int64_t start_ns) {
  std::lock_guard lock(mutex_);
  engine_.begin(start_ns);
  if (copy) memory_.begin(start_ns);
}

void LoadMeter::end(bool copy, int64_t start_ns, int64_t end_ns) {
  std::lock_guard lock(mutex_);
  ++(copy ? copies_ : dispatches_);
  engine_.end(start_ns, end_ns);
  if (copy) memory_.end(start_ns, end_ns);
}

Load LoadMeter::read(int64_t now_ns) const {
  std::lock_guard lock(mutex_);
  return {engine_.share(now_ns), memory_.share(now_ns), dispatches_, copies_};
}

}  // namespace softgpu
