#include "device/queue.h"

#include <algorithm>

#include "base/time.h"

namespace softgpu {

Queue::Queue(const QueueSpec& spec, Services& services, Gpu& gpu)
    : spec_(spec), services_(services), gpu_(gpu), memory_(services.host, spec.gpu) {}

Step Queue::step() {
  if (dead_ || stopped_.load(std::memory_order_relaxed) ||
      gpu_.lost.load(std::memory_order_relaxed))
    return {Step::kIdle};
  if (services_.host.is_suspended(spec_.id)) return {Step::kBlocked};
  return advance();
}

int64_t Queue::begin(bool follows, uint64_t end) {
  const int64_t seen_ns = end == follow_ ? follow_seen_ns_ : sonde::monotonic_now_ns();
  if (follows && !gpu_.config.time.real_time) {
    time_ns_ = std::max(time_ns_, follow_seen_ns_);
  } else {
    begin_after_wait();
  }
  follow_ = end;
  follow_seen_ns_ = seen_ns;
  return time_ns_;
}

// Never before the end of the last packet, which may be slightly ahead of the clock.
int64_t Queue::begin_after_wait() {
  return time_ns_ = std::max(time_ns_, sonde::monotonic_now_ns());
}

int64_t Queue::end_of(int64_t start_ns, double model_ns) const {
  if (gpu_.config.time.real_time) return std::max(start_ns, sonde::monotonic_now_ns());
  return start_ns + static_cast<int64_t>(model_ns);
}

double Queue::copy_ns(uint64_t bytes, bool first) const {
  const TimeModel& time = gpu_.config.time;
  double moving =
      time.copy_bytes_per_s > 0 ? 1e9 * static_cast<double>(bytes) / time.copy_bytes_per_s : 0;
  return moving + (first ? static_cast<double>(time.copy_base_ns) : 0);
}

void Queue::begin_record(std::string_view kind) {
  record_ = {};
  record_.gpu = spec_.gpu;
  record_.queue = spec_.id;
  record_.kind = kind;
  record_.start_ns = time_ns_;
}

// Destroyed in the middle of a packet.
Queue::~Queue() {
  record_.end_ns = sonde::monotonic_now_ns();
  end_work();
}

void Queue::begin_work(bool copy) {
  working_ = true;
  copying_ = copy;
  gpu_.load.begin(copy, record_.start_ns);
}

void Queue::end_work() {
  if (working_) gpu_.load.end(copying_, record_.start_ns, record_.end_ns);
  working_ = false;
}

void Queue::faulted(std::string_view what) {
  dead_ = true;
  record_.fault = what;
  record_.end_ns = sonde::monotonic_now_ns();
  end_work();
  services_.oracle.packet(record_);
}

void Queue::page_fault(uint64_t address, MemoryFault reason) {
  faulted(reason == MemoryFault::kEcc ? "ecc" : "memory_fault");
  services_.host.memory_fault(spec_.gpu, address, reason);
}

}  // namespace softgpu
