#include "store/python_lines.h"

namespace sonde::store {

namespace {

uint8_t byte_at(std::string_view table, size_t i) {
  return i < table.size() ? static_cast<uint8_t>(table[i]) : 0;
}

// Up to 3.9: pairs of steps, of the offset and then of the line.
int64_t line_by_steps(std::string_view table, int64_t line, uint64_t offset) {
  uint64_t at = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    at += byte_at(table, i);
    if (at > offset) break;
    line += static_cast<int8_t>(byte_at(table, i + 1));
  }
  return line;
}

// 3.10: pairs of a length and a step of the line before it; -128: no line.
int64_t line_by_ranges(std::string_view table, int64_t line, uint64_t offset) {
  uint64_t end = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    const auto step = static_cast<int8_t>(byte_at(table, i + 1));
    end += byte_at(table, i);
    if (step != -128) line += step;
    if (offset < end) return step != -128 ? line : 0;
  }
  return line;
}

// From 3.11 on: entries of a first byte, with the form and the length in code units, and numbers.
class Locations {
 public:
  explicit Locations(std::string_view table) : table_(table) {}

  int64_t line_of(int64_t line, uint64_t offset) {
    uint64_t end = 0;
    while (at_ < table_.size()) {
      const uint8_t first = byte_at(table_, at_++);
      const uint32_t form = first >> 3 & 15;
      end += (first & 7u) * 2 + 2;
      line += step(form);
      if (offset < end) return form != 15 ? line : 0;
    }
    return line;
  }

 private:
  int64_t step(uint32_t form) {
    if (form <= 9) {  // columns within the line before
      ++at_;
      return 0;
    }
    if (form <= 12) {
      at_ += 2;
      return form - 10;
    }
    if (form == 15) return 0;
    const uint64_t number = varint();
    const int64_t half = static_cast<int64_t>(number >> 1);
    if (form == 14) {
      for (int i = 0; i < 3; ++i) varint();  // end line and columns
    }
    return (number & 1) != 0 ? -half : half;
  }

  uint64_t varint() {
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 60; shift += 6) {
      const uint8_t byte = byte_at(table_, at_++);
      value |= uint64_t{byte & 63u} << shift;
      if ((byte & 64) == 0) break;
    }
    return value;
  }

  std::string_view table_;
  size_t at_ = 0;
};

}  // namespace

int64_t python_line(uint32_t version, std::string_view table, int64_t first_line, uint64_t offset) {
  if (table.empty()) return first_line;
  if (version < 0x30a) return line_by_steps(table, first_line, offset);
  if (version == 0x30a) return line_by_ranges(table, first_line, offset);
  return Locations(table).line_of(first_line, offset);
}

bool is_of_sonde(std::string_view file) { return file.find("/lib/sonde/") != file.npos; }

bool is_python_library(std::string_view file) {
  const auto has = [file](std::string_view part) { return file.find(part) != file.npos; };
  return file.empty() || file.rfind("<frozen", 0) == 0 || has("/site-packages/") ||
         has("/dist-packages/") || has("/lib/python3") || has("/lib64/python3") ||
         is_of_sonde(file);
}

}  // namespace sonde::store
