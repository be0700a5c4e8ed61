#include "metrics/csv_text.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "base/number.h"
#include "base/strings.h"

namespace sonde::metrics {
namespace {

constexpr off_t kMostBytes = off_t{4} << 30;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Past the closing quote of the field that begins at `at`.
size_t end_of_quoted(std::string_view text, size_t at) {
  ++at;
  while (true) {
    at = text.find('"', at);
    if (at == text.npos) return text.size();
    if (at + 1 >= text.size() || text[at + 1] != '"') return at + 1;
    at += 2;
  }
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return errno_error("cannot open", path, errno);
  if (!S_ISREG(facts.st_mode)) return make_error(ErrorCode::kBadData, "not a regular file", path);
  if (facts.st_size > kMostBytes) return make_error(ErrorCode::kBadData, "larger than 4 GiB", path);
  std::string text(static_cast<size_t>(facts.st_size), '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file) return errno_error("cannot open", path, errno);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

CsvText::CsvText(std::string_view text) : text_(text) {
  if (text_.substr(0, kByteOrderMark.size()) == kByteOrderMark) at_ = kByteOrderMark.size();
  if (!read_row()) return;
  for (const std::string_view field : fields_) header_.push_back(unquoted(field));
}

size_t CsvText::column(std::string_view name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  return found == header_.end() ? std::string::npos : static_cast<size_t>(found - header_.begin());
}

bool CsvText::next() {
  while (read_row()) {
    if (fields_.size() == header_.size()) return true;
    if (fields_.size() == 1 && trim(fields_[0]).empty()) continue;  // an empty line
    ++skipped_;
  }
  return false;
}

bool CsvText::read_row() {
  fields_.clear();
  if (at_ >= text_.size()) return false;
  while (true) {
    const size_t begin = at_;
    if (at_ < text_.size() && text_[at_] == '"') at_ = end_of_quoted(text_, at_);
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n') ++at_;
    size_t end = at_;
    const bool is_last = at_ >= text_.size() || text_[at_] == '\n';
    if (is_last && end > begin && text_[end - 1] == '\r') --end;
    fields_.push_back(text_.substr(begin, end - begin));
    if (at_ < text_.size()) ++at_;
    if (is_last) return true;
  }
}

std::string unquoted(std::string_view field) {
  field = trim(field);
  if (field.size() < 2 || field.front() != '"' || field.back() != '"') return std::string(field);
  std::string result;
  for (size_t i = 1; i + 1 < field.size(); ++i) {
    result += field[i];
    if (field[i] == '"' && field[i + 1] == '"') ++i;
  }
  return result;
}

double number_of(std::string_view field) {
  constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();
  field = trim(field);
  if (field.size() >= 2 && field.front() == '"' && field.back() == '"') {
    field = field.substr(1, field.size() - 2);
  }
  const auto value = number_in<double>(field);
  return value && std::isfinite(*value) ? *value : kNotKnown;
}

}  // namespace sonde::metrics
