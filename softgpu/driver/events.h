// Events: KFD's events of one process, with which a GPU (or the program itself) wakes threads.
//
// As in the kernel driver: setting an event wakes all threads that wait for it at that moment; an
// auto-reset event stays set only if there was no waiter. A waiter that passes the last age it
// knows of a signal event (not 0) does not wait if the event has occurred since, and gets the new
// age.
#pragma once

#include <linux/kfd_ioctl.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

namespace softgpu {

class Events {
 public:
  // A signal event has a slot in the events page, which has room for this many.
  static constexpr uint32_t kSlots = KFD_SIGNAL_EVENT_LIMIT;

  // The new event's id, which is also a signal event's slot; 0 if all slots are taken.
  uint32_t create(uint32_t type, bool auto_reset);
  bool destroy(uint32_t id);
  bool set(uint32_t id);
  bool reset(uint32_t id);
  // Waits for one or all of the events; fills in their data. Returns 0 or an errno; `complete` is
  // false after a timeout.
  int wait(std::span<kfd_event_data> events, bool all, uint32_t timeout_ms, bool& complete);

  void memory_exception(const kfd_hsa_memory_exception_data& data);
  void hardware_exception(const kfd_hsa_hw_exception_data& data);

 private:
  struct Waiter;
  struct Event {
    uint32_t type = 0;
    bool auto_reset = false, signalled = false;
    uint64_t age = 1;  // incremented each time it is set
    kfd_hsa_memory_exception_data memory{};
    kfd_hsa_hw_exception_data hardware{};
    std::vector<Waiter*> waiters;
  };

  static void wake(Event& event);
  void copy_data(kfd_event_data& out, const Event& event) const;
  template <typename Data>
  void exception(uint32_t type, Data Event::*place, const Data& data);

  std::mutex mutex_;
  std::map<uint32_t, Event> events_;
  uint32_t next_plain_ = kSlots;
};

}  // namespace softgpu
