// Sums of absolute differences at four offsets, and coordinates on the faces of a cube.
#include "isa/lanes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

// Sums over the bytes of a and b; masked: zero bytes of b do not count.
template <bool is_masked>
u32 byte_distances(u32 a, u32 b) {
  u32 sum = 0;
  for (u32 shift = 0; shift < 32; shift += 8) {
    const u32 x = a >> shift & 255, y = b >> shift & 255;
    if (!is_masked || y != 0) sum += x > y ? x - y : y - x;
  }
  return sum;
}
u32 at_offset(u64 bytes, u32 n) { return static_cast<u32>(bytes >> 8 * n); }

// Four sums of 16 bits, packed into 64.
template <bool is_masked>
void four_short_sums(Wave& w, const Op& op) {
  const bool clamps = op.mods.clamp;
  store_computed<u64, u64, u32, u64>(w, op, [clamps](int, u64 a, u32 b, u64 c) {
    u64 made = 0;
    for (u32 n = 0; n < 4; n++) {
      u32 sum =
          static_cast<u32>(c >> 16 * n & 0xffff) + byte_distances<is_masked>(at_offset(a, n), b);
      if (clamps && sum > 0xffff) sum = 0xffff;
      made |= u64{sum & 0xffff} << 16 * n;
    }
    return made;
  });
}

// Four sums in four registers; the third source is also four VGPRs.
void four_sums(Wave& w, const Op& op) {
  u64 mask = w.exec();
  const Source<u64> a(w, op, 0, mask);
  const Source<u32> b(w, op, 1, mask);
  const unsigned row = op.src[2] - kFirstVgpr;
  alignas(64) u32 out[4][kLanes];
  for (u32 n = 0; n < 4; n++) {
    for (int l = 0; l < kLanes; l++) {
      const u64 sum = u64{w.v[(row + n) & 511][l]} + byte_distances<true>(at_offset(a[l], n), b[l]);
      out[n][l] = op.mods.clamp && sum >> 32 ? ~u32{0} : static_cast<u32>(sum);
    }
  }
  for (u32 n = 0; n < 4; n++) store_row(w, op.dst + n, out[n], mask);
}

f32 size_of(f32 x) { return x < 0 ? -x : x; }
// The axis with the largest component: 2 is z, which takes precedence over y and x.
int major_axis(f32 x, f32 y, f32 z) {
  if (size_of(z) >= size_of(x) && size_of(z) >= size_of(y)) return 2;
  return size_of(y) >= size_of(x) ? 1 : 0;
}
f32 along(f32 x, f32 y, f32 z) {
  const int axis = major_axis(x, y, z);
  return axis == 2 ? z : axis == 1 ? y : x;
}

void add_cube(Table& t) {
  add(t, "v_cubeid_f32", lanes([](f32 x, f32 y, f32 z) {
        const bool is_minus = along(x, y, z) < 0;
        return static_cast<f32>(2 * major_axis(x, y, z) + (is_minus ? 1 : 0));
      }));
  add(t, "v_cubema_f32", lanes([](f32 x, f32 y, f32 z) { return 2 * along(x, y, z); }));
  add(t, "v_cubesc_f32", lanes([](f32 x, f32 y, f32 z) {
        const int axis = major_axis(x, y, z);
        if (axis == 2) return z < 0 ? -x : x;
        if (axis == 1) return x;
        return x < 0 ? z : -z;
      }));
  add(t, "v_cubetc_f32", lanes([](f32 x, f32 y, f32 z) {
        if (major_axis(x, y, z) == 1) return y < 0 ? -z : z;
        return -y;
      }));
}

}  // namespace

void add_media(Table& t) {
  add(t, "v_qsad_pk_u16_u8", four_short_sums<false>);
  add(t, "v_mqsad_pk_u16_u8", four_short_sums<true>);
  add(t, "v_mqsad_u32_u8", four_sums);
  add_cube(t);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
