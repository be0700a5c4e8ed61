// Disassembly of an instruction, in the form of LLVM's disassembler.
#pragma once

#include <string>

#include "gpu/instruction.h"

namespace sonde::gpu {

// "v_add_f32_e32 v1, v2, v3". A branch shows its encoded operand: the distance in words from the
// next instruction.
std::string text_of(const Instruction& instruction);

}  // namespace sonde::gpu
