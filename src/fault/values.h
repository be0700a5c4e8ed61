// A kernel argument as text, by its type if that is known. Used by compose.cpp.
#pragma once

#include <cstdint>
#include <string>

namespace sonde::fault {

std::string value_text(const char* data, uint32_t bytes, const std::string& type);

}  // namespace sonde::fault
