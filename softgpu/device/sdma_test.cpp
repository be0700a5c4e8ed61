#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "device/rig.h"

namespace softgpu::testing {
namespace {

constexpr uint32_t kAdd64 = 47u << 25 | 10;
constexpr uint32_t kPollEqual = 1u << 31 | 3u << 28 | 8;

class Sdma : public QueueTest<SdmaRing> {
 protected:
  void SetUp() override {
    start(3, one_gpu());
    done_.value = 1;
  }
  void copy(const void* dst, const void* src, uint32_t bytes) {
    ring_->put({1, bytes - 1, 0, low(src), high(src), low(dst), high(dst)});
  }
  void complete(AmdSignal& signal) {
    ring_->put({kAdd64, low(&signal.value), high(&signal.value), ~0u, ~0u, 0, 0, 0});
  }
  bool run() {
    complete(done_);
    ring_->ring();
    return wait_for_value(done_, 0);
  }
};

TEST_F(Sdma, LinearCopy) {
  std::vector<uint8_t> src(1000), dst(1000);
  std::iota(src.begin(), src.end(), 0);
  copy(dst.data(), src.data(), 1000);
  ASSERT_TRUE(run());
  EXPECT_EQ(src, dst);
  EXPECT_EQ(device_->load(0).copies, 1u);
  EXPECT_TRUE(wait_until([&] { return ring_->read_bytes() == ring_->written_bytes(); }));
}

TEST_F(Sdma, RectCopyAgreesWithALoop) {
  constexpr uint32_t kWidth = 64, kHeight = 32, kDepth = 4;  // of both, in elements
  std::vector<uint32_t> src(kWidth * kHeight * kDepth), dst(src.size()), expected(src.size());
  std::iota(src.begin(), src.end(), 1);
  auto at = [](uint32_t x, uint32_t y, uint32_t z) { return (z * kHeight + y) * kWidth + x; };
  for (uint32_t z = 0; z < 2; ++z) {
    for (uint32_t y = 0; y < 7; ++y) {
      for (uint32_t x = 0; x < 5; ++x) expected[at(9 + x, 8 + y, 1 + z)] = src[at(3 + x, 2 + y, z)];
    }
  }
  auto pitch = (kWidth - 1) << 13;
  ring_->put({1 | 4 << 8 | 2u << 29, low(src.data()), high(src.data()), 3 | 2 << 16, 0 | pitch,
              kWidth * kHeight - 1, low(dst.data()), high(dst.data()), 9 | 8 << 16, 1 | pitch,
              kWidth * kHeight - 1, 4 | 6 << 16, 1});
  ASSERT_TRUE(run());
  EXPECT_EQ(dst, expected);
  auto ops = log_.lines("op");
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(ops[0]["kind"], "copy_rect");
  EXPECT_EQ(ops[0]["bytes"], 5 * 7 * 2 * 4);
}

TEST_F(Sdma, FillCountsBytesLessOneOrLessADword) {
  std::vector<uint32_t> a(1000, 1), b(1000, 1);
  ring_->put({11 | 2u << 30, low(a.data()), high(a.data()), 0xabcd1234, 999 * 4 - 1});
  ring_->put({11 | 2u << 30, low(b.data()), high(b.data()), 0xabcd1234, 999 * 4 - 4});
  ASSERT_TRUE(run());
  std::vector<uint32_t> expected(1000, 0xabcd1234);
  expected.back() = 1;
  EXPECT_EQ(a, expected);
  EXPECT_EQ(b, expected);
}

TEST_F(Sdma, FenceTrapWriteTimestampAndNop) {
  uint32_t fence = 0, data[3] = {};
  alignas(8) uint64_t time = 0;
  ring_->put({5, low(&fence), high(&fence), 99});
  ring_->put({6, 12});
  ring_->put({2, low(data), high(data), 1, 7, 8});
  ring_->put({13, low(&time), high(&time)});
  ring_->put({0 | 3u << 16, 1, 1, 1});  // its data looks like copies
  ring_->put({17, 0, 0, 0, 0});
  uint64_t before = device_ticks(one_gpu().gpus[0].clock);
  ASSERT_TRUE(run());
  EXPECT_EQ(fence, 99u);
  EXPECT_EQ(host_.events(12), 1);
  EXPECT_EQ(data[1], 8u);
  EXPECT_EQ(data[2], 0u);
  EXPECT_GE(time, before);
  EXPECT_LE(time, device_ticks(one_gpu().gpus[0].clock));
}

TEST_F(Sdma, PollHoldsUpTheQueueUntilMemoryChanges) {
  std::atomic<uint32_t> flag{1};
  ring_->put({kPollEqual, low(&flag), high(&flag), 4, 0xf, 0});
  complete(done_);
  ring_->ring();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(value(done_), 1);
  flag = 0xf4;
  EXPECT_TRUE(wait_for_value(done_, 0));
}

TEST_F(Sdma, PollComparesInEveryWay) {
  struct {
    uint32_t function, value;
  } const kTrue[] = {{0, 0}, {1, 4}, {2, 5}, {3, 5}, {4, 6}, {5, 5}, {6, 6}};
  std::vector<uint32_t> values;
  for (const auto& test : kTrue) values.push_back(test.value);
  for (size_t i = 0; i < std::size(kTrue); ++i) {
    ring_->put(
        {1u << 31 | kTrue[i].function << 28 | 8, low(&values[i]), high(&values[i]), 5, ~0u, 0});
  }
  EXPECT_TRUE(run());
}

TEST_F(Sdma, PacketsWrapRoundTheRing) {
  SdmaRing small(*device_, 4, 0, 64);
  std::vector<uint8_t> src(100, 3), dst(100);
  AmdSignal done;
  for (int i = 0; i < 20; ++i) {  // 15 dwords each: always at another offset
    std::fill(dst.begin(), dst.end(), 0);
    done.value = 1;
    small.put({1, 99, 0, low(src.data()), high(src.data()), low(dst.data()), high(dst.data())});
    small.put({kAdd64, low(&done.value), high(&done.value), ~0u, ~0u, 0, 0, 0});
    small.ring();
    ASSERT_TRUE(wait_for_value(done, 0));
    ASSERT_EQ(src, dst);
  }
  device_->remove_queue(4);
}

TEST_F(Sdma, CopyOfManyPacketsIsOneOp) {
  std::vector<uint8_t> src(3 << 20, 5), dst(src.size());
  AmdSignal second{.value = 1};
  for (size_t at = 0; at < src.size(); at += 1 << 20) copy(&dst[at], &src[at], 1 << 20);
  complete(done_);
  copy(dst.data(), src.data(), 10);
  complete(second);
  ring_->ring();
  ASSERT_TRUE(wait_for_value(second, 0));
  device_->remove_queue(3);  // flushes the last packet's line to the log
  EXPECT_EQ(src, dst);
  auto ops = log_.lines("op"), packets = log_.lines("packet");
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(packets.size(), 6u);
  EXPECT_EQ(ops[0]["bytes"], 3 << 20);
  EXPECT_EQ(ops[0]["packets"], 3);
  EXPECT_EQ(ops[0]["start_ns"], packets[0]["start_ns"]);
  EXPECT_EQ(ops[0]["end_ns"], packets[2]["end_ns"]);
  EXPECT_EQ(ops[0]["signal"], packets[3]["signal"]);
  EXPECT_EQ(ops[1]["bytes"], 10);
  // 25 bytes/ns plus 1 us.
  double ns =
      static_cast<double>(ops[0]["end_ns"].get<int64_t>() - ops[0]["start_ns"].get<int64_t>());
  EXPECT_NEAR(ns, (3 << 20) / 25.0 + 1000, 5);
}

TEST_F(Sdma, TimestampsRoundACopyAreItsTimes) {
  std::vector<uint8_t> src(1 << 20), dst(src.size());
  alignas(8) uint64_t times[2] = {};
  ring_->put({13, low(&times[0]), high(&times[0])});
  copy(dst.data(), src.data(), 1 << 20);
  ring_->put({13, low(&times[1]), high(&times[1])});
  ASSERT_TRUE(run());
  auto ops = log_.lines("op");
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(ops[0]["start_ticks"], times[0]);
  EXPECT_EQ(ops[0]["end_ticks"], times[1]);
}

// The size must not be truncated to 32 bits. The memory is a file of 4 MiB, mapped repeatedly.
TEST_F(Sdma, CopyOfMoreThan4GiBKeepsItsSize) {
#ifdef SONDE_TSAN
  GTEST_SKIP() << "minutes under ThreadSanitizer";
#endif
  constexpr uint64_t kPiece = 4 << 20, kPieces = 1025, kChunk = kPiece - 32;
  int file = memfd_create("softgpu-test", 0);
  ASSERT_EQ(ftruncate(file, kPiece), 0);
  auto* start = static_cast<uint8_t*>(mmap(nullptr, kPiece * kPieces, PROT_NONE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  for (uint64_t i = 0; i < kPieces; ++i) {
    ASSERT_NE(
        mmap(start + i * kPiece, kPiece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0),
        MAP_FAILED);
  }
  uint64_t total = 0;
  for (; total + kChunk <= kPiece * kPieces; total += kChunk) {
    copy(start + total, start + total, kChunk);
  }
  complete(done_);
  ring_->ring();
  EXPECT_TRUE(wait_until([&] { return value(done_) == 0; }) ||
              wait_until([&] { return value(done_) == 0; }));
  auto ops = log_.lines("op");
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_GT(total, 1ull << 32);
  EXPECT_EQ(ops[0]["bytes"], total);
  device_->remove_queue(3);
  munmap(start, kPiece * kPieces);
  close(file);
}

TEST_F(Sdma, UnmappedAddressIsAPageFaultAtItsFirstPage) {
  std::vector<uint8_t> src(16384);
  auto first = (reinterpret_cast<uint64_t>(src.data()) + 8191) & ~uint64_t{4095};
  host_.unmap(first, 4096);
  std::vector<uint8_t> dst(16384);
  copy(dst.data(), src.data(), 16384);
  complete(done_);
  ring_->ring();
  ASSERT_TRUE(wait_until([&] { return host_.faults().size() == 1; }));
  EXPECT_EQ(host_.faults()[0].address, first);
  EXPECT_EQ(value(done_), 1);
}

TEST_F(Sdma, UnknownPacketStopsTheQueueAndSaysSo) {
  ::testing::internal::CaptureStderr();
  ring_->put({0x3f, 0, 0, 0});
  complete(done_);
  ring_->ring();
  EXPECT_TRUE(wait_until([&] { return log_.lines("packet").size() == 1; }));
  device_->remove_queue(3);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "softgpu: SDMA packet 63/0 is not emulated: the queue stops here\n");
  EXPECT_EQ(value(done_), 1);
}

}  // namespace
}  // namespace softgpu::testing
