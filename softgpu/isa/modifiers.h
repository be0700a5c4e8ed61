// Modifiers that can be encoded, but whose meaning is undocumented: waves stop there as at an
// unknown instruction, rather than compute something else.
#pragma once

#include "isa/op.h"

namespace softgpu::isa {

// Whether the instruction's function implements all of its modifiers.
bool honours_modifiers(const Op& op);

}  // namespace softgpu::isa
