#include "device/names.h"

#include <elf.h>

#include <array>
#include <cstring>
#include <string_view>

namespace softgpu {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint16_t kMachineAmdGpu = 224;
constexpr uint64_t kLargestCodeObject = 1ull << 30;
constexpr uint64_t kLongestName = 64 * 1024;
constexpr std::string_view kSuffix = ".kd";

struct Symbols {
  uint64_t table = 0, text = 0;
  uint32_t count = 0;
};

// Dynamic section entries are offsets into the code object, or absolute addresses already.
uint64_t address_of(uint64_t elf, uint64_t value) { return value >= elf ? value : elf + value; }

Symbols find_symbols(const GpuMemory& memory, uint64_t elf) {
  Symbols symbols;
  const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(elf);
  uint64_t dynamic = 0;
  for (unsigned i = 0; i < header.e_phnum && i < 64; ++i) {
    const auto* segment = memory.at<Elf64_Phdr>(elf + header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment && segment->p_type == PT_DYNAMIC) dynamic = elf + segment->p_vaddr;
  }
  for (unsigned i = 0; dynamic && i < 64; ++i) {
    const auto* entry = memory.at<Elf64_Dyn>(dynamic + i * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    uint64_t address = address_of(elf, entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) symbols.table = address;
    if (entry->d_tag == DT_STRTAB) symbols.text = address;
    if (entry->d_tag == DT_HASH) {
      if (const auto* words = memory.at<std::array<uint32_t, 2>>(address)) {
        symbols.count = (*words)[1];
      }
    }
  }
  return symbols;
}

// "" if the text is not completely mapped.
std::string read_text(const GpuMemory& memory, uint64_t address) {
  std::string text;
  while (text.size() < kLongestName) {
    uint64_t piece = kPage - address % kPage;
    if (memory.check(address, piece)) return "";
    const char* start = reinterpret_cast<const char*>(address);
    size_t length = strnlen(start, piece);
    text.append(start, length);
    if (length < piece) return text;
    address += piece;
  }
  return "";
}

std::string without_suffix(std::string name) {
  if (name.size() > kSuffix.size() && name.ends_with(kSuffix)) {
    name.resize(name.size() - kSuffix.size());
  }
  return name;
}

}  // namespace

const std::string& KernelNames::find(uint64_t kernel_object) {
  auto found = entries_.find(kernel_object);
  if (found != entries_.end() && still_there(found->second, kernel_object)) {
    return found->second.name;
  }
  Entry& entry = entries_[kernel_object];
  entry = look_up(kernel_object);
  return entry.name;
}

// The beginning of the descriptor: sizes and the offset of the code.
uint64_t KernelNames::read_head(uint64_t kernel_object) const {
  const auto* words = memory_.at<std::array<uint64_t, 4>>(kernel_object);
  return words ? (*words)[0] ^ ((*words)[1] << 1) ^ ((*words)[2] << 2) : 0;
}

bool KernelNames::still_there(const Entry& entry, uint64_t kernel_object) const {
  if (read_head(kernel_object) != entry.head) return false;
  if (!entry.symbol) return true;
  const auto* symbol = memory_.at<Elf64_Sym>(entry.symbol);
  if (!symbol || symbol->st_value != entry.value) return false;
  if (memory_.check(entry.text, entry.name.size() + 1)) return false;
  return std::memcmp(reinterpret_cast<const char*>(entry.text), entry.name.data(),
                     entry.name.size()) == 0;
}

uint64_t KernelNames::find_elf(uint64_t kernel_object) const {
  uint64_t page = kernel_object & ~(kPage - 1);
  for (uint64_t back = 0; back < kLargestCodeObject && back <= page; back += kPage) {
    const auto* header = memory_.at<Elf64_Ehdr>(page - back);
    if (!header) return 0;
    if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_machine == kMachineAmdGpu) {
      return page - back;
    }
  }
  return 0;
}

KernelNames::Entry KernelNames::look_up(uint64_t kernel_object) const {
  Entry entry;
  entry.head = read_head(kernel_object);
  uint64_t elf = find_elf(kernel_object);
  if (!elf) return entry;
  Symbols symbols = find_symbols(memory_, elf);
  if (!symbols.table || !symbols.text) return entry;
  for (uint32_t i = 0; i < symbols.count; ++i) {
    uint64_t address = symbols.table + i * sizeof(Elf64_Sym);
    const auto* symbol = memory_.at<Elf64_Sym>(address);
    if (!symbol) break;
    if (symbol->st_value != kernel_object - elf) continue;
    std::string name = read_text(memory_, symbols.text + symbol->st_name);
    if (!name.ends_with(kSuffix)) continue;  // another symbol at the same address
    entry.symbol = address;
    entry.value = symbol->st_value;
    entry.text = symbols.text + symbol->st_name;
    entry.name = without_suffix(std::move(name));
    break;
  }
  return entry;
}

}  // namespace softgpu
