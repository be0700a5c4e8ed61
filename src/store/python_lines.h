// Lines of Python code: from an instruction's offset to its line, by the table that each version of
// CPython keeps with a code object; and whose code it is.
#pragma once

#include <cstdint>
#include <string_view>

namespace sonde::store {

// `version` is 0x30b for 3.11. 0 if the instruction has no line; `first_line` if there is no table.
int64_t python_line(uint32_t version, std::string_view table, int64_t first_line, uint64_t offset);

// Whether a library or Python file is Sonde's own: what runs there is never the user's code.
bool is_of_sonde(std::string_view file);

// Python's own library, what is installed beside it, and Sonde's own.
bool is_python_library(std::string_view file);

}  // namespace sonde::store
