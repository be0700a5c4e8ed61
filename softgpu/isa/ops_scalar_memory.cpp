// Scalar memory: loads, stores and atomic operations of one address for the whole wave.
#include "isa/atomics.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

constexpr u32 kScalarAddressMask = ~u32{3};

u64 scalar_address(const Wave& w, const Op& op) {
  u64 address = w.s64(op.src[0]) + static_cast<u64>(i64{op.mods.offset});
  if (op.mods.scalar_offset) address += scalar(w, op, *op.mods.scalar_offset);
  return address & (~u64{0} << 32 | kScalarAddressMask);
}
// A register's scratch offset is in units of 64 bytes: a dword of each lane of half a wave.
u64 scratch_address(const Wave& w, const Op& op) {
  u64 address = w.s64(op.src[0]) + static_cast<u64>(i64{op.mods.offset});
  if (op.mods.scalar_offset) address += u64{scalar(w, op, *op.mods.scalar_offset)} * 64;
  return address & (~u64{0} << 32 | kScalarAddressMask);
}

// A buffer's base and size are in its descriptor; reads outside return zero, and writes are
// dropped.
bool buffer_place(const Wave& w, const Op& op, u32 bytes, u64& address) {
  const u64 base = w.s64(op.src[0]) & 0xffffffffffff;
  const u32 stride = w.s[op.src[0] + 1] >> 16 & 0x3fff, records = w.s[op.src[0] + 2];
  u64 offset = static_cast<u32>(op.mods.offset);
  if (op.mods.scalar_offset) offset += scalar(w, op, *op.mods.scalar_offset);
  offset &= kScalarAddressMask;
  address = base + offset;
  return offset + bytes <= (stride ? u64{stride} * records : records);
}

using AddressOf = u64 (*)(const Wave&, const Op&);

template <AddressOf address_of, int dwords>
void load(Wave& w, const Op& op) {
  __builtin_memcpy(&w.s[op.dst], reinterpret_cast<const void*>(address_of(w, op)), dwords * 4);
}
template <AddressOf address_of, int dwords>
void store(Wave& w, const Op& op) {
  __builtin_memcpy(reinterpret_cast<void*>(address_of(w, op)), &w.s[op.dst], dwords * 4);
}
template <int dwords>
void buffer_load(Wave& w, const Op& op) {
  u32 got[dwords] = {};
  for (u32 d = 0; d < dwords; d++) {
    u64 address = 0;
    if (buffer_place(w, op, 4 * (d + 1), address))
      __builtin_memcpy(&got[d], reinterpret_cast<const void*>(address + 4 * d), 4);
  }
  for (u32 d = 0; d < dwords; d++) w.s[op.dst + d] = got[d];
}
template <int dwords>
void buffer_store(Wave& w, const Op& op) {
  for (u32 d = 0; d < dwords; d++) {
    u64 address = 0;
    if (buffer_place(w, op, 4 * (d + 1), address))
      __builtin_memcpy(reinterpret_cast<void*>(address + 4 * d), &w.s[op.dst + d], 4);
  }
}

// nullptr outside a buffer.
template <class T, bool is_buffer>
Raw<T>* atomic_place(const Wave& w, const Op& op) {
  u64 address = 0;
  if (!is_buffer) {
    address = scalar_address(w, op);
  } else if (!buffer_place(w, op, sizeof(T), address)) {
    return nullptr;
  }
  return reinterpret_cast<Raw<T>*>(address);
}
template <class T>
T data_at(const Wave& w, unsigned n) {
  if constexpr (sizeof(T) == 8) {
    return as<T>(w.s64(n));
  } else {
    return as<T>(w.s[n]);
  }
}
template <class T>
void give_back(Wave& w, const Op& op, T old) {
  if (!op.mods.glc) return;
  if constexpr (sizeof(T) == 8) {
    w.set64(op.dst, as<u64>(old));
  } else {
    w.s[op.dst] = as<u32>(old);
  }
}

template <class T, bool is_buffer, class F>
void atomic(Wave& w, const Op& op) {
  Raw<T>* const place = atomic_place<T, is_buffer>(w, op);
  const T data = data_at<T>(w, op.dst);
  give_back(w, op, place ? exchange<T>(place, [data](T value) { return F{}(value, data); }) : T(0));
}
template <class T, bool is_buffer>
void compare_and_swap(Wave& w, const Op& op) {
  Raw<T>* const place = atomic_place<T, is_buffer>(w, op);
  const T wanted = data_at<T>(w, op.dst + unsigned{sizeof(T)} / 4);
  give_back(w, op, place ? exchange_where<T>(place, wanted, data_at<T>(w, op.dst)) : T(0));
}

template <bool is_buffer>
void add_atomics(Table& table, const char* prefix) {
  const auto make = [&]<class T, class F>(const char* name, const char* suffix, F) {
    add(table, {prefix, "atomic_", name, suffix}, atomic<T, is_buffer, F>);
  };
  each_integer_atomic<u32, i32>(make, "");
  each_integer_atomic<u64, i64>(make, "_x2");
  add(table, prefix, "atomic_cmpswap", compare_and_swap<u32, is_buffer>);
  add(table, prefix, "atomic_cmpswap_x2", compare_and_swap<u64, is_buffer>);
}

}  // namespace

void add_scalar_memory(Table& t) {
  add(t, "s_load_dword", load<scalar_address, 1>);
  add(t, "s_load_dwordx2", load<scalar_address, 2>);
  add(t, "s_load_dwordx4", load<scalar_address, 4>);
  add(t, "s_load_dwordx8", load<scalar_address, 8>);
  add(t, "s_load_dwordx16", load<scalar_address, 16>);
  add(t, "s_store_dword", store<scalar_address, 1>);
  add(t, "s_store_dwordx2", store<scalar_address, 2>);
  add(t, "s_store_dwordx4", store<scalar_address, 4>);
  add(t, "s_scratch_load_dword", load<scratch_address, 1>);
  add(t, "s_scratch_load_dwordx2", load<scratch_address, 2>);
  add(t, "s_scratch_load_dwordx4", load<scratch_address, 4>);
  add(t, "s_scratch_store_dword", store<scratch_address, 1>);
  add(t, "s_scratch_store_dwordx2", store<scratch_address, 2>);
  add(t, "s_scratch_store_dwordx4", store<scratch_address, 4>);
  add(t, "s_buffer_load_dword", buffer_load<1>);
  add(t, "s_buffer_load_dwordx2", buffer_load<2>);
  add(t, "s_buffer_load_dwordx4", buffer_load<4>);
  add(t, "s_buffer_load_dwordx8", buffer_load<8>);
  add(t, "s_buffer_load_dwordx16", buffer_load<16>);
  add(t, "s_buffer_store_dword", buffer_store<1>);
  add(t, "s_buffer_store_dwordx2", buffer_store<2>);
  add(t, "s_buffer_store_dwordx4", buffer_store<4>);
  add_atomics<false>(t, "s_");
  add_atomics<true>(t, "s_buffer_");
  for (const char* name : {"s_atc_probe", "s_atc_probe_buffer"})
    add(t, name, [](Wave&, const Op&) {});  // only a hint to translate the address in advance
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
