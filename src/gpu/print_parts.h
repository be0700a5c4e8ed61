// Parts of print.h. Private to it.
#pragma once

#include <string>

#include "gpu/instruction.h"

namespace sonde::gpu {

// "v[0:1]", "s4", "vcc", "-1", "0x12345678". `is_double`: a constant has 64 bits.
std::string operand_text(const Operand& operand, uint32_t literal, bool is_double = false);
// A scalar operand that is not in the table: an offset or base of memory instructions.
std::string scalar_text(uint16_t number, uint8_t count = 1);

// The text after the mnemonic, without the space: of scalar and of memory instructions.
std::string scalar_operands(const Instruction& instruction);
std::string memory_operands(const Instruction& instruction);

}  // namespace sonde::gpu
