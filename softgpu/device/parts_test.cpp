// The small parts of the device, each alone.
#include <gtest/gtest.h>
#include <hsa/amd_hsa_kernel_code.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>

#include "device/faults.h"
#include "device/load.h"
#include "device/names.h"
#include "device/oracle.h"
#include "device/rig.h"
#include "device/transfer.h"

namespace softgpu::testing {
namespace {

TEST(Clock, HasOffsetRateAndDrift) {
  ClockConfig clock{100'000'000, 0, 0};
  EXPECT_EQ(device_ticks_at(clock, 1'000'000'000), 100'000'000u);
  clock.offset_ticks = -5;
  EXPECT_EQ(device_ticks_at(clock, 1'000'000'000), 99'999'995u);
  clock = {1'000'000'000, 7, 50'000};  // 50 ppm over 60 s are 3 ms
  EXPECT_EQ(device_ticks_at(clock, 60'000'000'000), 60'003'000'007u);
  clock.drift_ppb = -50'000;
  EXPECT_EQ(device_ticks_at(clock, 60'000'000'000), 59'997'000'007u);
}

TEST(Clock, DoesNotOverflowInYears) {
  ClockConfig clock{1'000'000'000, 0, 100'000};
  constexpr int64_t kYearNs = 31'536'000'000'000'000;
  EXPECT_EQ(device_ticks_at(clock, 10 * kYearNs), 10u * kYearNs + 10u * kYearNs / 10'000);
}

TEST(Faults, StrikeOnceAtTheirDispatch) {
  FaultScript script({{FaultKind::kHang, 0, "vadd", 2}, {FaultKind::kEcc, 1, "", 1}});
  EXPECT_EQ(script.dispatch(0, "_Z4vaddPf", false), nullptr);
  EXPECT_EQ(script.dispatch(0, "_Z5scalePf", false), nullptr);
  EXPECT_EQ(script.dispatch(2, "_Z4vaddPf", false), nullptr);
  const FaultRule* rule = script.dispatch(0, "_Z4vaddPf", false);
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(rule->kind, FaultKind::kHang);
  EXPECT_EQ(script.dispatch(0, "_Z4vaddPf", false), nullptr);
  EXPECT_EQ(script.dispatch(1, "__amd_rocclr_copyBuffer", true), nullptr);
  rule = script.dispatch(1, "anything", false);
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(rule->kind, FaultKind::kEcc);
}

TEST(Names, AreFoundInTheCodeObjectAndAnewWhenTheMemoryIsUsedAgain) {
  FakeHost host;
  GpuMemory memory(host, 0);
  CodeObject code({"_Z1aPf", "_Z1bPf"});
  KernelNames names(memory);
  EXPECT_EQ(names.find(code.kernel(0)), "_Z1aPf");
  EXPECT_EQ(names.find(code.kernel(1)), "_Z1bPf");
  EXPECT_EQ(names.find(code.kernel(1)), "_Z1bPf");
  code.load({"_Z1cPf", "_Z1bPf"});
  EXPECT_EQ(names.find(code.kernel(0)), "_Z1cPf");
  code.load({"_Z10longer_namePf"});
  EXPECT_EQ(names.find(code.kernel(0)), "_Z10longer_namePf");
}

TEST(Names, AreEmptyWhereThereIsNoCodeObject) {
  FakeHost host;
  GpuMemory memory(host, 0);
  std::vector<uint8_t> nothing(64 * 1024);
  uint64_t object = (reinterpret_cast<uint64_t>(nothing.data()) + 8191) & ~uint64_t{4095};
  host.unmap(object - 4096, 4096);
  KernelNames names(memory);
  EXPECT_EQ(names.find(object + 64), "");
}

TEST(Memory, NamesTheFirstAddressThatIsNotMapped) {
  FakeHost host;
  GpuMemory memory(host, 0);
  host.unmap(0x10000, 0x1000);
  EXPECT_EQ(memory.check(0xe000, 0x2000), std::nullopt);
  EXPECT_EQ(memory.check(0xe123, 0x8000), Fault(0x10000));
  EXPECT_EQ(memory.check(0xffff, 2), Fault(0x10000));
  EXPECT_EQ(memory.check(0x10123, 1), Fault(0x10123));
  EXPECT_EQ(memory.check(0x10123, 0), std::nullopt);
}

TEST(Transfer, FillsWithPatternsOfAnyLength) {
  FakeHost host;
  GpuMemory memory(host, 0);
  for (uint32_t length : {1u, 2u, 3u, 16u, 100u}) {
    Transfer fill;
    fill.kind = Transfer::kFill;
    fill.pattern_bytes = length;
    for (uint32_t i = 0; i < length; ++i) fill.pattern[i] = static_cast<uint8_t>(i + 1);
    std::vector<uint8_t> row(200'001);
    fill.dst = reinterpret_cast<uint64_t>(row.data());
    fill.width = row.size() - 1;
    ASSERT_FALSE(run_transfer(fill, memory));
    for (size_t i = 0; i + 1 < row.size(); ++i) ASSERT_EQ(row[i], i % length + 1) << length;
    EXPECT_EQ(row.back(), 0);
  }
}

TEST(Load, IsTheShareOfTheLastSecondAndCountsOverlapOnce) {
  LoadMeter meter;
  constexpr int64_t kSecond = 1'000'000'000, kNow = 100 * kSecond;
  EXPECT_EQ(meter.read(kNow).busy, 0);
  const auto add = [&](bool copy, int64_t start_ns, int64_t end_ns) {
    meter.begin(copy, start_ns);
    meter.end(copy, start_ns, end_ns);
  };
  add(false, kNow - kSecond / 2, kNow - kSecond / 4);
  add(true, kNow - kSecond / 2, kNow - kSecond / 4);
  EXPECT_NEAR(meter.read(kNow).busy, 0.25, 0.02);
  EXPECT_NEAR(meter.read(kNow).memory_busy, 0.25, 0.02);
  EXPECT_NEAR(meter.read(kNow + 2 * kSecond).busy, 0, 0.001);
  add(false, kNow, kNow + 20 * kSecond);
  EXPECT_NEAR(meter.read(kNow + 20 * kSecond).busy, 1, 0.02);
  EXPECT_EQ(meter.read(kNow).dispatches, 2u);
  EXPECT_EQ(meter.read(kNow).copies, 1u);
}

TEST(LoadMeter, WorkThatIsUnderWayCounts) {
  LoadMeter meter;
  constexpr int64_t kSecond = 1'000'000'000, kNow = 100 * kSecond;
  meter.begin(false, kNow);
  EXPECT_NEAR(meter.read(kNow + kSecond / 2).busy, 0.5, 0.05);
  EXPECT_NEAR(meter.read(kNow + 5 * kSecond).busy, 1, 0.02);
  EXPECT_EQ(meter.read(kNow + 5 * kSecond).memory_busy, 0);
  meter.begin(true, kNow + 5 * kSecond);
  meter.end(false, kNow, kNow + 6 * kSecond);
  EXPECT_NEAR(meter.read(kNow + 9 * kSecond).memory_busy, 1, 0.02);
  meter.end(true, kNow + 5 * kSecond, kNow + 9 * kSecond);
  EXPECT_NEAR(meter.read(kNow + 9 * kSecond).busy, 1, 0.02);
  EXPECT_NEAR(meter.read(kNow + 11 * kSecond).busy, 0, 0.001);
}

TEST(Oracle, SeveralProcessesShareAFile) {
  LogFile log;
  Config config = one_gpu();
  config.log_path = log.path();
  constexpr int kProcesses = 4, kLines = 2000;
  for (int i = 0; i < kProcesses; ++i) {
    if (fork() != 0) continue;
    Notices notices;
    Oracle oracle(config, notices);
    PacketRecord record;
    record.kind = "kernel";
    record.name = "a \"quoted\\ name";
    for (int k = 0; k < kLines; ++k) oracle.packet(record);
    _exit(0);
  }
  for (int i = 0; i < kProcesses; ++i) wait(nullptr);
  auto lines = log.lines();  // throws for an incomplete line
  ASSERT_EQ(lines.size(), static_cast<size_t>(kProcesses * kLines));
  EXPECT_EQ(lines[0]["name"], "a \"quoted\\ name");
}

TEST(Oracle, WithoutAFileToWriteRunsOn) {
  Config config = one_gpu();
  config.log_path = "/nonexistent/log";
  Notices notices;
  ::testing::internal::CaptureStderr();
  Oracle oracle(config, notices);
  EXPECT_FALSE(oracle.enabled());
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("cannot write the log /nonexistent/log"),
            std::string::npos);
}

TEST(Abi, AgreesWithTheHsaHeaders) {
  EXPECT_EQ(offsetof(AmdSignal, value), offsetof(amd_signal_t, value));
  EXPECT_EQ(offsetof(AmdSignal, event_mailbox), offsetof(amd_signal_t, event_mailbox_ptr));
  EXPECT_EQ(offsetof(AmdSignal, event_id), offsetof(amd_signal_t, event_id));
  EXPECT_EQ(offsetof(AmdSignal, start_ts), offsetof(amd_signal_t, start_ts));
  EXPECT_EQ(offsetof(AmdSignal, end_ts), offsetof(amd_signal_t, end_ts));
  EXPECT_EQ(sizeof(AmdQueue), sizeof(amd_queue_t));
  EXPECT_EQ(offsetof(AmdQueue, write_dispatch_id), offsetof(amd_queue_t, write_dispatch_id));
  EXPECT_EQ(offsetof(AmdQueue, read_dispatch_id), offsetof(amd_queue_t, read_dispatch_id));
  EXPECT_EQ(offsetof(AmdQueue, scratch_wave64_lane_bytes),
            offsetof(amd_queue_t, scratch_wave64_lane_byte_size));
  EXPECT_EQ(offsetof(AmdQueue, properties), offsetof(amd_queue_t, queue_properties));
  EXPECT_EQ(offsetof(AmdQueue, inactive_signal), offsetof(amd_queue_t, queue_inactive_signal));
  EXPECT_EQ(kQueueProfiling, static_cast<uint32_t>(AMD_QUEUE_PROPERTIES_ENABLE_PROFILING));
  EXPECT_EQ(kQueueScratchOnce, static_cast<uint32_t>(AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE));
  EXPECT_EQ(sizeof(AqlDispatch), sizeof(hsa_kernel_dispatch_packet_t));
  EXPECT_EQ(offsetof(AqlDispatch, group), offsetof(hsa_kernel_dispatch_packet_t, workgroup_size_x));
  EXPECT_EQ(offsetof(AqlDispatch, grid), offsetof(hsa_kernel_dispatch_packet_t, grid_size_x));
  EXPECT_EQ(offsetof(AqlDispatch, kernel_object),
            offsetof(hsa_kernel_dispatch_packet_t, kernel_object));
  EXPECT_EQ(offsetof(AqlDispatch, kernarg),
            offsetof(hsa_kernel_dispatch_packet_t, kernarg_address));
  EXPECT_EQ(offsetof(AqlBarrier, dep), offsetof(hsa_barrier_and_packet_t, dep_signal));
}

}  // namespace
}  // namespace softgpu::testing
