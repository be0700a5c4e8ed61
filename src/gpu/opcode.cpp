#include "gpu/opcode.h"

#include <vector>

namespace sonde::gpu {
namespace {

constexpr std::string_view kNames[] = {"gfx906", "gfx908", "gfx90a"};
constexpr size_t kNumbers = 1024;  // the widest opcode field has ten bits

constexpr Opcode kOpcodes[] = {
#include "gpu/opcodes.inc"
};

// By architecture, format and number.
using Index = std::vector<const Opcode*>;

size_t place_of(Architecture architecture, Format format, uint32_t number) {
  return (static_cast<size_t>(architecture) * kFormats + static_cast<size_t>(format)) * kNumbers +
         number;
}

Index make_index() {
  Index index(std::size(kNames) * kFormats * kNumbers);
  for (const Opcode& opcode : kOpcodes) {
    for (size_t bit = 0; bit < std::size(kNames); ++bit) {
      if ((opcode.architectures >> bit & 1) == 0) continue;
      index[place_of(static_cast<Architecture>(bit), opcode.format, opcode.number)] = &opcode;
    }
  }
  return index;
}

}  // namespace

std::optional<Architecture> architecture_of(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<Architecture>(i);
  }
  return std::nullopt;
}

size_t Opcode::operands() const {
  size_t count = 0;
  while (count < places.size() && places[count].count != 0) ++count;
  return count;
}

const Opcode* find_opcode(Architecture architecture, Format format, uint32_t number) {
  static const Index& index = *new Index(make_index());  // never destroyed: waves outlive main
  return number < kNumbers ? index[place_of(architecture, format, number)] : nullptr;
}

std::span<const Opcode> all_opcodes() { return kOpcodes; }

}  // namespace sonde::gpu
