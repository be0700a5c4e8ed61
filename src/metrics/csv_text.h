// A CSV file held in memory, row by row, for tables with thousands of columns but few that are
// wanted: fields are views, and numbers are read when they are asked for. Used by
// workload/folder.cpp. A field in quotes may hold commas, line ends and doubled quotes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sonde::metrics {

// The whole of a regular file.
Result<std::string> read_text_file(const std::string& path);

class CsvText {
 public:
  // `text` must outlive it; the first row is the header.
  explicit CsvText(std::string_view text);

  const std::vector<std::string>& header() const { return header_; }
  // npos if there is none; of several with the same name the first.
  size_t column(std::string_view name) const;

  // The next row with as many fields as the header; others are counted in skipped().
  bool next();
  std::string_view field(size_t column) const { return fields_[column]; }
  size_t skipped() const { return skipped_; }

 private:
  bool read_row();

  std::string_view text_;
  size_t at_ = 0;
  std::vector<std::string> header_;
  std::vector<std::string_view> fields_;
  size_t skipped_ = 0;
};

// What stands in quotes, with "" made to ".
std::string unquoted(std::string_view field);
// NaN unless the whole text is a finite number.
double number_of(std::string_view field);

}  // namespace sonde::metrics
