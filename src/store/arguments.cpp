#include "store/arguments.h"

#include <fmt/format.h>

#include <cstring>
#include <iterator>

#include "base/strings.h"

namespace sonde::store {

std::vector<ArgumentFormat> parse_argument_formats(std::string_view description) {
  std::vector<ArgumentFormat> formats;
  const bool json = makes_json(description);
  if (json) description = description.substr(1, description.size() - 2);
  for (const auto part : split(description, json ? '|' : ' ')) {
    const size_t colon = part.rfind(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 >= part.size()) continue;
    formats.push_back({std::string(part.substr(0, colon)), part[colon + 1]});
  }
  return formats;
}

namespace {

// Text in `words[0]` bytes after the first word; returns the words consumed, 0 if they are not
// there.
size_t append_text(std::string& out, std::span<const uint64_t> words) {
  const uint64_t length = words[0];
  if (length > (words.size() - 1) * 8) return 0;
  out += '"';
  out.append(reinterpret_cast<const char*>(words.data() + 1), length);
  out += '"';
  return 1 + (length + 7) / 8;
}

}  // namespace

bool makes_json(std::string_view description) {
  return description.size() > 1 && description.front() == '{' && description.back() == '}';
}

void append_number(std::string& out, char kind, uint64_t word) {
  auto to = std::back_inserter(out);
  switch (kind) {
    case 'u':
      fmt::format_to(to, "{}", word);
      break;
    case 'd':
      fmt::format_to(to, "{}", static_cast<int64_t>(word));
      break;
    case 'f': {
      double value;
      std::memcpy(&value, &word, sizeof value);
      fmt::format_to(to, "{}", value);
      break;
    }
    default:
      fmt::format_to(to, "{:#x}", word);
      break;
  }
}

void append_arguments(std::string& out, std::span<const ArgumentFormat> formats,
                      std::span<const uint64_t> words) {
  bool first = true;
  for (const auto& format : formats) {
    if (words.empty()) return;
    const size_t before = out.size();
    if (!first) out += " | ";
    first = false;
    out += format.name;
    out += " = ";
    size_t used = 1;
    if (format.kind == 's') {
      used = append_text(out, words);
      if (used == 0) return out.resize(before);
    } else {
      append_number(out, format.kind, words[0]);
    }
    words = words.subspan(used);
  }
}

}  // namespace sonde::store
