#include "store/op_class.h"

namespace sonde::store {

namespace {

constexpr std::string_view kKernelType = "KernelExecution";
constexpr std::string_view kOtherTypes[] = {"Barrier", "Marker", "NativeKernel", "Other"};

// What the names of the types that move memory begin with.
struct Prefix {
  std::string_view text;
  OpClass op_class;
};
constexpr Prefix kMemoryPrefixes[] = {{"Copy", OpClass::kCopy},
                                      {"Map", OpClass::kCopy},
                                      {"Unmap", OpClass::kCopy},
                                      {"Migrate", OpClass::kCopy},
                                      {"Fill", OpClass::kFill}};

std::string quoted(std::string_view text, const char* end = "'") {
  return "'" + std::string(text) + end;
}

}  // namespace

OpClass class_of_type(std::string_view type) {
  if (type == kKernelType) return OpClass::kKernel;
  for (const Prefix& prefix : kMemoryPrefixes) {
    if (type.substr(0, prefix.text.size()) == prefix.text) return prefix.op_class;
  }
  for (const std::string_view other : kOtherTypes) {
    if (type == other) return OpClass::kOther;
  }
  return OpClass::kUnknown;
}

std::string is_kernel_sql() {
  std::string sql = "(t.string = " + quoted(kKernelType) + " OR (n.string <> ''";
  for (const std::string_view other : kOtherTypes) {
    sql += " AND coalesce(t.string, '') <> " + quoted(other);
  }
  return sql + " AND NOT coalesce(" + moves_memory_sql() + ", 0)))";
}

std::string moves_memory_sql() {
  std::string sql;
  for (const Prefix& prefix : kMemoryPrefixes) {
    sql += (sql.empty() ? "(" : " OR ") + ("t.string GLOB " + quoted(prefix.text, "*'"));
  }
  return sql + ")";
}

}  // namespace sonde::store
