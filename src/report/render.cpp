#include "report/render.h"

#include <fmt/format.h>

#include <cmath>

#include "base/printable.h"
#include "base/strings.h"
#include "report/unit.h"

namespace sonde::report {

const Renderer* find_renderer(std::string_view name) {
  for (const Renderer& renderer : all_renderers()) {
    if (renderer.name == name) return &renderer;
  }
  return nullptr;
}

namespace {

std::string integer_text(int64_t value, const Column& column, bool exact) {
  if (exact) return fmt::format("{}", value);
  switch (column.kind) {
    case Kind::kTime:
      return format_duration(value);
    case Kind::kBytes:
      return value < 0 ? fmt::format("{} B", value) : format_size(static_cast<uint64_t>(value));
    case Kind::kInteger:
      return value < 0 ? fmt::format("{}", value) : format_count(static_cast<uint64_t>(value));
    default:
      return fmt::format("{}", value);
  }
}

std::string real_text(double value, const Column& column, bool exact) {
  if (!std::isfinite(value)) return "-";
  if (exact) return fmt::format("{}", value);
  if (column.kind == Kind::kId) return fmt::format("{:.15g}", value);  // as sqlite3 prints it
  if (column.kind != Kind::kPercent) return text_of_real(value);
  if (value > 0 && value < 0.05) return "<0.1";  // not none
  if (value < 0 && value > -0.05) return ">-0.1";
  return fmt::format("{:.1f}", value);
}

}  // namespace

std::string text_of(const Value& value, const Column& column, bool exact) {
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    return integer_text(*integer, column, exact);
  }
  if (const auto* text = std::get_if<std::string>(&value)) return printable(*text, Lines::kJoin);
  if (const auto* real = std::get_if<double>(&value)) return real_text(*real, column, exact);
  return "-";
}

}  // namespace sonde::report
