// The generated host programs: operations written out from their definitions, lock-step execution
// under masks, and the comparison with what the executor computed.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "common.h"
#include "compute/executor.h"
#include "machine.h"

#define EACH(M, C)                 \
  for (int l = 0; l < kLanes; l++) \
    if (M[l] && C[l])

template <class T, size_t N>
bool any(const std::array<T, N>& mask) {
  return std::find(mask.begin(), mask.end(), true) != mask.end();
}

template <class F>
F f_min(F a, F b) {
  return a != a                               ? b
         : b != b                             ? a
         : std::signbit(a) != std::signbit(b) ? (std::signbit(a) ? a : b)
         : a < b                              ? a
                                              : b;
}
template <class F>
F f_max(F a, F b) {
  return a != a                               ? b
         : b != b                             ? a
         : std::signbit(a) != std::signbit(b) ? (std::signbit(a) ? b : a)
         : a > b                              ? a
                                              : b;
}
// For float and double.
constexpr auto f_sqrt = [](auto a) { return std::sqrt(a); };
constexpr auto f_floor = [](auto a) { return std::floor(a); };
constexpr auto f_rint = [](auto a) { return std::nearbyint(a); };
constexpr auto f_abs = [](auto a) { return std::fabs(a); };
constexpr auto f_fma = [](auto a, auto b, auto c) { return std::fma(a, b, c); };
constexpr auto f_ldexp = [](auto a, int n) { return std::ldexp(a, n); };

inline uint32_t i_popc(uint32_t a) {
  uint32_t n = 0;
  for (; a; a &= a - 1) n++;
  return n;
}
inline uint32_t i_clz(uint32_t a) {
  uint32_t n = 0;
  for (; n < 32 && !(a >> (31 - n) & 1); n++)
    ;
  return n;
}
inline uint32_t i_ffs(uint32_t a) {
  for (uint32_t n = 0; n < 32; n++)
    if (a >> n & 1) return n + 1;
  return 0;
}
inline uint32_t i_brev(uint32_t a) {
  uint32_t r = 0;
  for (int n = 0; n < 32; n++) r |= (a >> n & 1) << (31 - n);
  return r;
}
inline uint32_t i_mulhi(uint32_t a, uint32_t b) {
  return uint32_t(uint64_t(a) * b / 4294967296ull);
}
inline uint32_t i_mul24(uint32_t a, uint32_t b) {
  return uint32_t(uint64_t(a % 16777216) * (b % 16777216));
}
inline uint32_t i_sad(uint32_t a, uint32_t b, uint32_t c) {
  for (int n = 0; n < 32; n += 8) c += uint32_t(std::abs(int(a >> n & 255) - int(b >> n & 255)));
  return c;
}
inline uint32_t i_bfe(uint32_t a, uint32_t b, uint32_t c) {
  return uint32_t((uint64_t(a) >> b % 32) % (1ull << c));
}

inline uint32_t byte_at(uint32_t a, uint32_t n) { return a >> 8 * n & 255; }
inline uint32_t i_perm(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t made = 0;
  for (uint32_t n = 0; n < 4; n++) {
    const uint32_t s = byte_at(c, n), from = s < 4 || s == 8 || s == 9 ? b : a;
    uint32_t byte = s < 8 ? byte_at(from, s % 4) : 0;
    if (s >= 8 && s < 12) byte = from >> (s % 2 ? 31 : 15) & 1 ? 255 : 0;
    if (s > 12) byte = 255;
    made |= byte << 8 * n;
  }
  return made;
}
inline uint32_t i_lerp(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t made = 0;
  for (uint32_t n = 0; n < 4; n++)
    made |= (byte_at(a, n) + byte_at(b, n) + byte_at(c, n) % 2) / 2 << 8 * n;
  return made;
}
inline uint32_t i_msad(uint32_t a, uint32_t b, uint32_t c) {
  for (uint32_t n = 0; n < 4; n++)
    if (byte_at(b, n)) c += uint32_t(std::abs(int(byte_at(a, n)) - int(byte_at(b, n))));
  return c;
}
inline uint32_t i_alignbyte(uint32_t a, uint32_t b, uint32_t c) {
  return uint32_t(((uint64_t(a) << 32) + b) >> c % 4 * 8);
}
// Sums of products of parts of both words, with wrap-around.
inline int64_t part(uint32_t a, int bits, int n, bool is_signed) {
  const int64_t value = a >> bits * n & ((1u << bits) - 1);
  return is_signed && value >= 1 << (bits - 1) ? value - (1 << bits) : value;
}
template <int bits, bool is_signed>
uint32_t dot(uint32_t a, uint32_t b, uint32_t c) {
  int64_t sum = c;
  for (int n = 0; n < 32 / bits; n++)
    sum += part(a, bits, n, is_signed) * part(b, bits, n, is_signed);
  return uint32_t(sum);
}
inline uint32_t i_sdot2(uint32_t a, uint32_t b, uint32_t c) { return dot<16, true>(a, b, c); }
inline uint32_t i_udot2(uint32_t a, uint32_t b, uint32_t c) { return dot<16, false>(a, b, c); }
inline uint32_t i_sdot4(uint32_t a, uint32_t b, uint32_t c) { return dot<8, true>(a, b, c); }
inline uint32_t i_udot4(uint32_t a, uint32_t b, uint32_t c) { return dot<8, false>(a, b, c); }
inline uint32_t i_sdot8(uint32_t a, uint32_t b, uint32_t c) { return dot<4, true>(a, b, c); }
inline uint32_t i_udot8(uint32_t a, uint32_t b, uint32_t c) { return dot<4, false>(a, b, c); }

template <class F>
uint32_t two_of(uint32_t a, uint32_t b, F f) {
  return uint32_t(f(a & 0xffff, b & 0xffff) & 0xffff) | uint32_t(f(a >> 16, b >> 16) & 0xffff)
                                                            << 16;
}
#define PAIR(NAME, RESULT)                                                          \
  inline uint32_t NAME(uint32_t x, uint32_t y) {                                    \
    return two_of(x, y, [](uint32_t a, uint32_t b) -> uint32_t { return RESULT; }); \
  }
PAIR(p_add, a + b)
PAIR(p_sub, a - b)
PAIR(p_mul, a* b)
PAIR(p_min, int16_t(a) < int16_t(b) ? a : b)
PAIR(p_max, a > b ? a : b)
PAIR(p_shl, a << b % 16)
PAIR(p_asr, uint32_t(int16_t(a) >> b % 16))

inline double half_value(uint32_t h) {
  const int exponent = int(h >> 10 & 31), mantissa = int(h & 1023);
  const double size = exponent == 31  ? (mantissa ? NAN : INFINITY)
                      : exponent == 0 ? std::ldexp(mantissa, -24)
                                      : std::ldexp(1024 + mantissa, exponent - 25);
  return h >> 15 & 1 ? -size : size;
}
inline uint32_t half_of(double x) {
  if (x != x) return 0x7e00;
  const uint32_t sign = std::signbit(x) ? 0x8000 : 0;
  const double size = std::fabs(x);
  if (size >= 65520) return sign | 0x7c00;
  const int exponent = size < 0x1p-14 ? -14 : std::ilogb(size);
  const auto units = uint32_t(std::nearbyint(std::ldexp(size, 10 - exponent)));
  return sign | (uint32_t(exponent + 14) * 1024 + units);  // 1024 units carry into the exponent
}
PAIR(h_add, half_of(half_value(a) + half_value(b)))
PAIR(h_sub, half_of(half_value(a) - half_value(b)))
PAIR(h_mul, half_of(half_value(a) * half_value(b)))
PAIR(h_min, half_of(half_value(a) < half_value(b) ? half_value(a) : half_value(b)))
inline uint32_t h_mix(uint32_t x, uint32_t y) {
  const float made = std::fma(float(half_value(x & 0xffff)), float(half_value(y >> 16)),
                              float(half_value(y & 0xffff)));
  return uint32_t(bits_of(made));
}

inline uint32_t& low(uint64_t* at, int i) { return *reinterpret_cast<uint32_t*>(at + i); }
inline void atomic_add(uint64_t* at, int i, uint32_t v) { low(at, i) += v; }
inline void atomic_max(uint64_t* at, int i, uint32_t v) {
  low(at, 16 + i) = std::max(low(at, 16 + i), v);
}
inline void atomic_or(uint64_t* at, int i, uint32_t v) { low(at, 32 + i) |= v; }
inline void atomic_xor(uint64_t* at, int i, uint32_t v) { low(at, 48 + i) ^= v; }
inline void atomic_min(uint64_t* at, int i, uint32_t v) {
  low(at, 64 + i) = std::min(low(at, 64 + i), v);
}
inline void atomic_addf(uint64_t* at, int i, uint32_t v) {
  float f;
  memcpy(&f, at + 80 + i, 4);
  f += float(v % 16);
  memcpy(at + 80 + i, &f, 4);
}
inline void atomic_add64(uint64_t* at, int i, uint32_t v) { at[96 + i] += v * 3000000000ull; }
inline void atomic_inc(uint64_t* at, int i, uint32_t) {
  uint32_t& v = low(at, 112 + i);
  v = v >= 1000u + uint32_t(i) ? 0 : v + 1;
}

// From lane `from` of l's wave; 0 if that lane is inactive.
template <class T, size_t N>
T from_lane(const std::array<T, N>& v, const std::array<bool, N>& on, int from, int l) {
  size_t at = size_t(l / 64 * 64 + from);
  return at < N && on[at] ? v[at] : T(0);
}
#define LANE(NAME)             \
  template <class T, size_t N> \
  auto lane_##NAME(const std::array<T, N>& v, const std::array<bool, N>& on, int how, int l)
LANE(shfl) { return from_lane(v, on, how, l); }
LANE(xor) { return from_lane(v, on, (l % 64) ^ how, l); }
LANE(up) { return from_lane(v, on, l % 64 < how ? l % 64 : l % 64 - how, l); }
LANE(down) { return from_lane(v, on, l % 64 + how > 63 ? l % 64 : l % 64 + how, l); }
LANE(ballot) {
  uint64_t mask = 0;
  for (int i = 0; i < 64; i++) mask |= uint64_t(from_lane(v, on, i, l)) << i;
  return how ? 0 : mask;
}
LANE(any) { return lane_ballot(v, on, how, l) != 0; }
LANE(all) {
  for (size_t i = size_t(l / 64 * 64); i < std::min(N, size_t(l / 64 * 64 + 64)); i++)
    if (on[i] && !v[i]) return how != 0;
  return true;
}
LANE(first) {
  for (int i = 0; i < 63; i++)
    if (size_t(l / 64 * 64 + i) < N && on[size_t(l / 64 * 64 + i)]) return from_lane(v, on, i, l);
  return from_lane(v, on, 63 + how, l);
}
LANE(swizzle) {
  int lane = l % 64;
  if (how & 0x8000) return from_lane(v, on, lane / 4 * 4 + (how >> lane % 4 * 2 & 3), l);
  return from_lane(
      v, on, lane / 32 * 32 + (((lane % 32 & how % 32) | how / 32 % 32) ^ how / 1024 % 32), l);
}
LANE(dpp) {
  int lane = l % 64;
  int row = lane / 16 * 16;
  int at = lane % 16;
  int from = how == 0x101   ? (at < 15 ? lane + 1 : -1)
             : how == 0x112 ? (at > 1 ? lane - 2 : -1)
             : how == 0x121 ? row + (at + 15) % 16
             : how == 0x140 ? row + 15 - at
             : how == 0x141 ? row + at / 8 * 8 + 7 - at % 8
             : how == 0x142 ? row - 1
             : how == 0x143 ? (lane > 31 ? 31 : -1)
                            : lane / 4 * 4 + (how >> lane % 4 * 2 & 3);
  size_t index = size_t(l / 64 * 64 + from);
  return from >= 0 && index < N && on[index] ? v[index] : T(99);
}

// Matrix products of a wave, written out: D = A x B + C in blocks of `size` rows and columns.
// Elements are made from words as in the kernels.
enum class MatrixKind { kFloat, kBytes, kDouble };
struct MatrixShape {
  int size, depth, blocks;
  MatrixKind kind;
};
inline int64_t matrix_element(uint32_t word, MatrixKind kind, int n) {
  if (kind == MatrixKind::kBytes) return int8_t(word >> 8 * n);
  return int64_t(word >> 4 * n & 15) - 8;
}
// Lane and element of A's (row, k) and B's (k, row).
inline int64_t matrix_factor(const uint32_t* words, const MatrixShape& s, int block, int row,
                             int k) {
  if (s.kind == MatrixKind::kDouble)
    return matrix_element(words[16 * k + s.size * block + row], s.kind, 0);
  const int elements = s.depth * s.size * s.blocks / 64;  // per lane
  const int lane = s.size * (s.blocks * (k / elements) + block) + row;
  return matrix_element(words[lane], s.kind, k % elements);
}
// Lane and element of D's (row, column).
inline std::pair<int, int> matrix_place(const MatrixShape& s, int block, int row, int column) {
  if (s.kind == MatrixKind::kDouble && s.size == 16) return {column + 16 * (row % 4), row / 4};
  if (s.kind == MatrixKind::kDouble) return {column + 4 * block + 16 * row, 0};
  if (s.size == 4) return {column + 4 * block, row};
  if (s.size == 16) return {column + 16 * (row / 4), 4 * block + row % 4};
  return {column + 32 * (row / 4 % 2), 16 * block + row / 8 * 4 + row % 4};
}
template <size_t N>
std::array<uint32_t, N> matrix_product(const MatrixShape& s, const std::array<uint32_t, N>& a,
                                       const std::array<uint32_t, N>& b,
                                       const std::array<uint32_t, N>& c) {
  std::array<uint32_t, N> made{};
  for (size_t wave = 0; wave + 64 <= N; wave += 64) {
    std::vector<int64_t> sums(64 * 32);
    for (int block = 0; block < s.blocks; block++) {
      for (int row = 0; row < s.size; row++) {
        for (int column = 0; column < s.size; column++) {
          const auto [lane, n] = matrix_place(s, block, row, column);
          int64_t sum = int64_t((c[wave + size_t(lane)] + 7u * uint32_t(n)) & 63) - 32;
          for (int k = 0; k < s.depth; k++)
            sum += matrix_factor(&a[wave], s, block, row, k) *
                   matrix_factor(&b[wave], s, block, column, k);
          sums[size_t(lane * 32 + n)] = sum;
        }
      }
    }
    const int count = s.size * s.size * s.blocks / 64;
    for (size_t lane = 0; lane < 64; lane++) {
      uint32_t& word = made[wave + lane];
      for (int n = 0; n < count; n++)
        word = word * 31 + uint32_t(int32_t(sums[lane * 32 + size_t(n)]));
    }
  }
  return made;
}
constexpr MatrixShape m_32x32x1f32{32, 1, 2, MatrixKind::kFloat},
    m_16x16x4f32{16, 4, 1, MatrixKind::kFloat}, m_4x4x1f32{4, 1, 16, MatrixKind::kFloat},
    m_16x16x16f16{16, 16, 1, MatrixKind::kFloat}, m_32x32x8f16{32, 8, 1, MatrixKind::kFloat},
    m_16x16x4bf16{16, 4, 4, MatrixKind::kFloat}, m_16x16x8bf16{16, 8, 1, MatrixKind::kFloat},
    m_32x32x2bf16{32, 2, 2, MatrixKind::kFloat}, m_32x32x8i8{32, 8, 1, MatrixKind::kBytes},
    m_4x4x4i8{4, 4, 16, MatrixKind::kBytes}, m_16x16x4f64{16, 4, 1, MatrixKind::kDouble},
    m_4x4x4f64{4, 4, 4, MatrixKind::kDouble};

inline int failures = 0, checked = 0;
inline softgpu::Executor* executor = nullptr;
inline MachineCodeFile* machine_code = nullptr;

// THREADS [CODE OBJECT]: with a code object, runs the kernels as machine code as well.
inline void begin(int argc, char** argv) {
  executor = new softgpu::Executor(argc > 1 ? atoi(argv[1]) : 0);
  if (argc < 3) return;
  machine_code = new MachineCodeFile;
  if (!machine_code->load(argv[2])) {
    printf("%s cannot be run\n", argv[2]);
    exit(1);
  }
}
inline int finish() {
  printf("%d kernels, %d differ\n", checked, failures);
  delete executor;
  return failures || !checked;
}

// What a kernel writes.
struct Results {
  std::vector<uint64_t> values, counters = std::vector<uint64_t>(128, 0);
  explicit Results(size_t count) : values(count, 1) {
    for (int i = 64; i < 80; i++) counters[i] = 0xffffffff;
  }
};

inline void compare(const char* name, const char* way, const softgpu::Outcome& outcome,
                    const Results& got, const Results& want, uint32_t values) {
  checked++;
  auto differs = std::mismatch(got.values.begin(), got.values.end(), want.values.begin());
  auto counter = std::mismatch(got.counters.begin(), got.counters.end(), want.counters.begin());
  if (outcome.kind == softgpu::Outcome::kDone && differs.first == got.values.end() &&
      counter.first == got.counters.end())
    return;
  failures++;
  printf("%s as %s code: outcome %d (address %llx) %s", name, way, outcome.kind,
         (unsigned long long)outcome.address, outcome.detail.c_str());
  if (differs.first != got.values.end()) {
    size_t at = size_t(differs.first - got.values.begin());
    printf(", item %zu v%zu is %llx, should be %llx", at / values, at % values,
           (unsigned long long)*differs.first, (unsigned long long)*differs.second);
  }
  if (counter.first != got.counters.end())
    printf(", counter %zd is %llx, should be %llx", counter.first - got.counters.begin(),
           (unsigned long long)*counter.first, (unsigned long long)*counter.second);
  printf("\n");
}

// The implicit arguments. Code objects of version 5, from newer compilers, read the group sizes
// here; those of version 4 read them from the packet, and read here only what OpenCL needs.
struct Implicit {
  uint32_t groups[3] = {};  // full groups
  uint16_t group[3] = {}, rest[3] = {};
  char other[232] = {};

  explicit Implicit(const softgpu::Dispatch& dispatch) {
    for (int d = 0; d < 3; d++) {
      groups[d] = dispatch.grid[d] / dispatch.group[d];
      group[d] = static_cast<uint16_t>(dispatch.group[d]);
      rest[d] = static_cast<uint16_t>(dispatch.grid[d] % dispatch.group[d]);
    }
  }
};
static_assert(sizeof(Implicit) == 256);

template <class A, class Expect>
void check(const char* name, const A& arguments, Expect expect, std::array<uint32_t, 3> grid,
           std::array<uint32_t, 3> group, uint32_t values, uint32_t dynamic_bytes) {
  std::vector<int32_t> ints(1024);
  std::vector<float> floats(1024);
  for (int i = 0; i < 1024; i++)
    ints[i] = int32_t(uint32_t(i) * 2654435761u), floats[i] = float(i * 37 % 1000) / 8 - 60;
  size_t items = size_t(grid[0]) * grid[1] * grid[2];
  Results want(items * values), by_host(items * values), by_machine(items * values);
  softgpu::Dispatch dispatch;
  for (int d = 0; d < 3; d++) dispatch.grid[d] = grid[d], dispatch.group[d] = group[d];
  struct {
    A arguments;
    const int32_t* ints;
    const float* floats;
    uint64_t* out;
    uint64_t* counters;
    Implicit implicit;
  } kernarg = {
      arguments,         ints.data(), floats.data(), by_host.values.data(), by_host.counters.data(),
      Implicit(dispatch)};
  dispatch.kernarg = &kernarg;
  dispatch.dynamic_group_bytes = dynamic_bytes;
  for (uint32_t z = 0; z * group[2] < grid[2]; z++)
    for (uint32_t y = 0; y * group[1] < grid[1]; y++)
      for (uint32_t x = 0; x * group[0] < grid[0]; x++)
        expect(arguments, ints.data(), floats.data(), want.values.data(), want.counters.data(), x,
               y, z);
  if (executor->knows(name)) {
    compare(name, "host", executor->run(name, dispatch), by_host, want, values);
  }
  if (machine_code == nullptr) return;
  kernarg.out = by_machine.values.data();
  kernarg.counters = by_machine.counters.data();
  compare(name, "machine", machine_code->run(*executor, name, dispatch), by_machine, want, values);
}
