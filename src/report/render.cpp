#include "report/render.h"

#include <fmt/format.h>

#include <cmath>

#include "base/printable.h"
#include "base/strings.h"

namespace sonde::report {

const Renderer* find_renderer(std::string_view name) {
  for (const Renderer* renderer : all_renderers()) {
    if (renderer->name == name) return renderer;
  }
  return nullptr;
}

namespace {

// Exact: nanoseconds are the digits after the point.
std::string microseconds_text(int64_t ns) {
  const bool negative = ns < 0;
  const uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  return fmt::format("{}{}.{:03}", negative ? "-" : "", magnitude / 1000, magnitude % 1000);
}

std::string integer_text(int64_t value, const Column& column) {
  switch (column.kind) {
    case Kind::kTime:
      return column.microseconds ? microseconds_text(value) : format_duration(value);
    case Kind::kBytes:
      return value < 0 ? fmt::format("{} B", value) : format_size(static_cast<uint64_t>(value));
    case Kind::kInteger:
      return value < 0 ? fmt::format("{}", value) : format_count(static_cast<uint64_t>(value));
    default:
      return fmt::format("{}", value);
  }
}

}  // namespace

std::string text_of(const Value& value, const Column& column) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return integer_text(*integer, column);
  if (const auto* text = std::get_if<std::string>(&value)) return printable(*text, Lines::kJoin);
  if (const auto* real = std::get_if<double>(&value)) {
    if (!std::isfinite(*real)) return "-";
    return fmt::format("{:.{}f}", *real, column.decimals);
  }
  return "-";
}

}  // namespace sonde::report
