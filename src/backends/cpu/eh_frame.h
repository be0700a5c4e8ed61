// Unwind rules for a function of x86-64 code, from the .eh_frame section that every compiled file
// has: where the caller's registers are. The unwinder asks for an address that it meets for the
// first time. Reads the section where it is mapped, or through copies if another thread may unmap
// it meanwhile; allocates nothing, and never reads outside the module, so it can run in a signal
// handler.
#pragma once

#include <stdint.h>

namespace sonde::cpu {

// The registers that matter, by DWARF number.
enum DwarfRegister : uint32_t { kRbp = 6, kRsp = 7, kReturnAddress = 16, kRegisters = 17 };

struct Expression {
  const uint8_t* begin = nullptr;
  const uint8_t* end = nullptr;
};

// Where the caller's registers are, at one instruction.
struct Rules {
  enum class Cfa : uint8_t { kRegister, kExpression } cfa = Cfa::kRegister;
  enum class Saved : uint8_t { kSame, kAtOffset, kUndefined, kExpression };
  uint32_t cfa_register = 0;
  int64_t cfa_offset = 0;
  Expression cfa_expression;
  Saved rbp = Saved::kSame;
  int64_t rbp_offset = 0;  // from the CFA, unless rbp_expression says where
  Expression rbp_expression;
  Saved return_address = Saved::kUndefined;
  int64_t return_offset = 0;
  bool signal_frame = false;
  uint64_t from = 0, to = 0;  // the addresses for which all of this holds: [from, to)
};

// A mapped module.
struct Section {
  uint64_t start = 0, end = 0;      // of the module
  const uint8_t* header = nullptr;  // its .eh_frame_hdr
};

// Room for what is read of a section. Twice the largest function description of LLVM fits.
struct Copies {
  static constexpr uint32_t kRows = 64;
  int32_t rows[kRows][2];
  uint8_t cie[128];
  uint8_t fde[4096];
};

// The rules at `pc`; false if the module has none for it, none that this code understands, or is
// gone. `copies`: nullptr if the module stays mapped; else the rules' expressions point into it.
bool find_rules(const Section& section, uint64_t pc, Copies* copies, Rules& rules);

// A DWARF expression over registers and memory. `read(address, &word)` returns whether it could
// read. `initial` is the value on the stack at the beginning, if `has_initial`.
struct ExpressionInput {
  const uint64_t* registers = nullptr;  // kRegisters of them
  uint32_t known = 0;                   // bit n: register n is known
  bool has_initial = false;
  uint64_t initial = 0;
  bool (*read)(void* context, uint64_t address, uint64_t& word) = nullptr;
  void* context = nullptr;
};
bool evaluate(const Expression& expression, const ExpressionInput& input, uint64_t& result);

}  // namespace sonde::cpu
