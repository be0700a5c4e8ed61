// See table.cpp. Used by rocm/register.cpp.
#pragma once

#include <stddef.h>

namespace sonde::hip {

// Replaces functions in the table by ours; returns how many.
size_t take_table(void* table);

}  // namespace sonde::hip
