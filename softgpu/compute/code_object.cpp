#include "compute/code_object.h"

namespace softgpu {

namespace {

struct OwnMemory {
  template <class T>
  const T* at(uint64_t address) const {
    return reinterpret_cast<const T*>(address);
  }
};

uint32_t hash_of(std::string_view name) {
  uint32_t hash = 0;
  for (unsigned char c : name) {
    hash = (hash << 4) + c;
    hash ^= (hash & 0xf0000000) >> 24;
    hash &= 0x0fffffff;
  }
  return hash;
}

}  // namespace

uint64_t loaded_symbol(uint64_t kernel_object, std::string_view name) {
  constexpr OwnMemory kMemory;
  const uint64_t base = find_code_object(kMemory, kernel_object);
  if (!base) return 0;
  const SymbolTables tables = find_symbol_tables(kMemory, base);
  if (!tables.symbols || !tables.texts || !tables.hash) return 0;
  const auto* table = kMemory.at<uint32_t>(tables.hash);
  uint32_t buckets = table[0];
  if (!buckets) return 0;
  for (uint32_t i = table[2 + hash_of(name) % buckets]; i; i = table[2 + buckets + i]) {
    const Elf64_Sym& symbol = kMemory.at<Elf64_Sym>(tables.symbols)[i];
    if (name == kMemory.at<char>(tables.texts + symbol.st_name)) return base + symbol.st_value;
  }
  return 0;
}

}  // namespace softgpu
