// Reads a program's GPU code as the runtime's loader has placed it in memory.
#pragma once

#include <cstdint>
#include <string_view>

namespace softgpu {

// The address of a symbol in the loaded code object that contains `kernel_object` (a kernel
// descriptor); 0 if there is none.
uint64_t loaded_symbol(uint64_t kernel_object, std::string_view name);

}  // namespace softgpu
