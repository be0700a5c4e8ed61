// CsvTable: the rows of a CSV file with a header, columns found by name. Text may be in quotes,
// hold line ends, and have quotes inside that are doubled or, as rocprofv3 writes them, not: a
// quote ends a field only before a comma or the end of the line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "importers/input/source.h"

namespace sonde::importers {

class CsvTable {
 public:
  // Reads the header. Fails if there is none.
  static Result<CsvTable> open(Source& source);

  // False at the end. Rows of another length than the header's are given out, too.
  Result<bool> next();
  size_t fields() const { return row_.size(); }
  const std::vector<std::string>& columns() const { return columns_; }
  bool has(std::string_view column) const { return index_.count(std::string(column)) > 0; }
  std::string place() const;  // "results.csv:17"

  // "" where the column or the field is not there; "None" counts as not there.
  std::string_view text(std::string_view column) const;
  std::string_view text(size_t column) const;
  std::optional<int64_t> integer(std::string_view column) const;
  int64_t integer_or(std::string_view column, int64_t fallback) const {
    return integer(column).value_or(fallback);
  }

 private:
  explicit CsvTable(Source& source) : path_(source.path()), lines_(source) {}
  Result<bool> read_row(std::vector<std::string>& fields);

  std::string path_;
  Lines lines_;
  std::vector<std::string> columns_, row_;
  std::unordered_map<std::string, size_t> index_;
  uint64_t first_line_ = 0;
};

// Whether the first line of `head` is a CSV header that has all of `columns`.
bool has_columns(std::string_view head, std::initializer_list<std::string_view> columns);

}  // namespace sonde::importers
