#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/time.h"
#include "device/rig.h"

namespace softgpu::testing {
namespace {

class Aql : public QueueTest<AqlRing> {
 protected:
  ~Aql() override { clear_kernels(); }
  void start(const Config& config = one_gpu()) { QueueTest::start(1, config); }
  // Whether so many dispatches of the kernel complete.
  bool run(int64_t times = 1, size_t kernel = 0) {
    done_.value = times;
    for (int64_t i = 0; i < times; ++i) {
      ring_->submit(dispatch_packet(code_.kernel(kernel), &done_));
    }
    return wait_for_value(done_, 0);
  }
  void expect_waits() {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(value(done_), 1);
  }
  void expect_done_by(AmdSignal& signal, int64_t set) {
    __atomic_store_n(&signal.value, set, __ATOMIC_RELEASE);
    EXPECT_TRUE(wait_for_value(done_, 0));
  }
  const CodeObject code_{{"_Z4vaddPf", "_Z5scalePf"}};
};

TEST_F(Aql, DispatchCompletesWithTimesAndInterrupt) {
  start();
  uint64_t mailbox = 0;
  done_.value = 1;
  done_.event_mailbox = reinterpret_cast<uint64_t>(&mailbox);
  done_.event_id = 7;
  int64_t before_ns = sonde::monotonic_now_ns();
  ring_->submit(dispatch_packet(code_.kernel(0), &done_));
  ASSERT_TRUE(wait_until([&] { return host_.events(7) == 1; }));
  int64_t after_ns = sonde::monotonic_now_ns();
  EXPECT_EQ(value(done_), 0);
  EXPECT_EQ(mailbox, 7u);
  EXPECT_EQ(ring_->read_index(), 1u);
  const ClockConfig clock = one_gpu().gpus[0].clock;
  EXPECT_GE(done_.start_ts, device_ticks_at(clock, before_ns));
  EXPECT_LE(done_.end_ts, device_ticks_at(clock, after_ns));
  EXPECT_NEAR(static_cast<double>(done_.end_ts - done_.start_ts), 200, 2);  // 2 us of 10 ns
}

TEST_F(Aql, ComputesKernelsThatHaveHostCode) {
  start();
  float data[2] = {1, 2};
  code_.descriptor(0).group_bytes = 256;
  Dispatch seen;
  set_kernel("_Z4vaddPf", [&](const Dispatch& dispatch) {
    seen = dispatch;
    static_cast<float*>(*static_cast<void* const*>(dispatch.kernarg))[1] = 42;
    return Outcome{Outcome::kDone};
  });
  done_.value = 1;
  void* kernarg = data;
  AqlPacket packet = dispatch_packet(code_.kernel(0), &done_, &kernarg);
  packet.dispatch.group_bytes = 1280;
  ring_->submit(packet);
  ASSERT_TRUE(wait_for_value(done_, 0));
  EXPECT_EQ(data[1], 42);
  EXPECT_EQ(seen.grid[0], 256u);
  EXPECT_EQ(seen.group[0], 64u);
  EXPECT_EQ(seen.dynamic_group_bytes, 1024u);
  EXPECT_EQ(seen.wave_size, 64u);
  auto ops = log_.lines("op");
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(ops[0]["name"], "_Z4vaddPf");
  EXPECT_EQ(ops[0]["computed"], true);
}

TEST_F(Aql, KernelWithoutHostCodeSaysSoOnce) {
  start();
  ::testing::internal::CaptureStderr();
  ASSERT_TRUE(run(5, 1));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "softgpu: kernel _Z5scalePf has no code that can be run here: completed without "
            "computing\n");
}

TEST_F(Aql, BackToBackKernelsFollowOneAnotherInDeviceTime) {
  Config config = one_gpu();
  config.gpus[0].time.kernel_base_ns = 50'000'000;  // of which a busy host may miss a lot
  start(config);
  done_.value = 1;
  uint64_t last = 0;
  for (int i = 0; i < 8; ++i) {  // all are in the queue when the first begins
    last = ring_->reserve();
    ring_->fill(last, dispatch_packet(code_.kernel(0), i == 7 ? &done_ : nullptr));
  }
  ring_->ring(last);
  ASSERT_TRUE(wait_for_value(done_, 0));
  auto ops = log_.lines("op");
  ASSERT_EQ(ops.size(), 8u);
  for (size_t i = 1; i < ops.size(); ++i) {
    EXPECT_EQ(ops[i]["start_ns"], ops[i - 1]["end_ns"]);
    EXPECT_EQ(ops[i]["end_ns"].get<int64_t>() - ops[i]["start_ns"].get<int64_t>(), 50'000'002);
  }
}

TEST_F(Aql, CompletionIsNotSeenBeforeTheDeviceClockHasPassedTheEnd) {
  Config config = one_gpu();
  config.gpus[0].time.kernel_base_ns = 3'000'000;
  start(config);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(run());
    EXPECT_GE(device_ticks(config.gpus[0].clock), done_.end_ts);
  }
}

TEST_F(Aql, RealTimeTakesAsLongAsTheHost) {
  Config config = one_gpu();
  config.gpus[0].time.real_time = true;
  start(config);
  set_kernel("_Z4vaddPf", [](const Dispatch&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return Outcome{Outcome::kDone};
  });
  ASSERT_TRUE(run());
  EXPECT_GE(done_.end_ts - done_.start_ts, 2'000'000u);
}

TEST_F(Aql, BarrierAndWaitsForAllAndIgnoresNull) {
  start();
  AmdSignal a{.value = 1}, b{.value = 1};
  done_.value = 1;
  ring_->submit(barrier_packet(kAqlBarrierAnd, {&a, nullptr, &b}, &done_));
  expect_waits();
  __atomic_store_n(&a.value, 0, __ATOMIC_RELEASE);
  expect_waits();
  expect_done_by(b, 0);
}

TEST_F(Aql, BarrierOrWaitsForAny) {
  start();
  AmdSignal a{.value = 1}, b{.value = 1};
  done_.value = 1;
  ring_->submit(barrier_packet(kAqlBarrierOr, {&a, &b}, &done_));
  expect_waits();
  expect_done_by(b, 0);
}

TEST_F(Aql, BarrierValueComparesUnderItsMask) {
  start();
  AmdSignal a{.value = 0xf0};
  done_.value = 1;
  AqlPacket packet{};
  packet.barrier_value.format = kFormatBarrierValue;
  packet.barrier_value.signal = handle(a);
  packet.barrier_value.mask = 0xff;
  packet.barrier_value.value = 0x11;
  packet.barrier_value.condition = kLess;
  packet.barrier_value.completion = handle(done_);
  ring_->submit(packet);
  expect_waits();
  expect_done_by(a, 0xf10);
}

TEST_F(Aql, WorkBehindABarrierBeginsAfterWhatItWaitedFor) {
  start();
  AqlRing other(*device_, 2);
  AmdSignal first{.value = 1};
  done_.value = 1;
  other.submit(barrier_packet(kAqlBarrierAnd, {&first}, nullptr));
  other.submit(dispatch_packet(code_.kernel(1), &done_));
  ring_->submit(dispatch_packet(code_.kernel(0), &first));
  ASSERT_TRUE(wait_for_value(done_, 0));
  EXPECT_GE(done_.start_ts, first.end_ts);
  device_->remove_queue(2);
}

TEST_F(Aql, APacketThatIsNotFilledYetHoldsUpThoseBehindIt) {
  start();
  done_.value = 2;
  uint64_t first = ring_->reserve(), second = ring_->reserve();
  ring_->fill(second, dispatch_packet(code_.kernel(1), &done_));
  ring_->ring(second);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(value(done_), 2);
  ring_->fill(first, dispatch_packet(code_.kernel(0), &done_));
  ring_->ring(first);
  ASSERT_TRUE(wait_for_value(done_, 0));
  auto ops = log_.lines("op");
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0]["name"], "_Z4vaddPf");
  EXPECT_EQ(ops[1]["name"], "_Z5scalePf");
}

TEST_F(Aql, ManyPacketsGoRoundTheRing) {
  start();
  ASSERT_TRUE(run(1000));
  EXPECT_EQ(ring_->read_index(), 1000u);
  EXPECT_EQ(log_.lines("op").size(), 1000u);
  EXPECT_EQ(device_->load(0).dispatches, 1000u);
}

TEST_F(Aql, AsksForScratchAndTriesAgain) {
  start();
  done_.value = 1;
  AqlPacket packet = dispatch_packet(code_.kernel(0), &done_);
  packet.dispatch.private_bytes = 8192;
  ring_->submit(packet);
  ASSERT_TRUE(wait_for_value(ring_->inactive(), kScratchRequest));
  EXPECT_EQ(ring_->read_index(), 0u);  // ROCr reads the packet
  EXPECT_EQ(value(done_), 1);
  ring_->shared().scratch_wave64_lane_bytes = 8192;
  __atomic_store_n(&ring_->inactive().value, 0, __ATOMIC_RELEASE);
  ASSERT_TRUE(wait_for_value(done_, 0));
  EXPECT_EQ(log_.lines("op").size(), 1u);
}

TEST_F(Aql, GivesBackScratchThatIsForOneUse) {
  start();
  done_.value = 1;
  ring_->shared().properties |= kQueueScratchOnce;
  ring_->submit(dispatch_packet(code_.kernel(0), &done_));
  ASSERT_TRUE(wait_for_value(ring_->inactive(), kScratchReclaim));
  EXPECT_TRUE(wait_for_value(done_, 0));
  ring_->shared().properties &= ~kQueueScratchOnce;
  __atomic_store_n(&ring_->inactive().value, 0, __ATOMIC_RELEASE);
  EXPECT_TRUE(run());
}

struct BadPacket {
  const char* name;
  void (*spoil)(AqlPacket&);
  int64_t error;
};

class AqlErrors : public Aql, public ::testing::WithParamInterface<BadPacket> {};

TEST_P(AqlErrors, StopTheQueue) {
  start();
  done_.value = 1;
  AqlPacket packet = dispatch_packet(code_.kernel(0), &done_);
  GetParam().spoil(packet);
  ring_->submit(packet);
  ASSERT_TRUE(wait_until([&] { return value(ring_->inactive()) != 0; }));
  EXPECT_EQ(value(ring_->inactive()), GetParam().error);
  EXPECT_EQ(value(done_), 1);
  auto packets = log_.lines("packet");
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_TRUE(packets[0].contains("fault"));
}

INSTANTIATE_TEST_SUITE_P(
    All, AqlErrors,
    ::testing::Values(
        BadPacket{"Dimensions", [](AqlPacket& p) { p.dispatch.group[1] = 0; }, kBadDimensions},
        BadPacket{"Grid", [](AqlPacket& p) { p.dispatch.grid[0] = 0; }, kBadDimensions},
        BadPacket{"Group", [](AqlPacket& p) { p.dispatch.group[0] = 2048; }, kGroupTooLarge},
        BadPacket{"Lds", [](AqlPacket& p) { p.dispatch.group_bytes = 70000; }, kBadGroupMemory},
        BadPacket{"Type", [](AqlPacket& p) { p.header = kAqlAgentDispatch; }, kBadPacket},
        BadPacket{"Vendor",
                  [](AqlPacket& p) { p.dispatch.header = kAqlVendor, p.dispatch.setup = 9; },
                  kBadVendorPacket}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(Aql, UnmappedKernelObjectIsAPageFault) {
  start();
  host_.unmap(0xdead0000000, 1 << 20);
  ring_->submit(dispatch_packet(0xdead0000040, &done_));
  ASSERT_TRUE(wait_until([&] { return host_.faults().size() == 1; }));
  EXPECT_EQ(host_.faults()[0].address, 0xdead0000040u);
}

TEST_F(Aql, FaultOfAComputedKernelIsAPageFault) {
  start();
  set_kernel("_Z4vaddPf", [](const Dispatch&) { return Outcome{Outcome::kMemoryFault, 0x1234}; });
  set_kernel("_Z5scalePf", [](const Dispatch&) { return Outcome{Outcome::kTrap}; });
  AqlRing other(*device_, 2);
  ring_->submit(dispatch_packet(code_.kernel(0)));
  other.submit(dispatch_packet(code_.kernel(1)));
  ASSERT_TRUE(wait_until([&] { return host_.faults().size() == 1; }));
  EXPECT_EQ(host_.faults()[0].address, 0x1234u);
  EXPECT_TRUE(wait_for_value(other.inactive(), kExceptionError));
  device_->remove_queue(2);
}

}  // namespace
}  // namespace softgpu::testing
