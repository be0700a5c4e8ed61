// Assembly of an instruction, as LLVM's disassembler writes it.
#pragma once

#include <string>

#include "gpu/instruction.h"

namespace sonde::gpu {

// "v_add_f32_e32 v1, v2, v3". A branch has the distance in words behind the next instruction, as it
// is encoded.
std::string text_of(const Instruction& instruction);

// The address that a branch at `address` goes to; nullopt for other instructions.
std::optional<uint64_t> branch_target(const Instruction& instruction, uint64_t address);

}  // namespace sonde::gpu
