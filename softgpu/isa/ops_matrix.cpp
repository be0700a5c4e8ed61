// Matrix products (MFMA): D = A x B + C for one or several blocks, spread over the lanes and
// registers of a wave. All lanes take part, regardless of EXEC. Products of a lane's elements are
// summed in f64 and added to the accumulator with a single rounding, in increasing order of k.
#include "isa/lanes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

// How the elements of A and B are stored in a lane's registers: `kCount` of them, consecutively.
struct Single {
  using Sum = f32;
  static constexpr int kCount = 1;
  static f64 element(const u32 (*rows)[kLanes], int lane, int) {
    return f64{as<f32>(rows[0][lane])};
  }
};
struct Halves {
  using Sum = f32;
  static constexpr int kCount = 4;
  static f64 element(const u32 (*rows)[kLanes], int lane, int n) {
    return f64{f32(Half(static_cast<u16>(rows[n / 2][lane] >> 16 * (n & 1))))};
  }
};
template <int count>
struct Brain {  // bf16: the upper half of an f32
  using Sum = f32;
  static constexpr int kCount = count;
  static f64 element(const u32 (*rows)[kLanes], int lane, int n) {
    return f64{as<f32>(rows[n / 2][lane] >> 16 * (n & 1) << 16)};
  }
};
struct Bytes {
  using Sum = i32;
  static constexpr int kCount = 4;
  static i32 element(const u32 (*rows)[kLanes], int lane, int n) {
    return static_cast<i8>(rows[0][lane] >> 8 * n);
  }
};

i32 grown(i32 sum, i32 by) {
  return static_cast<i32>(static_cast<u32>(sum) + static_cast<u32>(by));
}
f32 grown(f32 sum, f64 by) { return static_cast<f32>(f64{sum} + by); }

// The lane that supplies B's element when blgp permutes groups of lanes.
int moved_lane(int lane, unsigned pattern) {
  switch (pattern) {
    case 1:
      return lane & 31;
    case 2:
      return lane | 32;
    case 3:
      return (lane + 16) & 63;
    case 0:
      return lane;
  }
  return static_cast<int>((pattern - 4) * 16) + (lane & 15);
}

// The register and lane of element (row, column) of a block of C and D: rows come in groups of
// four.
template <int size>
void place_of(int block, int row, int column, int& reg, int& lane) {
  if (size == 4) {
    reg = row;
    lane = block * 4 + column;
  } else {
    constexpr int kLaneGroups = 64 / size;  // each has four rows in turn
    reg = block * size / kLaneGroups + row / (4 * kLaneGroups) * 4 + row % 4;
    lane = row / 4 % kLaneGroups * size + column;
  }
}

template <class Of, int size, int blocks>
void product(Wave& w, const Op& op) {
  constexpr int kGroups = 64 / (size * blocks);  // of lanes, each with other values of k
  constexpr int kRegisters = size * size * blocks / 64;
  using Sum = typename Of::Sum;
  using Product = decltype(Of::element(w.v, 0, 0));
  alignas(64) Product a[Of::kCount][kLanes], b[Of::kCount][kLanes];
  for (int n = 0; n < Of::kCount; n++) {
    for (int l = 0; l < kLanes; l++) {
      a[n][l] = Of::element(&w.v[op.src[0] - kFirstVgpr], l, n);
      b[n][l] = Of::element(&w.v[op.src[1] - kFirstVgpr], moved_lane(l, op.mods.blgp), n);
    }
  }
  alignas(64) Sum out[kRegisters][kLanes];
  for (int block = 0; block < blocks; block++) {
    const int spread = 1 << op.mods.cbsz;  // number of blocks that use the same A
    const int a_block = (block & ~(spread - 1)) + (op.mods.abid & (spread - 1));
    for (int row = 0; row < size; row++) {
      int reg = 0, lane = 0;  // of column 0; the other columns are in the following lanes
      place_of<size>(block, row, 0, reg, lane);
      Sum* const sums = out[reg] + lane;
      for (int column = 0; column < size; column++)
        sums[column] = op.src[2] >= kFirstVgpr
                           ? as<Sum>(w.v[(op.src[2] - kFirstVgpr + reg) & 511][lane + column])
                           : as<Sum>(scalar(w, op, op.src[2]));
      for (int group = 0; group < kGroups; group++) {
        const int a_lane = (a_block * kGroups + group) * size + row;
        const int b_lane = (block * kGroups + group) * size;
        Product products[size] = {};
        for (int n = 0; n < Of::kCount; n++) {
          const Product factor = a[n][a_lane];
          for (int column = 0; column < size; column++)
            products[column] += factor * b[n][b_lane + column];
        }
        for (int column = 0; column < size; column++)
          sums[column] = grown(sums[column], products[column]);
      }
    }
  }
  for (unsigned reg = 0; reg < kRegisters; reg++)
    store_row(w, op.dst + reg, reinterpret_cast<u32*>(out[reg]), kAll);
}

f64 wide_at(const Wave& w, unsigned row, int lane) {
  return as<f64>(w.v[row & 511][lane] | u64{w.v[(row + 1) & 511][lane]} << 32);
}

// f64: blgp negates A, B and C. Rows are not grouped in fours.
template <int size, int blocks>
void product_wide(Wave& w, const Op& op) {
  constexpr int kDepth = 4, kRegisters = size * size * blocks / 64;
  alignas(64) f64 out[kRegisters][kLanes];
  const f64 sign_a = op.mods.blgp & 1 ? -1 : 1, sign_b = op.mods.blgp & 2 ? -1 : 1,
            sign_c = op.mods.blgp & 4 ? -1 : 1;
  for (unsigned reg = 0; reg < kRegisters; reg++) {
    for (int lane = 0; lane < kLanes; lane++) {
      const int column = lane % size, block = blocks > 1 ? lane / size % blocks : 0;
      const int row = blocks > 1 ? lane / 16 : static_cast<int>(reg) * 4 + lane / 16;
      f64 sum = op.src[2] >= kFirstVgpr ? wide_at(w, op.src[2] - kFirstVgpr + 2 * reg, lane)
                                        : as<f64>(scalar64(w, op, op.src[2], WideKind::kFloat));
      sum *= sign_c;
      for (int k = 0; k < kDepth; k++) {
        const f64 x = wide_at(w, op.src[0] - unsigned{kFirstVgpr}, 16 * k + size * block + row);
        const f64 y = wide_at(w, op.src[1] - unsigned{kFirstVgpr}, 16 * k + size * block + column);
        sum = __builtin_fma(sign_a * x, sign_b * y, sum);
      }
      out[reg][lane] = sum;
    }
  }
  for (unsigned reg = 0; reg < kRegisters; reg++) {
    for (int lane = 0; lane < kLanes; lane++) {
      w.v[(op.dst + 2 * reg) & 511][lane] = static_cast<u32>(as<u64>(out[reg][lane]));
      w.v[(op.dst + 2 * reg + 1) & 511][lane] = static_cast<u32>(as<u64>(out[reg][lane]) >> 32);
    }
  }
}

}  // namespace

void add_matrix(Table& t) {
  add(t, "v_mfma_f32_32x32x1f32", product<Single, 32, 2>);
  add(t, "v_mfma_f32_16x16x1f32", product<Single, 16, 4>);
  add(t, "v_mfma_f32_4x4x1f32", product<Single, 4, 16>);
  add(t, "v_mfma_f32_32x32x2f32", product<Single, 32, 1>);
  add(t, "v_mfma_f32_16x16x4f32", product<Single, 16, 1>);
  add(t, "v_mfma_f32_32x32x4f16", product<Halves, 32, 2>);
  add(t, "v_mfma_f32_16x16x4f16", product<Halves, 16, 4>);
  add(t, "v_mfma_f32_4x4x4f16", product<Halves, 4, 16>);
  add(t, "v_mfma_f32_32x32x8f16", product<Halves, 32, 1>);
  add(t, "v_mfma_f32_16x16x16f16", product<Halves, 16, 1>);
  add(t, "v_mfma_f32_32x32x4bf16_1k", product<Brain<4>, 32, 2>);
  add(t, "v_mfma_f32_16x16x4bf16_1k", product<Brain<4>, 16, 4>);
  add(t, "v_mfma_f32_4x4x4bf16_1k", product<Brain<4>, 4, 16>);
  add(t, "v_mfma_f32_32x32x8bf16_1k", product<Brain<4>, 32, 1>);
  add(t, "v_mfma_f32_16x16x16bf16_1k", product<Brain<4>, 16, 1>);
  add(t, "v_mfma_f32_32x32x2bf16", product<Brain<2>, 32, 2>);
  add(t, "v_mfma_f32_16x16x2bf16", product<Brain<2>, 16, 4>);
  add(t, "v_mfma_f32_4x4x2bf16", product<Brain<2>, 4, 16>);
  add(t, "v_mfma_f32_32x32x4bf16", product<Brain<2>, 32, 1>);
  add(t, "v_mfma_f32_16x16x8bf16", product<Brain<2>, 16, 1>);
  add(t, "v_mfma_i32_32x32x4i8", product<Bytes, 32, 2>);
  add(t, "v_mfma_i32_16x16x4i8", product<Bytes, 16, 4>);
  add(t, "v_mfma_i32_4x4x4i8", product<Bytes, 4, 16>);
  add(t, "v_mfma_i32_32x32x8i8", product<Bytes, 32, 1>);
  add(t, "v_mfma_i32_16x16x16i8", product<Bytes, 16, 1>);
  add(t, "v_mfma_f64_16x16x4f64", product_wide<16, 1>);
  add(t, "v_mfma_f64_4x4x4f64", product_wide<4, 4>);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
