// The symbols and compilation units of one file, sorted by address. libdwfl searches all symbols
// for each address, and the units were searched the same way: that took minutes for a file like
// JAX's, with a million symbols and thousands of frames. Used by symbols.cpp.
#pragma once

#include <elfutils/libdwfl.h>

#include <vector>

namespace sonde::record {

class SymbolTable {
 public:
  explicit SymbolTable(Dwfl_Module* module);

  // The symbol of the function at an address: the innermost one that covers it, else one without a
  // size shortly before it; null if there is none. Global symbols are preferred to local ones.
  const char* at(GElf_Addr address) const;

 private:
  struct Symbol {
    GElf_Addr begin;
    GElf_Xword size;
    int rank;  // of its binding; lower is better
    const char* name;
  };
  std::vector<Symbol> symbols_;
};

// The compilation units whose address ranges can be searched.
class UnitTable {
 public:
  explicit UnitTable(Dwfl_Module* module);

  Dwarf_Die* at(GElf_Addr address, Dwarf_Addr* bias) const;

 private:
  struct Range {
    GElf_Addr begin, end;
    Dwarf_Die* unit;
    Dwarf_Addr bias;
  };
  std::vector<Range> ranges_;
};

}  // namespace sonde::record
