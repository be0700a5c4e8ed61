#include "record/symbol_table.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace sonde::record {

namespace {

constexpr GElf_Addr kNearBytes = 4096;  // reach of a symbol without a size, from assembler code
constexpr int kMostEnclosing = 64;      // labels between the symbol and the address

bool is_of_code(const GElf_Sym& symbol) {
  const auto type = GELF_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF &&
         (type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC);
}

int rank_of(const GElf_Sym& symbol) {
  switch (GELF_ST_BIND(symbol.st_info)) {
    case STB_GLOBAL:
      return 0;
    case STB_WEAK:
      return 1;
    default:
      return 2;
  }
}

}  // namespace

SymbolTable::SymbolTable(Dwfl_Module* module) {
  const int count = dwfl_module_getsymtab(module);
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    const char* name =
        dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr);
    if (name == nullptr || *name == '\0' || !is_of_code(symbol)) continue;
    symbols_.push_back({address, symbol.st_size, rank_of(symbol), name});
  }
  // If two begin at the same address, the shorter one is the inner one.
  std::stable_sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
    return std::tie(a.begin, b.rank, b.size) < std::tie(b.begin, a.rank, a.size);
  });
}

const char* SymbolTable::at(GElf_Addr address) const {
  auto behind = std::upper_bound(
      symbols_.begin(), symbols_.end(), address,
      [](GElf_Addr wanted, const Symbol& symbol) { return wanted < symbol.begin; });
  const char* near = nullptr;
  for (int i = 0; behind != symbols_.begin() && i < kMostEnclosing; ++i) {
    const Symbol& symbol = *--behind;
    const GElf_Addr offset = address - symbol.begin;
    if (offset < symbol.size) return symbol.name;
    if (symbol.size == 0 && offset < kNearBytes && near == nullptr) near = symbol.name;
  }
  return near;
}

UnitTable::UnitTable(Dwfl_Module* module) {
  Dwarf_Addr bias = 0;
  for (Dwarf_Die* unit = nullptr; (unit = dwfl_module_nextcu(module, unit, &bias)) != nullptr;) {
    Dwarf_Addr base = 0, begin = 0, end = 0;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(unit, at, &base, &begin, &end)) > 0;) {
      ranges_.push_back({begin + bias, end + bias, unit, bias});
    }
  }
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

Dwarf_Die* UnitTable::at(GElf_Addr address, Dwarf_Addr* bias) const {
  const auto behind =
      std::upper_bound(ranges_.begin(), ranges_.end(), address,
                       [](GElf_Addr wanted, const Range& range) { return wanted < range.begin; });
  if (behind == ranges_.begin() || address >= (behind - 1)->end) return nullptr;
  *bias = (behind - 1)->bias;
  return (behind - 1)->unit;
}

}  // namespace sonde::record
