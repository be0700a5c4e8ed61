#include "importers/input/csv_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/strings.h"
#include "importers/input/decimal.h"

namespace sonde::importers {

namespace {

constexpr size_t kMostFieldLines = 10'000;  // of one row: an unclosed quote

// Appends the fields of `line`. Returns whether the last field is still open: its quote has not
// been closed, and the row goes on with the next line.
bool split_line(std::string_view line, bool in_quotes, std::vector<std::string>& fields) {
  if (!in_quotes) fields.emplace_back();
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_quotes) {
      if (c != '"') {
        fields.back() += c;
      } else if (i + 1 == line.size() || line[i + 1] == ',') {
        in_quotes = false;
      } else {
        fields.back() += c;
        if (line[i + 1] == '"') ++i;
      }
    } else if (c == ',') {
      fields.emplace_back();
    } else if (c == '"' && fields.back().empty()) {
      in_quotes = true;
    } else {
      fields.back() += c;
    }
  }
  return in_quotes;
}

}  // namespace

Result<CsvTable> CsvTable::open(Source& source) {
  CsvTable table(source);
  do {
    SONDE_ASSIGN(const bool more, table.read_row(table.columns_));
    if (!more) {
      return make_error(ErrorCode::kBadData, "no CSV header", table.path_, "the file is empty");
    }
  } while (table.columns_.size() == 1 && table.columns_[0].empty());
  for (size_t i = 0; i < table.columns_.size(); ++i) table.index_.emplace(table.columns_[i], i);
  return table;
}

Result<bool> CsvTable::read_row(std::vector<std::string>& fields) {
  fields.clear();
  bool open = false;
  std::string_view line;
  for (size_t count = 0; count == 0 || (open && count < kMostFieldLines); ++count) {
    SONDE_ASSIGN(const bool more, lines_.next(line));
    if (!more) return count > 0;
    if (count == 0) first_line_ = lines_.row();
    if (open) fields.back() += '\n';
    open = split_line(line, open, fields);
  }
  return true;
}

Result<bool> CsvTable::next() {
  while (true) {
    SONDE_ASSIGN(const bool more, read_row(row_));
    if (!more) return false;
    if (row_.size() > 1 || !row_[0].empty()) return true;  // rocprofv2 leaves lines empty
  }
}

std::string CsvTable::place() const { return fmt::format("{}:{}", path_, first_line_); }

std::string_view CsvTable::text(size_t column) const {
  if (column >= row_.size() || row_[column] == "None") return {};
  return row_[column];
}

std::string_view CsvTable::text(std::string_view column) const {
  const auto at = index_.find(std::string(column));
  return at == index_.end() ? std::string_view() : text(at->second);
}

std::optional<int64_t> CsvTable::integer(std::string_view column) const {
  return parse_number(trim(text(column)));
}

bool has_columns(std::string_view head, std::initializer_list<std::string_view> columns) {
  std::vector<std::string> found;
  split_line(trim(head.substr(0, head.find('\n'))), false, found);
  return std::all_of(columns.begin(), columns.end(), [&](std::string_view column) {
    return std::find(found.begin(), found.end(), column) != found.end();
  });
}

}  // namespace sonde::importers
