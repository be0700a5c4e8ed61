// The symbols and the units of one file, in the order of their addresses. libdwfl looks at every
// symbol for each address, and so did we at every unit: minutes for a file like JAX's, which has a
// million symbols and thousands of frames. Used by symbols.cpp.
#pragma once

#include <elfutils/libdwfl.h>

#include <vector>

namespace sonde::record {

class SymbolTable {
 public:
  explicit SymbolTable(Dwfl_Module* module);

  // The symbol of the function at an address: the innermost that covers it, else one without a
  // size that lies shortly before; null if there is none. What is known to everybody goes before
  // what is known to its file.
  const char* at(GElf_Addr address) const;

 private:
  struct Symbol {
    GElf_Addr begin;
    GElf_Xword size;
    int rank;  // of its binding, the best first
    const char* name;
  };
  std::vector<Symbol> symbols_;
};

// The units of debug information whose ranges an address can be looked up in.
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
