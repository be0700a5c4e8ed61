// All atomic operations on all kinds of memory, by name: the resulting memory contents and the
// return value. The name determines operation and type, whose meaning is implemented here
// independently.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "isa/test_machine.h"

namespace softgpu::isa {
namespace {

using sonde::gpu::Format;
using sonde::gpu::Opcode;

bool has(const std::string& name, const char* part) { return name.find(part) != std::string::npos; }

template <class T>
T as_type(uint64_t bits) {
  T value{};
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
template <class T>
uint64_t as_bits(T value) {
  uint64_t made = 0;
  std::memcpy(&made, &value, sizeof(value));
  return made;
}

// The new contents of memory, from `old` and `data`; `second` is for operations with two operands.
template <class T>
T after(const std::string& operation, T old, T data, T second) {
  if (operation == "min") return std::min(old, data);
  if (operation == "max") return std::max(old, data);
  if (operation == "add") return static_cast<T>(old + data);
  if (operation == "cmpst") return old == data ? second : old;
  return old;
}
uint64_t after_bits(const std::string& operation, uint64_t old, uint64_t data, uint64_t second,
                    uint64_t all) {
  if (operation == "swap" || operation == "wrxchg") return data;
  if (operation == "sub") return (old - data) & all;
  if (operation == "rsub") return (data - old) & all;
  if (operation == "and") return old & data;
  if (operation == "or") return old | data;
  if (operation == "xor") return old ^ data;
  if (operation == "inc") return old >= data ? 0 : old + 1;
  if (operation == "dec") return old == 0 || old > data ? data : old - 1;
  if (operation == "mskor") return (old & ~data) | second;
  if (operation == "cmpswap") return old == second ? data : old;  // data, then the comparison value
  return after<uint64_t>(operation, old, data, second) & all;
}

struct Atomic {
  std::string operation;  // add, min, cmpst ...
  char type = 'u';        // u, i, f, or h: two halves
  bool is_wide = false, returns = false;
  unsigned operands = 1;
};

// Of ds_add_rtn_u32, flat_atomic_smin_x2, buffer_atomic_add_f64, s_buffer_atomic_swap ...
Atomic atomic_of(const Opcode& opcode) {
  const std::string name(opcode.name);
  Atomic made;
  if (opcode.format == Format::kDs) {
    made.operation = name.substr(3, name.find('_', 3) - 3);
    made.returns = has(name, "_rtn_");
    made.is_wide = name.ends_with("64");
    const char type = name[name.size() - 3];
    made.type = type == 'b' ? 'u' : type;
    made.operands = made.operation == "mskor" || made.operation == "cmpst" ? 2 : 1;
    return made;
  }
  const size_t begin = name.find("atomic_") + 7;
  std::string rest = name.substr(begin);
  made.is_wide = rest.ends_with("_x2") || rest.ends_with("_f64");
  if (rest.ends_with("_f64") || rest.ends_with("_f32")) made.type = 'f';
  if (rest == "pk_add_f16") made.type = 'h';
  rest = rest.substr(0, rest.find('_'));
  if (rest[0] == 's' && (rest == "smin" || rest == "smax")) made.type = 'i';
  if (rest == "smin" || rest == "umin") rest = "min";
  if (rest == "smax" || rest == "umax") rest = "max";
  made.operation = rest;
  made.operands = rest == "cmpswap" ? 2 : 1;
  return made;
}

uint64_t expected(const Atomic& atomic, uint64_t old, uint64_t data, uint64_t second) {
  const std::string& op = atomic.operation;
  const uint64_t all = atomic.is_wide ? ~uint64_t{0} : 0xffffffff;
  if (atomic.type == 'f' && atomic.is_wide)
    return as_bits(after(op, as_type<double>(old), as_type<double>(data), as_type<double>(second)));
  if (atomic.type == 'f')
    return as_bits(after(op, as_type<float>(old), as_type<float>(data), as_type<float>(second)));
  if (atomic.type == 'i' && atomic.is_wide)
    return as_bits(
        after(op, as_type<int64_t>(old), as_type<int64_t>(data), as_type<int64_t>(second)));
  if (atomic.type == 'i')
    return as_bits(
        after(op, as_type<int32_t>(old), as_type<int32_t>(data), as_type<int32_t>(second)));
  if (atomic.type == 'h') return 0x44004000;  // (1, 2) + (1, 2) of halves: see run_one
  return after_bits(op, old, data, second, all);
}

// Values of each type, some of them equal.
std::vector<uint64_t> values_of(const Atomic& atomic) {
  if (atomic.type == 'h') return {0x40003c00};
  if (atomic.type == 'f' && atomic.is_wide) return {as_bits(-1.5), as_bits(2.25), as_bits(1e300)};
  if (atomic.type == 'f') return {bits(-1.5F), bits(2.25F), bits(1e30F)};
  if (atomic.is_wide) return {0, 5, 0xfffffffffffffff0, 0x8000000000000005};
  return {0, 5, 0xfffffff0, 0x80000005};
}

// Operands: data in v[4:5] or s[4:5], followed by the second one; the result in v[8:9].
Words words_of(const Opcode& opcode, bool is_wide, bool glc) {
  const uint32_t number = opcode.number, second = is_wide ? 6 : 5;
  switch (opcode.format) {
    case Format::kDs:
      return {0xd8000000 | number << 17, 0u | 4u << 8 | second << 16 | 8u << 24};
    case Format::kFlat:
    case Format::kGlobal:
      return {0xdc000000 | number << 18 | uint32_t{glc} << 16 |
                  (opcode.format == Format::kGlobal ? 0x8000u : 0),
              0u | 4u << 8 | 0x7fu << 16 | 8u << 24};
    case Format::kMubuf:  // idxen, v2 the index
      return {0xe0000000 | number << 18 | uint32_t{glc} << 14 | 1u << 13,
              2u | 4u << 8 | 0x80u << 24};
    default:  // SMEM
      return {0xc0000000 | number << 18 | 1u << 17 | uint32_t{glc} << 16 | 4u << 6, 0};
  }
}

void run_one(const Opcode& opcode, uint64_t old, uint64_t data, uint64_t second, bool glc) {
  const Atomic atomic = atomic_of(opcode);
  Machine machine;
  machine.wave->set64(sonde::gpu::kExec, 1);
  alignas(8) uint64_t memory[2] = {old, 0x1122334455667788};
  auto address = reinterpret_cast<uint64_t>(memory);
  if (opcode.format == Format::kDs) {
    std::memcpy(machine.lds.data() + 16, memory, sizeof(memory));
    address = 16;
  }
  machine.wave->set64(0, address);  // also valid for a buffer with a stride of 8
  machine.wave->s[1] |= opcode.format == Format::kMubuf ? 8u << 16 : 0;
  machine.wave->s[2] = opcode.format == Format::kMubuf ? 1 : 16;
  machine.fill(0, static_cast<uint32_t>(address));
  machine.fill(1, static_cast<uint32_t>(address >> 32));
  const unsigned step = atomic.is_wide ? 2 : 1;
  const auto put = [&](unsigned at, uint64_t value) {
    machine.fill(at, static_cast<uint32_t>(value));
    machine.wave->s[at] = static_cast<uint32_t>(value);
    if (atomic.is_wide) machine.fill(at + 1, static_cast<uint32_t>(value >> 32));
    if (atomic.is_wide) machine.wave->s[at + 1] = static_cast<uint32_t>(value >> 32);
  };
  put(4, data);
  put(4 + step, second);
  machine.fill(8, 0xaaaaaaaa);
  ASSERT_EQ(machine.run(words_of(opcode, atomic.is_wide, glc)), Stop::kEnd) << opcode.name;
  uint64_t found[2] = {memory[0], memory[1]};
  if (opcode.format == Format::kDs) std::memcpy(found, machine.lds.data() + 16, sizeof(found));
  const uint64_t all = atomic.is_wide ? ~uint64_t{0} : 0xffffffff;
  EXPECT_EQ(found[0] & all, expected(atomic, old & all, data & all, second & all) & all)
      << opcode.name << " of " << std::hex << old << " with " << data << " and " << second;
  EXPECT_EQ(found[0] & ~all, old & ~all) << opcode.name;
  EXPECT_EQ(found[1], 0x1122334455667788u) << opcode.name;
  const bool is_scalar = opcode.format == Format::kSmem,
             is_buffer = opcode.format == Format::kMubuf;
  if (opcode.format == Format::kDs ? !atomic.returns : !glc) return;
  const unsigned row = is_buffer ? 4 : 8;
  const uint64_t back = is_scalar
                            ? machine.wave->s64(4)
                            : machine.wave->v[row][0] | uint64_t{machine.wave->v[row + 1][0]} << 32;
  EXPECT_EQ(back & all, old & all) << opcode.name;
}

TEST(Atomics, AllOfThem) {
  unsigned tested = 0;
  for (const Opcode& opcode : sonde::gpu::all_opcodes()) {
    const std::string name(opcode.name);
    const bool is_local =
        opcode.format == Format::kDs && !has(name, "src2") &&
        (has(name, "ds_add") || has(name, "ds_sub") || has(name, "ds_rsub") ||
         has(name, "ds_inc") || has(name, "ds_dec") || has(name, "ds_min") || has(name, "ds_max") ||
         has(name, "ds_and") || has(name, "ds_or_") || has(name, "ds_xor") ||
         has(name, "ds_mskor") || has(name, "ds_cmpst") || has(name, "ds_wrxchg_"));
    if ((!is_local && !has(name, "atomic_")) || (opcode.architectures & 4) == 0) continue;
    const Atomic atomic = atomic_of(opcode);
    for (const uint64_t old : values_of(atomic)) {
      for (const uint64_t data : values_of(atomic)) {
        for (const uint64_t second : values_of(atomic)) {
          run_one(opcode, old, data, second, true);
          if (!is_local) run_one(opcode, old, data, second, false);
          if (HasFailure()) return;
          if (atomic.operands == 1) break;
        }
      }
    }
    ++tested;
  }
  EXPECT_GE(tested, 217u);
}

}  // namespace
}  // namespace softgpu::isa
