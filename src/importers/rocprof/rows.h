// The records of rocprof v1 told to a sink. Its CSV, JSON and SQLite files hold the same ones, as
// names with texts; used by the importers of these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "importers/sink/sink.h"
#include "importers/sink/tally.h"

namespace sonde::importers {

// One record: its fields by name. "None" and an empty text are not values.
class RocprofRecord {
 public:
  void clear() { used_ = 0; }
  void add(std::string_view name, std::string_view text);
  std::string_view text(std::string_view name) const;
  std::optional<int64_t> integer(std::string_view name) const;
  int64_t integer_or(std::string_view name, int64_t fallback) const {
    return integer(name).value_or(fallback);
  }
  size_t size() const { return used_; }
  const std::pair<std::string, std::string>& at(size_t i) const { return fields_[i]; }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
  size_t used_ = 0;
};

// Sets the axes from a file that has only their product.
void set_axes(int64_t (&axes)[3], int64_t product);

class RocprofRows {
 public:
  RocprofRows(Sink& sink, Tally& tally) : sink_(sink), tally_(tally) {}

  // Each gives the id of its row, or 0 if the record was skipped.
  int64_t kernel(const RocprofRecord& record, std::string_view place);  // with its counters
  int64_t operation(const RocprofRecord& record, std::string_view place);
  int64_t call(const RocprofRecord& record, std::string_view domain, std::string_view place);
  int64_t marker(const RocprofRecord& record, std::string_view place);
  // Which call launched an operation; passed on once all are read. Operations without one are
  // passed on by finish().
  void launched(int64_t op, int64_t api);
  void finish();

 private:
  bool times(const RocprofRecord& record, std::string_view place, int64_t& start_ns,
             int64_t& end_ns);
  Api api_row(const RocprofRecord& record);

  Sink& sink_;
  Tally& tally_;
  std::vector<Launch> launches_;  // by order of their operations
  std::unordered_map<int64_t, size_t> launch_of_op_;
};

}  // namespace sonde::importers
