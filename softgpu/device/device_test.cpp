// Several queues, threads, scripted faults, and sleeping.
#include "device/device.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/time.h"
#include "device/doorbells.h"
#include "device/rig.h"

namespace softgpu::testing {
namespace {

using std::chrono::milliseconds;

class DeviceTest : public ::testing::Test {
 protected:
  ~DeviceTest() override { clear_kernels(); }
  const CodeObject code_{{"_Z4slowv", "_Z4fastv"}};
  FakeHost host_;
  LogFile log_;
};

TEST_F(DeviceTest, ALongKernelHoldsUpOnlyItsOwnQueue) {
  Device device(one_gpu(), host_);
  std::atomic<bool> go{false};
  set_kernel("_Z4slowv", [&](const Dispatch&) {
    while (!go) std::this_thread::sleep_for(milliseconds(1));
    return Outcome{Outcome::kDone};
  });
  AqlRing slow(device, 1), fast(device, 2), slow2(device, 3);
  AmdSignal slow_done{.value = 2}, fast_done{.value = 100};
  slow.submit(dispatch_packet(code_.kernel(0), &slow_done));
  slow2.submit(dispatch_packet(code_.kernel(0), &slow_done));
  for (int i = 0; i < 100; ++i) fast.submit(dispatch_packet(code_.kernel(1), &fast_done));
  EXPECT_TRUE(wait_for_value(fast_done, 0));
  EXPECT_EQ(value(slow_done), 2);
  go = true;
  EXPECT_TRUE(wait_for_value(slow_done, 0));
  for (uint32_t id : {1, 2, 3}) device.remove_queue(id);
}

TEST_F(DeviceTest, AQueueIsFinishedWhenAKernelComputedMeanwhileEnds) {
  Device device(one_gpu(), host_);
  set_kernel("_Z4slowv", [](const Dispatch&) {
    std::this_thread::sleep_for(milliseconds(30));
    return Outcome{Outcome::kDone};
  });
  AqlRing ring(device, 1);
  AmdSignal done{.value = 4};
  for (int i = 0; i < 2; ++i) {
    ring.submit(dispatch_packet(code_.kernel(0), &done));
    ring.submit(dispatch_packet(code_.kernel(1), &done));
  }
  EXPECT_TRUE(wait_for_value(done, 0));
  device.remove_queue(1);
}

TEST_F(DeviceTest, ThreadsSubmitToQueuesOfTheirOwnAndToOne) {
  Config config = one_gpu();
  config.log_path = log_.path();
  constexpr int kThreads = 4, kEach = 500;
  AmdSignal done{.value = kThreads * kEach * 2};
  {
    Device device(config, host_);
    AqlRing shared(device, 100);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        AqlRing own(device, t + 1);
        for (int i = 0; i < kEach; ++i) {
          own.submit(dispatch_packet(code_.kernel(0), &done));
          shared.submit(dispatch_packet(code_.kernel(1), &done));
        }
        wait_until([&] { return own.read_index() == kEach; });
        device.remove_queue(t + 1);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(wait_until([&] { return shared.read_index() == kThreads * kEach; }));
    EXPECT_TRUE(wait_until([&] { return log_.lines("op").size() >= kThreads * (2 * kEach - 1); }));
    device.remove_queue(100);
  }
  std::map<std::string, int> count;
  for (const auto& op : log_.lines("op")) ++count[op["name"].get<std::string>()];
  EXPECT_EQ(count["_Z4fastv"], kThreads * kEach);
  // A queue may be removed while its last kernel runs.
  EXPECT_GE(count["_Z4slowv"], kThreads * (kEach - 1));
}

TEST_F(DeviceTest, QueuesComeAndGoWhileOthersWork) {
  Device device(one_gpu(), host_);
  AqlRing busy(device, 1);
  AmdSignal done{.value = 2000};
  std::thread worker([&] {
    for (int i = 0; i < 2000; ++i) busy.submit(dispatch_packet(code_.kernel(1), &done));
  });
  for (uint32_t i = 0; i < 50; ++i) {
    AqlRing other(device, 10 + i);
    AmdSignal once{.value = 1};
    other.submit(dispatch_packet(code_.kernel(0), &once));
    EXPECT_TRUE(wait_for_value(once, 0));
    device.remove_queue(10 + i);
  }
  worker.join();
  EXPECT_TRUE(wait_for_value(done, 0));
  device.remove_queue(1);
}

TEST_F(DeviceTest, FaultsOfTheScriptStrike) {
  struct {
    FaultKind kind;
    int64_t queue_error;
  } const kErrors[] = {{FaultKind::kIllegalInstruction, kIllegalInstructionError},
                       {FaultKind::kInvalidPacket, kBadPacket},
                       {FaultKind::kException, kExceptionError},
                       {FaultKind::kApertureViolation, kApertureError}};
  for (const auto& error : kErrors) {
    Config config = one_gpu();
    config.faults.push_back({error.kind, -1, "fast", 3});
    Device device(config, host_);
    AqlRing ring(device, 1);
    AmdSignal done{.value = 10};
    for (int i = 0; i < 10; ++i) ring.submit(dispatch_packet(code_.kernel(1), &done));
    EXPECT_TRUE(wait_for_value(ring.inactive(), error.queue_error));
    EXPECT_EQ(value(done), 8);
    device.remove_queue(1);
  }
}

TEST_F(DeviceTest, MemoryFaultsAndEccAreRaised) {
  Config config = one_gpu();
  config.faults.push_back({FaultKind::kMemoryFault, 0, "slow", 1, 0x123000});
  config.faults.push_back({FaultKind::kEcc, 0, "fast", 1, 0x456000});
  Device device(config, host_);
  AqlRing a(device, 1), b(device, 2);
  a.submit(dispatch_packet(code_.kernel(0)));
  ASSERT_TRUE(wait_until([&] { return host_.faults().size() == 1; }));
  b.submit(dispatch_packet(code_.kernel(1)));
  ASSERT_TRUE(wait_until([&] { return host_.faults().size() == 2; }));
  EXPECT_EQ(host_.faults()[0].address, 0x123000u);
  EXPECT_EQ(host_.faults()[0].reason, MemoryFault::kNotPresent);
  EXPECT_EQ(host_.faults()[1].reason, MemoryFault::kEcc);
  device.remove_queue(1);
  device.remove_queue(2);
}

TEST_F(DeviceTest, AHangStopsItsQueueAndALostDeviceAllOfThem) {
  Config config = one_gpu();
  config.gpus.push_back(config.gpus[0]);
  config.faults.push_back({FaultKind::kHang, 0, "slow", 1});
  config.faults.push_back({FaultKind::kDeviceLost, 1, "slow", 1});
  Device device(config, host_);
  AqlRing hung(device, 1, 0), other(device, 2, 0), lost(device, 3, 1), lost2(device, 4, 1);
  AmdSignal done{.value = 1}, never{.value = 1};
  hung.submit(dispatch_packet(code_.kernel(0), &never));
  ASSERT_TRUE(wait_until([&] { return hung.read_index() == 1; }));
  hung.submit(dispatch_packet(code_.kernel(1), &never));
  lost.submit(dispatch_packet(code_.kernel(0), &never));
  ASSERT_TRUE(wait_until([&] { return host_.lost(1) == 1; }));
  lost2.submit(dispatch_packet(code_.kernel(1), &never));
  other.submit(dispatch_packet(code_.kernel(1), &done));
  EXPECT_TRUE(wait_for_value(done, 0));
  std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(value(never), 1);
  for (uint32_t id : {1, 2, 3, 4}) device.remove_queue(id);
}

// A process' doorbell page, seen by the device through another mapping.
class DoorbellPage : sonde::Pinned {
 public:
  DoorbellPage() {
    int file = memfd_create("softgpu-test", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(file, kBytes), 0);
    for (auto** page : {&process_, &device_}) {
      *page = static_cast<uint64_t*>(
          mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    }
    close(file);
  }
  ~DoorbellPage() {
    munmap(process_, kBytes);
    munmap(device_, kBytes);
  }
  static constexpr uint64_t kBytes = 8192;
  uint64_t* process_ = nullptr;
  uint64_t* device_ = nullptr;
};

TEST(DoorbellsTest, AStoreWakesTheSleeper) {
  DoorbellPage page;
  Doorbells doorbells;
  doorbells.gpu_in_use(0);
  doorbells.watch(0, reinterpret_cast<uint64_t>(page.process_), DoorbellPage::kBytes);
  for (int i = 1; i <= 20; ++i) {
    doorbells.arm();
    std::thread writer([&] { __atomic_store_n(&page.process_[600], i, __ATOMIC_RELEASE); });
    wait_until([&] { return doorbells.wait(1'000'000'000, 0); });
    doorbells.disarm();
    writer.join();
    EXPECT_EQ(__atomic_load_n(&page.device_[600], __ATOMIC_ACQUIRE), static_cast<uint64_t>(i));
  }
}

TEST(DoorbellsTest, WakeEndsASleep) {
  for (auto mode : {Doorbells::Mode::kAuto, Doorbells::Mode::kNap}) {
    Doorbells doorbells(mode);
    doorbells.arm();
    doorbells.wake();
    EXPECT_TRUE(doorbells.wait(1'000'000'000, 0));
    doorbells.disarm();
    doorbells.wake();  // no thread sleeps: must not end the next sleep
    doorbells.arm();
    EXPECT_FALSE(doorbells.wait(1'000'000, 0));
  }
}

TEST(DoorbellsTest, ARangeThatIsGoneIsForgotten) {
  Doorbells doorbells;
  auto page = std::make_unique<DoorbellPage>();
  doorbells.gpu_in_use(0);
  doorbells.watch(0, reinterpret_cast<uint64_t>(page->process_), DoorbellPage::kBytes);
  page.reset();
  doorbells.arm();
  int64_t before_ns = sonde::monotonic_now_ns();
  EXPECT_FALSE(doorbells.wait(50'000'000, 0));
  EXPECT_LT(sonde::monotonic_now_ns() - before_ns, 50'000'000);  // a nap: no memory is watched
  doorbells.disarm();
}

}  // namespace
}  // namespace softgpu::testing
