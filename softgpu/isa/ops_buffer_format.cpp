// Typed buffer instructions: they convert between registers and the elements of a buffer, whose
// format is in the instruction (tbuffer_*) or in the buffer's descriptor (buffer_*_format_*).
#include "isa/buffer.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

// Bits of the components X, Y, Z, W, from the lowest. Format names begin at the other end:
// 2_10_10_10 has two bits for W.
struct Layout {
  u8 count, bits[4];
  u32 bytes() const { return (bits[0] + u32{bits[1]} + bits[2] + bits[3]) / 8; }
};
constexpr Layout kLayouts[16] = {
    {0, {}},  // no format: reads zero, writes nothing
    {1, {8}},
    {1, {16}},
    {2, {8, 8}},
    {1, {32}},
    {2, {16, 16}},
    {3, {11, 11, 10}},
    {3, {10, 11, 11}},
    {4, {2, 10, 10, 10}},
    {4, {10, 10, 10, 2}},
    {4, {8, 8, 8, 8}},
    {2, {32, 32}},
    {4, {16, 16, 16, 16}},
    {3, {32, 32, 32}},
    {4, {32, 32, 32, 32}},
    {0, {}},
};
enum NumberFormat : u8 { kUnorm, kSnorm, kUscaled, kSscaled, kUint, kSint, kReserved, kFloat };

struct ElementFormat {
  Layout layout;
  NumberFormat number;
  u8 choice[4];  // for X to W of the register: 0 and 1 are constants, 4 to 7 components
  bool is_integer() const { return number == kUint || number == kSint; }
};

// tbuffer_* have their own format, and components are not swizzled.
ElementFormat format_of(const Wave& w, const Op& op, bool is_typed) {
  if (is_typed)
    return {kLayouts[op.mods.dfmt & 15], static_cast<NumberFormat>(op.mods.nfmt & 7), {4, 5, 6, 7}};
  const u32 word = w.s[op.src[0] + 3];
  ElementFormat made{kLayouts[word >> 15 & 15], static_cast<NumberFormat>(word >> 12 & 7), {}};
  for (u32 n = 0; n < 4; n++) made.choice[n] = static_cast<u8>(word >> 3 * n & 7);
  return made;
}

u32 most_of(u32 bits) { return bits == 32 ? ~u32{0} : (1U << bits) - 1; }
i32 extended(u32 value, u32 bits) { return static_cast<i32>(value << (32 - bits)) >> (32 - bits); }

// Numbers of 10 and 11 bits are halves without a sign and with a shorter mantissa.
f32 small_float(u32 raw, u32 bits) {
  return Half(static_cast<u16>(raw << (bits == 16 ? 0 : 15 - bits)));
}
u32 as_small_float(f32 value, u32 bits) {
  if (bits == 16) return Half(value).bits;
  if (value != value) return most_of(bits);
  if (!(value > 0)) return 0;
  const u32 cut = 15 - bits, half = Half(value).bits;
  const u32 rounded = half + (1U << (cut - 1)) - 1 + (half >> cut & 1);
  return (rounded < 0x7c00 || half == 0x7c00 ? rounded : 0x7bff) >> cut;
}

// A component's value in the register: an integer, or an f32.
u32 decoded(u32 raw, u32 bits, NumberFormat number) {
  const f64 most = most_of(bits), most_signed = most_of(bits - 1);
  switch (number) {
    case kUnorm:
      return as<u32>(static_cast<f32>(raw / most));
    case kSnorm: {
      const f64 value = extended(raw, bits) / most_signed;
      return as<u32>(static_cast<f32>(value < -1 ? -1 : value));
    }
    case kUscaled:
      return as<u32>(static_cast<f32>(raw));
    case kSscaled:
      return as<u32>(static_cast<f32>(extended(raw, bits)));
    case kUint:
      return raw;
    case kSint:
      return static_cast<u32>(extended(raw, bits));
    case kFloat:
      if (bits == 32) return raw;
      return bits >= 10 ? as<u32>(small_float(raw, bits)) : 0;
    case kReserved:
      break;
  }
  return 0;
}

f64 within(f64 x, f64 low, f64 high) { return x > low ? (x < high ? x : high) : x != x ? 0 : low; }

// Rounds to nearest, and clamps to the range of the component.
u32 encoded(u32 value, u32 bits, NumberFormat number) {
  const f64 x = as<f32>(value), most = most_of(bits), most_signed = most_of(bits - 1);
  const auto signed_bits = [bits](f64 y) {
    return static_cast<u32>(static_cast<i64>(__builtin_rint(y))) & most_of(bits);
  };
  switch (number) {
    case kUnorm:
      return static_cast<u32>(static_cast<i64>(__builtin_rint(within(x, 0, 1) * most)));
    case kSnorm:
      return signed_bits(within(x, -1, 1) * most_signed);
    case kUscaled:
      return static_cast<u32>(static_cast<i64>(__builtin_rint(within(x, 0, most))));
    case kSscaled:
      return signed_bits(within(x, -most_signed - 1, most_signed));
    case kUint:
      return value < most_of(bits) ? value : most_of(bits);
    case kSint: {
      const i64 most_integer = most_of(bits - 1), y = static_cast<i32>(value);
      return static_cast<u32>(y > most_integer        ? most_integer
                              : y < -most_integer - 1 ? -most_integer - 1
                                                      : y) &
             most_of(bits);
    }
    case kFloat:
      if (bits == 32) return value;
      return bits >= 10 ? as_small_float(as<f32>(value), bits) : 0;
    case kReserved:
      break;
  }
  return 0;
}

// The bytes of an element; with a stride other than 4, its dwords are not contiguous.
template <bool is_load>
void move(const Place& at, u8* element, u32 bytes) {
  for (u32 done = 0; done < bytes; done += 4) {
    u8* const p = at.p + done / 4 * at.stride;
    const u32 part = bytes - done < 4 ? bytes - done : 4;
    for (u32 n = 0; n < part; n++)
      (is_load ? element[done + n] : p[n]) = is_load ? p[n] : element[done + n];
  }
}
void unpack(const u8* element, const Layout& layout, u32* raw) {
  u32 at = 0;
  for (u32 n = 0; n < layout.count; n++) {
    u64 word = 0;
    for (u32 byte = 0; byte < 5 && at / 8 + byte < layout.bytes(); byte++)
      word |= u64{element[at / 8 + byte]} << 8 * byte;
    raw[n] = static_cast<u32>(word >> at % 8) & most_of(layout.bits[n]);
    at += layout.bits[n];
  }
}
void pack(const u32* raw, const Layout& layout, u8* element) {
  u32 at = 0;
  for (u32 n = 0; n < layout.count; n++) {
    const u64 word = u64{raw[n]} << at % 8;
    for (u32 byte = 0; byte < 5 && at / 8 + byte < layout.bytes(); byte++)
      element[at / 8 + byte] = static_cast<u8>(element[at / 8 + byte] | word >> 8 * byte);
    at += layout.bits[n];
  }
}

// X to W of a lane, as f32 or integers.
void load_components(const Place& from, const ElementFormat& format, u32* to) {
  u8 element[16] = {};
  u32 raw[4] = {}, value[4] = {};
  move<true>(from, element, format.layout.bytes());
  unpack(element, format.layout, raw);
  for (u32 n = 0; n < format.layout.count; n++)
    value[n] = decoded(raw[n], format.layout.bits[n], format.number);
  for (u32 n = 0; n < 4; n++) {
    const u32 one = format.is_integer() ? 1 : as<u32>(1.0F);
    to[n] = format.choice[n] >= 4 ? value[format.choice[n] - 4] : format.choice[n] == 1 ? one : 0;
  }
}
// Components that the instruction lacks repeat its first one.
void store_components(const Place& to, const ElementFormat& format, const u32* given, u32 count) {
  u8 element[16] = {};
  u32 raw[4] = {};
  for (u32 n = 0; n < format.layout.count; n++) {
    u32 from = 0;
    for (u32 m = 0; m < count; m++) from = format.choice[m] == 4 + n ? m : from;
    raw[n] = encoded(given[from], format.layout.bits[n], format.number);
  }
  pack(raw, format.layout, element);
  move<false>(to, element, format.layout.bytes());
}

u32 as_half(u32 value, bool is_integer) {
  return is_integer ? value & 0xffff : Half(as<f32>(value)).bits;
}
u32 of_half(u32 half, const ElementFormat& format) {
  if (format.number == kSint) return static_cast<u32>(i32{static_cast<i16>(half)});
  return format.number == kUint ? half & 0xffff : as<u32>(f32(Half(static_cast<u16>(half))));
}

// kHigh: the only component is in the upper half of the register; the other half is kept.
template <bool is_typed, u32 count, bool is_16, bool is_high>
void load(Wave& w, const Op& op) {
  const Buffer buffer = buffer_of(w, op);
  const ElementFormat format = format_of(w, op, is_typed);
  u32 got[kLanes][4] = {};
  each(w.exec(), [&](int l) {
    const Place from = place_of(w, op, buffer, l, format.layout.bytes());
    if (from.exists()) load_components(from, format, got[l]);
  });
  each(w.exec(), [&](int l) {
    if (!is_16) {
      for (u32 n = 0; n < count; n++) w.v[(op.dst + n) & 511][l] = got[l][n];
      return;
    }
    u32 halves[4] = {};
    for (u32 n = 0; n < count; n++) halves[n] = as_half(got[l][n], format.is_integer());
    u32& first = w.v[op.dst][l];
    first = is_high ? (first & 0xffff) | halves[0] << 16 : halves[0] | halves[1] << 16;
    if (count > 2) w.v[(op.dst + 1) & 511][l] = halves[2] | halves[3] << 16;
  });
}
template <bool is_typed, u32 count, bool is_16, bool is_high>
void store(Wave& w, const Op& op) {
  const Buffer buffer = buffer_of(w, op);
  const ElementFormat format = format_of(w, op, is_typed);
  each(w.exec(), [&](int l) {
    const Place to = place_of(w, op, buffer, l, format.layout.bytes());
    if (!to.exists()) return;
    u32 given[4] = {};
    for (u32 n = 0; n < count; n++) {
      const u32 word = w.v[(op.dst + (is_16 ? n / 2 : n)) & 511][l];
      const bool takes_upper = is_high || n % 2 != 0;
      given[n] = is_16 ? of_half(takes_upper ? word >> 16 : word, format) : word;
    }
    store_components(to, format, given, count);
  });
}

template <bool is_typed, u32 count>
void add_pair(Table& t, const char* prefix, const char* const (&names)[4]) {
  add(t, prefix, names[0], load<is_typed, count, false, false>);
  add(t, prefix, names[1], store<is_typed, count, false, false>);
  add(t, prefix, names[2], load<is_typed, count, true, false>);
  add(t, prefix, names[3], store<is_typed, count, true, false>);
}
template <bool is_typed>
void add_formats(Table& t, const char* prefix) {
  add_pair<is_typed, 1>(
      t, prefix, {"load_format_x", "store_format_x", "load_format_d16_x", "store_format_d16_x"});
  add_pair<is_typed, 2>(
      t, prefix,
      {"load_format_xy", "store_format_xy", "load_format_d16_xy", "store_format_d16_xy"});
  add_pair<is_typed, 3>(
      t, prefix,
      {"load_format_xyz", "store_format_xyz", "load_format_d16_xyz", "store_format_d16_xyz"});
  add_pair<is_typed, 4>(
      t, prefix,
      {"load_format_xyzw", "store_format_xyzw", "load_format_d16_xyzw", "store_format_d16_xyzw"});
}

}  // namespace

void add_buffer_format(Table& t) {
  add_formats<false>(t, "buffer_");
  add_formats<true>(t, "tbuffer_");
  add(t, "buffer_load_format_d16_hi_x", load<false, 1, true, true>);
  add(t, "buffer_store_format_d16_hi_x", store<false, 1, true, true>);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
