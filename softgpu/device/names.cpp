#include "device/names.h"

#include <array>
#include <cstring>
#include <string_view>

#include "compute/code_object.h"

namespace softgpu {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLongestName = 64 * 1024;
constexpr std::string_view kSuffix = ".kd";

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

KernelNames::Entry KernelNames::look_up(uint64_t kernel_object) const {
  Entry entry;
  entry.head = read_head(kernel_object);
  const uint64_t elf = find_code_object(memory_, kernel_object);
  if (!elf) return entry;
  const SymbolTables tables = find_symbol_tables(memory_, elf);
  const auto* hash = memory_.at<std::array<uint32_t, 2>>(tables.hash);
  if (!tables.symbols || !tables.texts || !hash) return entry;
  for (uint32_t i = 0; i < (*hash)[1]; ++i) {
    uint64_t address = tables.symbols + i * sizeof(Elf64_Sym);
    const auto* symbol = memory_.at<Elf64_Sym>(address);
    if (!symbol) break;
    if (symbol->st_value != kernel_object - elf) continue;
    std::string name = read_text(memory_, tables.texts + symbol->st_name);
    if (!name.ends_with(kSuffix)) continue;  // another symbol at the same address
    entry.symbol = address;
    entry.value = symbol->st_value;
    entry.text = tables.texts + symbol->st_name;
    entry.name = without_suffix(std::move(name));
    break;
  }
  return entry;
}

}  // namespace softgpu
