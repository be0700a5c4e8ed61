// Conversions between numbers.
#include "isa/lanes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

// Rounds towards zero, clamps to the range; NaN becomes zero.
template <class To>
To saturated(f64 x) {
  constexpr bool is_signed = To(-1) < To(0);
  constexpr f64 kMost = static_cast<f64>(is_signed ? (u64{1} << (sizeof(To) * 8 - 1)) - 1
                                                   : (u64{1} << sizeof(To) * 8) - 1);
  constexpr f64 kLeast = is_signed ? -kMost - 1 : 0;
  const f64 inside = x < kLeast ? kLeast : x > kMost ? kMost : x;
  return x == x ? static_cast<To>(static_cast<i64>(inside)) : To(0);
}
// Rounds to half towards zero, for v_cvt_pkrtz.
u32 half_cut(f32 value) {
  const u32 all = as<u32>(value), sign = all >> 16 & 0x8000, x = all & 0x7fffffff;
  if (x > 0x7f800000) return sign | 0x7e00 | (x >> 13 & 0x3ff);
  if (x == 0x7f800000) return sign | 0x7c00;
  if (x >= 0x47800000) return sign | 0x7bff;
  if (x >= 0x38800000) return sign | (x - (112U << 23)) >> 13;
  const u32 shift = 126 - (x >> 23);
  return shift > 24 ? sign : sign | (((x & 0x7fffff) | 0x800000) >> shift);
}
i32 norm16(f32 x) {
  return saturated<i16>(static_cast<f64>(__builtin_rintf((x < -1  ? -1
                                                          : x > 1 ? 1
                                                                  : x) *
                                                         32767.0F)));
}
u32 unorm16(f32 x) {
  return saturated<u16>(static_cast<f64>(__builtin_rintf((x < 0 ? 0 : x > 1 ? 1 : x) * 65535.0F)));
}
u32 packed(u32 low, u32 high) { return (low & 0xffff) | high << 16; }
u32 byte_with(f32 a, u32 place, u32 c) {
  const u32 shift = 8 * (place & 3);
  return (c & ~(0xffU << shift)) | u32{saturated<u8>(static_cast<f64>(__builtin_rintf(a)))}
                                       << shift;
}

void add_packed_results(Table& t) {
  add(t, "v_cvt_pkrtz_f16_f32",
      lanes([](f32 a, f32 b) { return packed(half_cut(a), half_cut(b)); }));
  add(t, "v_cvt_pknorm_i16_f32", lanes([](f32 a, f32 b) {
        return packed(static_cast<u32>(norm16(a)), static_cast<u32>(norm16(b)));
      }));
  add(t, "v_cvt_pknorm_u16_f32",
      lanes([](f32 a, f32 b) { return packed(unorm16(a), unorm16(b)); }));
  add(t, "v_cvt_pknorm_i16_f16", lanes([](Half a, Half b) {
        return packed(static_cast<u32>(norm16(a)), static_cast<u32>(norm16(b)));
      }));
  add(t, "v_cvt_pknorm_u16_f16",
      lanes([](Half a, Half b) { return packed(unorm16(a), unorm16(b)); }));
  add(t, "v_cvt_pk_u16_u32",
      lanes([](u32 a, u32 b) { return packed(a > 0xffff ? 0xffff : a, b > 0xffff ? 0xffff : b); }));
  add(t, "v_cvt_pk_i16_i32", lanes([](i32 a, i32 b) {
        a = a < -32768 ? -32768 : a > 32767 ? 32767 : a;
        b = b < -32768 ? -32768 : b > 32767 ? 32767 : b;
        return packed(static_cast<u32>(a), static_cast<u32>(b));
      }));
  add(t, "v_cvt_pk_u8_f32", lanes([](f32 a, u32 b, u32 c) { return byte_with(a, b, c); }));
  add(t, "v_cvt_pkaccum_u8_f32",
      accumulating([](f32 a, u32 b, u32 c) { return byte_with(a, b, c); }));
  add(t, "v_sat_pk_u8_i16", lanes([](u32 a) {
        const i32 low = static_cast<i16>(a), high = static_cast<i16>(a >> 16);
        const i32 x = low < 0     ? 0
                      : low > 255 ? 255
                                  : low,
                  y = high < 0     ? 0
                      : high > 255 ? 255
                                   : high;
        return static_cast<u32>(x | y << 8);
      }));
  add(t, "v_pack_b32_f16", lanes([](Half a, Half b) { return packed(a.bits, b.bits); }));
}

}  // namespace

void add_convert(Table& t) {
  add(t, "v_cvt_i32_f64", lanes([](f64 a) { return saturated<i32>(a); }));
  add(t, "v_cvt_u32_f64", lanes([](f64 a) { return saturated<u32>(a); }));
  add(t, "v_cvt_f64_i32", lanes([](i32 a) { return static_cast<f64>(a); }));
  add(t, "v_cvt_f64_u32", lanes([](u32 a) { return static_cast<f64>(a); }));
  add(t, "v_cvt_f32_i32", lanes([](i32 a) { return static_cast<f32>(a); }));
  add(t, "v_cvt_f32_u32", lanes([](u32 a) { return static_cast<f32>(a); }));
  add(t, "v_cvt_u32_f32", lanes([](f32 a) { return saturated<u32>(f64{a}); }));
  add(t, "v_cvt_i32_f32", lanes([](f32 a) { return saturated<i32>(f64{a}); }));
  add(t, "v_cvt_rpi_i32_f32",
      lanes([](f32 a) { return saturated<i32>(__builtin_floor(f64{a} + 0.5)); }));
  add(t, "v_cvt_flr_i32_f32", lanes([](f32 a) { return saturated<i32>(__builtin_floor(f64{a})); }));
  add(t, "v_cvt_f16_f32", lanes([](f32 a) { return Half(a); }));
  add(t, "v_cvt_f32_f16", lanes([](Half a) { return a != a ? quieted(f32(a)) : f32(a); }));
  add(t, "v_cvt_f32_f64", lanes([](f64 a) { return static_cast<f32>(a); }));
  add(t, "v_cvt_f64_f32", lanes([](f32 a) { return f64{a}; }));
  add(t, "v_cvt_f16_u16", lanes([](u16 a) { return Half(static_cast<f32>(a)); }));
  add(t, "v_cvt_f16_i16", lanes([](i16 a) { return Half(static_cast<f32>(a)); }));
  add(t, "v_cvt_u16_f16", lanes([](Half a) { return saturated<u16>(f64{f32(a)}); }));
  add(t, "v_cvt_i16_f16", lanes([](Half a) { return saturated<i16>(f64{f32(a)}); }));
  add(t, "v_cvt_norm_i16_f16", lanes([](Half a) { return static_cast<i16>(norm16(a)); }));
  add(t, "v_cvt_norm_u16_f16", lanes([](Half a) { return static_cast<u16>(unorm16(a)); }));
  add(t, "v_cvt_f32_ubyte0", lanes([](u32 a) { return static_cast<f32>(a & 255); }));
  add(t, "v_cvt_f32_ubyte1", lanes([](u32 a) { return static_cast<f32>(a >> 8 & 255); }));
  add(t, "v_cvt_f32_ubyte2", lanes([](u32 a) { return static_cast<f32>(a >> 16 & 255); }));
  add(t, "v_cvt_f32_ubyte3", lanes([](u32 a) { return static_cast<f32>(a >> 24); }));
  add(t, "v_cvt_off_f32_i4",
      lanes([](u32 a) { return static_cast<f32>(static_cast<i32>(a << 28) >> 28) * 0.0625F; }));
  add_packed_results(t);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
