// The rows of a trace while its index is built: records in a file without a name. Private to
// src/timeline.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/reader.h"
#include "timeline/build_index.h"
#include "timeline/mapped_file.h"

namespace sonde::timeline {

struct OpRecord {
  int64_t start_ns = 0, end_ns = 0, id = 0;
  uint32_t queue = 0;           // index into Rows::queues
  uint32_t name = 0, type = 0;  // as the file's strings are numbered here
  uint32_t lane = 0;
};

struct ApiRecord {
  int64_t start_ns = 0, end_ns = 0, id = 0;
  uint32_t thread = 0;  // index into Rows::threads
  uint32_t name = 0;
  uint32_t text = 0;  // of a marker: 1 + index into the texts; 0 = none
  uint32_t lane = 0;
};

struct Rows {
  MappedFile op_file, api_file;
  std::vector<trace::Queue> queues;
  std::vector<std::pair<int64_t, int64_t>> threads;  // process and thread
  std::vector<std::string> names;
  std::vector<uint32_t> name_of;  // by number of a string
  std::vector<uint32_t> text_of;  // by number of a text
  uint32_t empty_name = 0;
  std::vector<trace::Device> devices;
  std::vector<std::string> warnings;
  int64_t origin_ns = 0;

  size_t op_count() const { return op_file.size() / sizeof(OpRecord); }
  size_t api_count() const { return api_file.size() / sizeof(ApiRecord); }
  std::span<OpRecord> ops() const { return op_file.as<OpRecord>(0, op_count()); }
  std::span<ApiRecord> apis() const { return api_file.as<ApiRecord>(0, api_count()); }
  // What the page calls it: as Trace::label() and Apis::label.
  uint32_t label_of(const OpRecord& op) const {
    const uint32_t name = name_of[op.name];
    return name == empty_name ? name_of[op.type] : name;
  }
  uint32_t label_of(const ApiRecord& api) const {
    const uint32_t text = api.text == 0 ? empty_name : text_of[api.text - 1];
    return text == empty_name ? name_of[api.name] : text;
  }
};

// `known` names have the first numbers, in their order.
Result<Rows> read_rows(store::Reader& reader, const std::string& folder, Progress& progress,
                       Names known);
// As a Trace sorts them, so that rows have the same numbers there.
void sort_rows(Rows& rows);

}  // namespace sonde::timeline
