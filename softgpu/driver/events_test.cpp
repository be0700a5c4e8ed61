#include "driver/events.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

namespace softgpu {
namespace {

constexpr uint32_t kForEver = 0xffffffff;

// Waits for one event or all; returns whether they occurred.
bool wait_for(Events& events, std::span<kfd_event_data> data, bool all, uint32_t timeout_ms) {
  bool complete = all;
  EXPECT_EQ(events.wait(data, all, timeout_ms, complete), 0);
  return complete;
}

bool wait_for(Events& events, uint32_t id, uint32_t timeout_ms) {
  std::array<kfd_event_data, 1> data{};
  data[0].event_id = id;
  return wait_for(events, data, false, timeout_ms);
}

// Threads that all wait for the same event; joined at the end.
class Waiters {
 public:
  Waiters(Events& events, uint32_t id, int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([&events, id, this] {
        ++started_;
        if (wait_for(events, id, 10'000)) ++woken_;
      });
    }
    while (started_ < count) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until they are really waiting
  }
  int woken() {
    for (auto& thread : threads_) thread.join();
    threads_.clear();
    return woken_;
  }

 private:
  std::atomic<int> started_{0}, woken_{0};
  std::vector<std::thread> threads_;
};

TEST(Events, SetWakesAllWhoWaitAndAutoResetKeepsNothing) {
  Events events;
  const uint32_t id = events.create(KFD_IOC_EVENT_SIGNAL, true);
  Waiters waiters(events, id, 3);
  EXPECT_TRUE(events.set(id));
  EXPECT_EQ(waiters.woken(), 3);
  EXPECT_FALSE(wait_for(events, id, 0));
}

TEST(Events, AutoResetStaysSetForOneIfNobodyWaited) {
  Events events;
  const uint32_t id = events.create(KFD_IOC_EVENT_SIGNAL, true);
  events.set(id);
  events.set(id);
  EXPECT_TRUE(wait_for(events, id, 0));
  EXPECT_FALSE(wait_for(events, id, 0));
}

TEST(Events, ManualResetStaysSetUntilReset) {
  Events events;
  const uint32_t id = events.create(KFD_IOC_EVENT_SIGNAL, false);
  Waiters waiters(events, id, 2);
  events.set(id);
  EXPECT_EQ(waiters.woken(), 2);
  EXPECT_TRUE(wait_for(events, id, 0));
  EXPECT_TRUE(wait_for(events, id, kForEver));
  EXPECT_TRUE(events.reset(id));
  EXPECT_FALSE(wait_for(events, id, 20));
}

TEST(Events, WaitForAllNeedsEach) {
  Events events;
  std::array<kfd_event_data, 2> data{};
  for (auto& each : data) each.event_id = events.create(KFD_IOC_EVENT_SIGNAL, false);
  events.set(data[0].event_id);
  EXPECT_FALSE(wait_for(events, data, true, 10));
  EXPECT_TRUE(wait_for(events, data, false, 10));
  events.set(data[1].event_id);
  EXPECT_TRUE(wait_for(events, data, true, 10));
}

TEST(Events, SignalEventsHaveSlotsOthersDoNot) {
  Events events;
  uint32_t id = 0;
  for (uint32_t i = 1; i < Events::kSlots; ++i) {
    id = events.create(KFD_IOC_EVENT_SIGNAL, true);
    ASSERT_EQ(id, i);
  }
  EXPECT_EQ(events.create(KFD_IOC_EVENT_SIGNAL, true), 0u);
  EXPECT_GE(events.create(KFD_IOC_EVENT_MEMORY, true), Events::kSlots);
  EXPECT_TRUE(events.destroy(17));
  EXPECT_EQ(events.create(KFD_IOC_EVENT_DEBUG_EVENT, true), 17u);
}

TEST(Events, MemoryExceptionTellsWhere) {
  Events events;
  std::array<kfd_event_data, 1> data{};
  data[0].event_id = events.create(KFD_IOC_EVENT_MEMORY, false);
  const uint32_t other = events.create(KFD_IOC_EVENT_HW_EXCEPTION, false);
  kfd_hsa_memory_exception_data fault{};
  fault.va = 0xdead0000;
  fault.gpu_id = 7;
  fault.failure.NotPresent = 1;
  events.memory_exception(fault);
  EXPECT_TRUE(wait_for(events, data, false, 0));
  EXPECT_EQ(data[0].memory_exception_data.va, 0xdead0000u);
  EXPECT_EQ(data[0].memory_exception_data.gpu_id, 7u);
  EXPECT_EQ(data[0].memory_exception_data.failure.NotPresent, 1u);
  EXPECT_FALSE(wait_for(events, other, 0));
}

TEST(Events, DestroyEndsAWait) {
  Events events;
  const uint32_t id = events.create(KFD_IOC_EVENT_SIGNAL, true);
  Waiters waiters(events, id, 1);
  EXPECT_TRUE(events.destroy(id));
  EXPECT_EQ(waiters.woken(), 1);
  std::array<kfd_event_data, 1> data{};
  data[0].event_id = id;
  bool complete = false;
  EXPECT_EQ(events.wait(data, false, 0, complete), EINVAL);
  EXPECT_FALSE(events.set(id));
  EXPECT_FALSE(events.reset(id));
  EXPECT_FALSE(events.destroy(id));
}

// Since KFD 1.14: a waiter that passes the last occurrence it knows misses none before its wait.
TEST(Events, AWaiterWhoKnowsAnOlderAgeDoesNotWait) {
  Events events;
  const uint32_t id = events.create(KFD_IOC_EVENT_SIGNAL, true);
  const auto wait_knowing = [&](uint64_t& age) {
    std::array<kfd_event_data, 1> data{};
    data[0].event_id = id;
    std::memcpy(&data[0], &age, sizeof age);
    const bool complete = wait_for(events, data, false, 0);
    std::memcpy(&age, &data[0], sizeof age);
    return complete;
  };
  uint64_t age = 1;
  EXPECT_FALSE(wait_knowing(age));
  EXPECT_EQ(age, 1u);
  events.set(id);
  EXPECT_TRUE(wait_for(events, id, 0));  // consumes the signal
  EXPECT_TRUE(wait_knowing(age));
  EXPECT_EQ(age, 2u);
  EXPECT_FALSE(wait_knowing(age));
  uint64_t none = 0;  // an older runtime
  EXPECT_FALSE(wait_knowing(none));
  EXPECT_EQ(none, 0u);
}

}  // namespace
}  // namespace softgpu
