#include "device/blit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "device/rig.h"

namespace softgpu::testing {
namespace {

// A kernarg segment, written at offsets.
struct Block {
  alignas(32) uint8_t bytes[256] = {};
  template <class T>
  Block& put(size_t offset, T value) {
    std::memcpy(bytes + offset, &value, sizeof value);
    return *this;
  }
  Block& put(size_t offset, const void* value) {
    return put(offset, reinterpret_cast<uint64_t>(value));
  }
};

class BlitTest : public ::testing::Test {
 protected:
  std::optional<Blit> recognise(std::string_view name, const Block& block, uint32_t items = 256) {
    AqlPacket packet = dispatch_packet(0, nullptr, block.bytes);
    packet.dispatch.grid[0] = items;
    return recognise_blit(name, packet.dispatch, memory_);
  }
  bool run(std::string_view name, const Block& block, uint32_t items = 256) {
    auto blit = recognise(name, block, items);
    return blit && blit->transfer && !run_transfer(*blit->transfer, memory_);
  }
  // The expected destination if only this part is written.
  static std::vector<uint32_t> filled(size_t first, size_t end, uint32_t value) {
    std::vector<uint32_t> words(1024);
    for (size_t i = first; i < end; ++i) words[i] = value;
    return words;
  }
  FakeHost host_;
  GpuMemory memory_{host_, 0};
  std::vector<uint32_t> src_ = std::vector<uint32_t>(1024), dst_ = std::vector<uint32_t>(1024);
  void SetUp() override { std::iota(src_.begin(), src_.end(), 1); }
};

TEST_F(BlitTest, UserKernelsAreNone) {
  Block block;
  EXPECT_FALSE(recognise("_Z4vaddPf", block));
  EXPECT_FALSE(recognise("__amd_rocclr_gwsInit", block));
  EXPECT_FALSE(recognise("", block.put(28, 5u)));
}

TEST_F(BlitTest, CopyBufferInBytesOrDwordsWithARest) {
  Block block;
  block.put(0, src_.data()).put(8, dst_.data()).put<uint64_t>(16, 8).put<uint64_t>(24, 4);
  block.put<uint64_t>(32, 41).put(40, 8u);
  ASSERT_TRUE(run("__amd_rocclr_copyBuffer", block));
  EXPECT_EQ(std::memcmp(&dst_[1], &src_[2], 41), 0);
  EXPECT_EQ(recognise("__amd_rocclr_copyBuffer", block)->transfer->bytes(), 41u);
  block.put<uint64_t>(32, 10).put(40, 3u);
  EXPECT_EQ(recognise("__amd_rocclr_copyBuffer", block)->transfer->bytes(), 39u);
  block.put<uint64_t>(32, (5ull << 30) / 4).put(40, 4u);
  EXPECT_EQ(recognise("__amd_rocclr_copyBuffer", block)->transfer->bytes(), 5ull << 30);
}

TEST_F(BlitTest, CopyBufferAlignedCountsElements) {
  Block block;
  block.put(0, src_.data()).put(8, dst_.data()).put<uint64_t>(16, 1).put<uint64_t>(24, 2);
  block.put<uint64_t>(32, 3).put(40, 16u);
  ASSERT_TRUE(run("__amd_rocclr_copyBufferAligned", block));
  EXPECT_EQ(std::memcmp(&dst_[8], &src_[4], 48), 0);
  EXPECT_EQ(dst_[20], 0u);
}

TEST_F(BlitTest, RectCopies) {
  for (uint64_t unit : {1, 4}) {
    std::fill(dst_.begin(), dst_.end(), 0);
    Block block;
    block.put(0, src_.data()).put(8, dst_.data());
    // pitch 128 and 256 bytes, one slice, starts 16 and 32; 8 bytes of 3 rows
    block.put(32, 128 / unit).put(40, 0 / unit).put(48, 16 / unit);
    block.put(64, 256 / unit).put(72, 0 / unit).put(80, 32 / unit);
    block.put(96, 8 / unit).put<uint64_t>(104, 3).put<uint64_t>(112, 1).put(120, unit);
    ASSERT_TRUE(run(
        unit == 1 ? "__amd_rocclr_copyBufferRect" : "__amd_rocclr_copyBufferRectAligned", block));
    std::vector<uint32_t> expected(1024);
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < 2; ++x) expected[y * 64 + 8 + x] = src_[y * 32 + 4 + x];
    }
    EXPECT_EQ(dst_, expected);
  }
}

TEST_F(BlitTest, FillBufferRepeatsItsPattern) {
  Block block;
  alignas(8) uint16_t pattern[2] = {0x1111, 0x2222};
  block.put(8, dst_.data()).put(32, pattern).put(40, 2u).put<uint64_t>(48, 2).put<uint64_t>(56, 5);
  ASSERT_TRUE(run("__amd_rocclr_fillBufferAligned", block));
  EXPECT_EQ(filled(1, 6, 0x22221111), dst_);
}

// The forms of ROCm 6: fewer arguments, and the end instead of a count.
TEST_F(BlitTest, CopyAndFillUpToAnEnd) {
  const auto src = reinterpret_cast<uint64_t>(src_.data());
  const auto dst = reinterpret_cast<uint64_t>(dst_.data());
  Block block;
  block.put(0, src).put(8, dst).put<uint64_t>(16, 41).put(24, 9u).put(28, 16u);
  block.put(32, dst + 32).put(40, 64u);
  ASSERT_TRUE(run("__amd_rocclr_copyBuffer", block));
  EXPECT_EQ(std::memcmp(dst_.data(), src_.data(), 41), 0);
  EXPECT_EQ(recognise("__amd_rocclr_copyBuffer", block)->transfer->bytes(), 41u);
  // The older form, with an origin whose upper half looks like an element size of the newer form.
  Block older;
  older.put(0, src).put(8, dst).put<uint64_t>(24, uint64_t{4} << 32).put<uint64_t>(32, 41);
  older.put(40, 8u);
  EXPECT_EQ(recognise("__amd_rocclr_copyBuffer", older)->transfer->dst, dst + (uint64_t{4} << 32));

  Block fill;
  alignas(8) uint16_t pattern[2] = {0x1111, 0x2222};
  fill.put(0, dst + 8).put(8, pattern).put(16, 2u).put(20, 2u).put(24, dst + 24).put(32, 64u);
  std::fill(dst_.begin(), dst_.end(), 0);
  ASSERT_TRUE(run("__amd_rocclr_fillBufferAligned", fill));
  EXPECT_EQ(filled(2, 6, 0x22221111), dst_);
}

TEST_F(BlitTest, FillBuffer2DKeepsWhatIsBetweenTheRows) {
  Block block;
  uint32_t pattern = 7;
  block.put(16, dst_.data()).put(32, &pattern).put(40, 1u).put<uint64_t>(48, 3);
  block.put<uint64_t>(56, 2).put<uint64_t>(64, 4).put<uint64_t>(72, 16);
  ASSERT_TRUE(run("__amd_rocclr_fillBufferAligned2D", block));
  std::vector<uint32_t> expected(1024);
  for (int y = 0; y < 4; ++y) expected[3 + y * 16] = expected[4 + y * 16] = 7;
  EXPECT_EQ(dst_, expected);
}

TEST_F(BlitTest, RuntimeKernelsWithoutNames) {
  uint64_t src = reinterpret_cast<uint64_t>(src_.data()),
           dst = reinterpret_cast<uint64_t>(dst_.data());
  Block aligned;
  for (int phase = 0; phase < 4; ++phase) {
    aligned.put(16 * phase, src + phase * 64).put(16 * phase + 8, dst + phase * 64);
  }
  aligned.put(64, src + 400).put(72, dst + 400).put(80, 4096u);
  ASSERT_TRUE(run("", aligned, 4096));
  EXPECT_EQ(std::memcmp(dst_.data(), src_.data(), 400), 0);
  EXPECT_EQ(dst_[100], 0u);

  Block misaligned;
  misaligned.put(0, src + 1).put(8, dst).put(16, src + 65).put(24, dst + 64);
  misaligned.put(32, src + 101).put(40, dst + 100).put(48, 4096u);
  ASSERT_TRUE(run("", misaligned, 4096));
  EXPECT_EQ(std::memcmp(dst_.data(), reinterpret_cast<uint8_t*>(src_.data()) + 1, 100), 0);

  Block fill;
  fill.put(0, dst).put(8, dst + 64).put(16, dst + 80).put(24, 99u).put(28, 4096u);
  ASSERT_TRUE(run("", fill, 4096));
  EXPECT_EQ(dst_[19], 99u);
  EXPECT_NE(dst_[20], 99u);
}

TEST_F(BlitTest, StreamWaitsAndWrites) {
  Block wait;
  alignas(8) uint64_t flag = 4;
  wait.put(8, &flag).put<uint64_t>(16, 5).put<uint64_t>(24, 0).put<uint64_t>(32, ~0ull);
  auto blit = recognise("__amd_rocclr_streamOpsWait", wait);
  ASSERT_TRUE(blit && blit->stream_op);
  EXPECT_FALSE(stream_op_ready(*blit->stream_op));
  flag = 5;
  EXPECT_TRUE(stream_op_ready(*blit->stream_op));
  Block write;
  write.put(0, &flag).put<uint64_t>(16, 0x1'0000'0009);
  blit = recognise("__amd_rocclr_streamOpsWrite", write);
  ASSERT_TRUE(blit && blit->stream_op);
  EXPECT_TRUE(stream_op_ready(*blit->stream_op));
  run_stream_op(*blit->stream_op);
  EXPECT_EQ(flag, 9u);
}

}  // namespace
}  // namespace softgpu::testing
