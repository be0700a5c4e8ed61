#include "driver/events.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>

namespace softgpu {
namespace {

constexpr uint32_t kForEver = 0xffffffff;

bool has_slot(uint32_t type) {
  return type == KFD_IOC_EVENT_SIGNAL || type == KFD_IOC_EVENT_DEBUG_EVENT;
}

// Since KFD 1.14; the first member of the union.
uint64_t known_age(const kfd_event_data& data) {
  uint64_t age = 0;
  std::memcpy(&age, &data, sizeof age);
  return age;
}

}  // namespace

// One thread's wait for one event; a thread that waits for several has one for each.
struct Events::Waiter {
  std::condition_variable* wakeup = nullptr;
  bool activated = false;
};

uint32_t Events::create(uint32_t type, bool auto_reset) {
  std::lock_guard lock(mutex_);
  uint32_t id = 0;
  if (has_slot(type)) {
    for (id = 1; events_.contains(id);) ++id;  // slot 0 would give id 0, which means none
    if (id >= kSlots) return 0;
  } else {
    while (events_.contains(next_plain_)) ++next_plain_;
    id = next_plain_++;
  }
  events_[id] = Event{.type = type, .auto_reset = auto_reset};
  return id;
}

void Events::wake(Event& event) {
  event.signalled = !event.auto_reset || event.waiters.empty();
  ++event.age;
  for (Waiter* waiter : event.waiters) {
    waiter->activated = true;
    waiter->wakeup->notify_one();
  }
}

bool Events::destroy(uint32_t id) {
  std::lock_guard lock(mutex_);
  auto found = events_.find(id);
  if (found == events_.end()) return false;
  wake(found->second);
  events_.erase(found);
  return true;
}

bool Events::set(uint32_t id) {
  std::lock_guard lock(mutex_);
  auto found = events_.find(id);
  if (found == events_.end()) return false;
  wake(found->second);
  return true;
}

bool Events::reset(uint32_t id) {
  std::lock_guard lock(mutex_);
  auto found = events_.find(id);
  if (found == events_.end()) return false;
  found->second.signalled = false;
  return true;
}

int Events::wait(std::span<kfd_event_data> wanted, bool all, uint32_t timeout_ms, bool& complete) {
  std::unique_lock lock(mutex_);
  for (const kfd_event_data& each : wanted) {
    if (!events_.contains(each.event_id)) return EINVAL;
  }
  std::condition_variable wakeup;
  std::vector<Waiter> waiters(wanted.size(), Waiter{.wakeup = &wakeup});
  for (size_t i = 0; i < wanted.size(); ++i) {
    Event& event = events_[wanted[i].event_id];
    waiters[i].activated = event.signalled;
    if (event.auto_reset) event.signalled = false;
    const uint64_t known = event.type == KFD_IOC_EVENT_SIGNAL ? known_age(wanted[i]) : 0;
    if (known != 0 && known != event.age) waiters[i].activated = true;
    event.waiters.push_back(&waiters[i]);
  }
  const auto ready = [&] {
    const auto is_set = [](const Waiter& waiter) { return waiter.activated; };
    return all ? std::all_of(waiters.begin(), waiters.end(), is_set)
               : std::any_of(waiters.begin(), waiters.end(), is_set);
  };
  if (timeout_ms == kForEver) {
    wakeup.wait(lock, ready);
    complete = true;
  } else {
    complete = wakeup.wait_for(lock, std::chrono::milliseconds(timeout_ms), ready);
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    auto found = events_.find(wanted[i].event_id);
    if (found == events_.end()) continue;  // destroyed meanwhile
    std::erase(found->second.waiters, &waiters[i]);
    if (waiters[i].activated) copy_data(wanted[i], found->second);
  }
  return 0;
}

void Events::copy_data(kfd_event_data& out, const Event& event) const {
  if (event.type == KFD_IOC_EVENT_MEMORY) out.memory_exception_data = event.memory;
  if (event.type == KFD_IOC_EVENT_HW_EXCEPTION) out.hw_exception_data = event.hardware;
  if (event.type == KFD_IOC_EVENT_SIGNAL && known_age(out) != 0) {
    std::memcpy(&out, &event.age, sizeof event.age);
  }
}

template <typename Data>
void Events::exception(uint32_t type, Data Event::*place, const Data& data) {
  std::lock_guard lock(mutex_);
  for (auto& [id, event] : events_) {
    if (event.type != type) continue;
    event.*place = data;
    wake(event);
  }
}

void Events::memory_exception(const kfd_hsa_memory_exception_data& data) {
  exception(KFD_IOC_EVENT_MEMORY, &Event::memory, data);
}

void Events::hardware_exception(const kfd_hsa_hw_exception_data& data) {
  exception(KFD_IOC_EVENT_HW_EXCEPTION, &Event::hardware, data);
}

}  // namespace softgpu
