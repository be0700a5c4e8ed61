// The arguments of a track event: debug annotations as JSON, and what they say of an operation of a
// device. Used by the Perfetto importer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "importers/perfetto/texts.h"

namespace simdjson::dom {
class parser;
}

namespace sonde::importers {

// What slices of rocprofv3, ROCm Systems Profiler and Sonde say of an operation; -1 = nothing.
struct PerfettoOpFacts {
  int64_t correlation = -1, dispatch = -1, kernel_id = -1;
  int64_t gpu = -1, source_gpu = -1, queue = -1, stream = -1, bytes = -1;
  int64_t grid[3] = {-1, -1, -1}, group[3] = {-1, -1, -1};
  int64_t group_segment_bytes = -1, private_segment_bytes = -1;
  bool grid_in_groups = false;  // grid_x ..., as Sonde writes it; else in work items
  bool has_device = false, has_stream = false;
  std::string mangled_name;  // of a kernel, as Sonde writes it
};

// 0 for "grid_x", 1 for "grid_y", 2 for "grid_z" with the prefix "grid_"; -1 for other names.
int axis_in(std::string_view name, std::string_view prefix);

struct PerfettoArgs {
  PerfettoArgs();
  ~PerfettoArgs();
  std::string text;  // a JSON object; a text called "args" alone stands for itself
  PerfettoOpFacts facts;
  bool marker = false;

  void clear();
  void add(PerfettoSequence& sequence, const TextPool& pool, std::string_view annotation);
  void finish();

 private:
  std::string only_text_;  // of "args"
  bool as_pairs_ = false;  // as Sonde marks them: "name = value | name = value"
  std::string pairs_;
  int count_ = 0;
  std::unique_ptr<simdjson::dom::parser> parser_;  // of values that are JSON
};

}  // namespace sonde::importers
