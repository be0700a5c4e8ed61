// Modifiers that an instruction can be written with, but whose meaning nobody has documented: waves
// stop there as at an instruction that is not known, rather than compute something else.
#pragma once

#include "isa/op.h"

namespace softgpu::isa {

// Whether the function for an instruction does what all of its modifiers say.
bool honours_modifiers(const Op& op);

}  // namespace softgpu::isa
