// Reads a program's GPU code as the runtime's loader has placed it in memory. A Memory's
// at<T>(address) is nullptr if the T cannot be read.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace softgpu {

// The code object around an address in it; 0 if there is none. The loader keeps the ELF header
// before the first segment.
template <class Memory>
uint64_t find_code_object(const Memory& memory, uint64_t inside) {
  constexpr uint64_t kPage = 4096, kLargest = 1ull << 30;
  constexpr uint16_t kMachine = 224;  // EM_AMDGPU
  const uint64_t page = inside & ~(kPage - 1);
  for (uint64_t back = 0; back < kLargest && back < page; back += kPage) {
    const auto* header = memory.template at<Elf64_Ehdr>(page - back);
    if (header == nullptr) return 0;
    if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_machine == kMachine)
      return page - back;
  }
  return 0;
}

// Addresses; 0 = there is none.
struct SymbolTables {
  uint64_t symbols = 0, texts = 0;
  uint64_t hash = 0;  // bucket count, chain count, buckets, chains: one for each symbol
};

template <class Memory>
SymbolTables find_symbol_tables(const Memory& memory, uint64_t code_object) {
  constexpr unsigned kMost = 64;
  const auto* header = memory.template at<Elf64_Ehdr>(code_object);
  uint64_t dynamic = 0;
  for (unsigned i = 0; header != nullptr && i < header->e_phnum && i < kMost; ++i) {
    const auto* segment =
        memory.template at<Elf64_Phdr>(code_object + header->e_phoff + i * sizeof(Elf64_Phdr));
    if (segment && segment->p_type == PT_DYNAMIC) dynamic = code_object + segment->p_vaddr;
  }
  SymbolTables tables;
  for (unsigned i = 0; dynamic != 0 && i < kMost; ++i) {
    const auto* entry = memory.template at<Elf64_Dyn>(dynamic + i * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    // Offsets into the code object, or absolute addresses already.
    const uint64_t value = entry->d_un.d_ptr;
    const uint64_t address = value >= code_object ? value : code_object + value;
    if (entry->d_tag == DT_SYMTAB) tables.symbols = address;
    if (entry->d_tag == DT_STRTAB) tables.texts = address;
    if (entry->d_tag == DT_HASH) tables.hash = address;
  }
  return tables;
}

// The address of a symbol in the loaded code object that contains `kernel_object` (a kernel
// descriptor); 0 if there is none.
uint64_t loaded_symbol(uint64_t kernel_object, std::string_view name);

}  // namespace softgpu
