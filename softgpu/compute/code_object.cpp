#include "compute/code_object.h"

#include <elf.h>

#include <cstring>

namespace softgpu {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLargestCode = 1ull << 30;
constexpr uint16_t kMachine = 224;  // EM_AMDGPU

template <class T>
const T* at(uint64_t address) {
  return reinterpret_cast<const T*>(address);
}

// The loader keeps the ELF header before the first segment.
const Elf64_Ehdr* find_header(uint64_t inside) {
  uint64_t page = inside & ~(kPage - 1);
  for (uint64_t tried = 0; tried < kLargestCode && page >= kPage; tried += kPage, page -= kPage) {
    const auto* header = at<Elf64_Ehdr>(page);
    if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_machine == kMachine)
      return header;
  }
  return nullptr;
}

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
  const Elf64_Ehdr* header = find_header(kernel_object);
  if (!header) return 0;
  auto base = reinterpret_cast<uint64_t>(header);
  const auto* segments = at<Elf64_Phdr>(base + header->e_phoff);
  uint64_t symbols = 0;
  uint64_t strings = 0;
  uint64_t hash = 0;
  for (uint16_t i = 0; i < header->e_phnum; i++) {
    if (segments[i].p_type != PT_DYNAMIC) continue;
    for (const auto* entry = at<Elf64_Dyn>(base + segments[i].p_vaddr); entry->d_tag; entry++) {
      if (entry->d_tag == DT_SYMTAB) symbols = base + entry->d_un.d_ptr;
      if (entry->d_tag == DT_STRTAB) strings = base + entry->d_un.d_ptr;
      if (entry->d_tag == DT_HASH) hash = base + entry->d_un.d_ptr;
    }
  }
  if (!symbols || !strings || !hash) return 0;
  const auto* table = at<uint32_t>(hash);  // bucket count, chain count, buckets, chains
  uint32_t buckets = table[0];
  if (!buckets) return 0;
  for (uint32_t i = table[2 + hash_of(name) % buckets]; i; i = table[2 + buckets + i]) {
    const Elf64_Sym& symbol = at<Elf64_Sym>(symbols)[i];
    if (name == at<char>(strings + symbol.st_name)) return base + symbol.st_value;
  }
  return 0;
}

}  // namespace softgpu
