// What a device operation is: told from the text of rocpd_op.opType, and from whether the operation
// has a name. The one definition that the analyses, the exporters and the views of the file go by;
// the conditions in SQL are made from the same lists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sonde::store {

// kCopy also has maps, unmaps and migrations. kOther is not a kernel, whatever its name: barriers,
// host functions, and what a backend calls other. kUnknown is any other type.
enum class OpClass : uint8_t { kKernel, kCopy, kFill, kOther, kUnknown };

OpClass class_of_type(std::string_view type);

// An operation of unknown type with a name is a kernel: RPD gives the kernels of a graph the type
// Task.
inline OpClass class_of_op(OpClass by_type, bool has_name) {
  return by_type == OpClass::kUnknown && has_name ? OpClass::kKernel : by_type;
}

inline bool moves_memory(OpClass op) { return op == OpClass::kCopy || op == OpClass::kFill; }

// The same of an operation whose type is the string row t and whose name is the string row n.
std::string is_kernel_sql();
std::string moves_memory_sql();

}  // namespace sonde::store
