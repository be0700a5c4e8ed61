#include <deque>
#include <string>
#include <unordered_map>

#include "isa/op.h"

namespace softgpu::isa {

class Table {
 public:
  void add(std::string name, Handler handler) {
    names_.push_back(std::move(name));
    handlers_[names_.back()] = handler;
  }
  Handler find(std::string_view name) const {
    const auto found = handlers_.find(name);
    return found == handlers_.end() ? nullptr : found->second;
  }

 private:
  std::deque<std::string> names_;  // a deque, since the names must not move
  std::unordered_map<std::string_view, Handler> handlers_;
};

void add(Table& table, const char* name, Handler handler) { table.add(name, handler); }
void add(Table& table, std::initializer_list<const char*> parts_of_name, Handler handler) {
  std::string name;
  for (const char* part : parts_of_name) name += part;
  table.add(std::move(name), handler);
}
void add(Table& table, const char* prefix, const char* name, Handler handler) {
  add(table, {prefix, name}, handler);
}

namespace level1 {
void add_all(Table& table);
}
namespace level3 {
void add_all(Table& table);
}

namespace {

Table make_table() {
  Table table;
#ifdef SOFTGPU_ISA_HAS_LEVEL3
  // The parts of x86-64-v3 that compilers benefit from here: vectors of eight numbers and fused
  // multiply-add.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c") &&
      __builtin_cpu_supports("popcnt")) {
    level3::add_all(table);
    return table;
  }
#endif
  level1::add_all(table);
  return table;
}

}  // namespace

Handler find_handler(std::string_view name) {
  static const Table& table = *new Table(make_table());  // never destroyed: waves outlive main
  return table.find(name);
}

}  // namespace softgpu::isa
