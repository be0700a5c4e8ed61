// Reads what the runtime's loader has put into memory for a program's GPU code.
#pragma once

#include <cstdint>
#include <string_view>

namespace softgpu {

// The address of a symbol of the loaded code object that holds `kernel_object` (a kernel
// descriptor); 0 if there is none.
uint64_t loaded_symbol(uint64_t kernel_object, std::string_view name);

}  // namespace softgpu
