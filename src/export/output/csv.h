// One CSV file of the formats that are a set of tables. It appears with its first row. Text is
// always in quotes, quotes inside are doubled; numbers are bare; NULL is empty.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "export/output/sink.h"

namespace sonde::exporting {

class CsvFile {
 public:
  // `header` is the first line as it shall stand, without line end.
  CsvFile(std::string path, std::string header);

  // A row is text() and number() for each column, then end_row().
  void text(std::string_view value);
  void number(int64_t value);
  void number(std::optional<int64_t> value);
  void known(int64_t value);  // empty below 0
  void real(double value);
  void bare(std::string_view text);  // as it is
  void empty() { begin_field(); }
  void end_row();

  // Row errors come out here. A file without rows is not made.
  Status finish();

 private:
  void begin_field();

  std::string path_, header_;
  std::optional<Sink> sink_;
  Status status_ = ok_status();
  bool in_row_ = false;
};

}  // namespace sonde::exporting
