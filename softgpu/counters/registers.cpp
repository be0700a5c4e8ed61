#include "counters/registers.h"

namespace softgpu {
namespace {

std::vector<uint32_t> in_a_row(uint32_t first, uint32_t count, uint32_t step) {
  std::vector<uint32_t> made;
  for (uint32_t i = 0; i < count; ++i) made.push_back(first + i * step);
  return made;
}

}  // namespace

const std::vector<PerfBlock>& perf_blocks() {
  // Never destroyed: the GPU outlives main.
  static const auto& blocks = *new std::vector<PerfBlock>{
      {CounterBlock::kSq, 9, in_a_row(0xd9c0, 8, 1), in_a_row(0xd1c0, 8, 2)},
      {CounterBlock::kSpi,
       8,
       {0xd980, 0xd981, 0xd982, 0xd983, 0xd988, 0xd989},
       in_a_row(0xd181, 6, 2)},
      {CounterBlock::kTa, 8, {0xdac0, 0xdac2}, {0xd2c0, 0xd2c2}},
      {CounterBlock::kTd, 8, {0xdb00, 0xdb02}, {0xd300, 0xd302}},
      {CounterBlock::kTcp, 10, {0xdb40, 0xdb42, 0xdb44, 0xdb45}, in_a_row(0xd340, 4, 2)},
      {CounterBlock::kTcc, 10, {0xdb80, 0xdb82, 0xdb84, 0xdb85}, in_a_row(0xd380, 4, 2)},
      {CounterBlock::kGrbm, 6, {0xd840, 0xd841}, {0xd040, 0xd043}},
      {CounterBlock::kCpc, 10, {0xd809, 0xd803}, {0xd006, 0xd004}},
      {CounterBlock::kCpf, 10, {0xd807, 0xd805}, {0xd00a, 0xd008}},
  };
  return blocks;
}

}  // namespace softgpu
