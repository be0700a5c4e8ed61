// Analyses on traces that a test writes down, and cells of their tables by key.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "base/test_support.h"
#include "report/render.h"
#include "trace/trace_builder_test_support.h"

namespace sonde::analysis {

using ApiRow = trace::TraceBuilder::Api;
using OpRow = trace::TraceBuilder::Op;
using Lines = std::vector<std::string>;
using Settings = std::vector<std::pair<std::string, std::string>>;
using test::has;
using test::value_of;

inline Parameters parameters_of(const Analysis& analysis, const Settings& settings) {
  Parameters parameters(analysis.options);
  for (const auto& [option, value] : settings) parameters.set(option, value);
  return parameters;
}

inline Result<report::Report> answer(const char* name, const trace::Trace& trace,
                                     const Settings& settings) {
  const Analysis* analysis = find_analysis(name);
  SONDE_CHECK(analysis != nullptr);
  return analysis->run(trace, parameters_of(*analysis, settings));
}

// Of these rows, with the columns that the analysis asks for, and no others.
inline report::Report ask(const char* name, const trace::TraceBuilder& rows,
                          const Settings& settings = {}, uint32_t seed = 0,
                          const trace::Window& window = {}) {
  const Analysis* analysis = find_analysis(name);
  SONDE_CHECK(analysis != nullptr);
  const trace::Request needs = analysis->needs(parameters_of(*analysis, settings));
  return value_of(answer(name, rows.build(seed, needs, window), settings));
}

inline const report::Section& section_of(const report::Report& report, const std::string& key) {
  static const report::Section kMissing;
  for (const report::Section& section : report.sections) {
    if (section.key == key) return section;
  }
  ADD_FAILURE() << "no section " << key;
  return kMissing;
}

inline std::string cell_text(const report::Value& value, int digits = 4) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{:.{}g}", *real, digits);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return "-";
}

// The value of a fact as text; "" if there is none.
inline std::string fact_of(const report::Section& section, const std::string& key) {
  for (const report::Fact& fact : section.facts) {
    if (fact.key == key) return cell_text(fact.value);
  }
  return "";
}

inline int64_t number(const report::Table& table, size_t row, const std::string& key) {
  const int column = report::find_column(table, key);
  if (column < 0 || row >= table.rows.size()) {
    ADD_FAILURE() << "no cell " << key << " in row " << row;
    return 0;
  }
  const auto* value = std::get_if<int64_t>(&table.rows[row][static_cast<size_t>(column)]);
  return value == nullptr ? 0 : *value;
}

inline int64_t sum_of(const report::Table& table, const std::string& key) {
  int64_t sum = 0;
  for (size_t row = 0; row < table.rows.size(); ++row) sum += number(table, row, key);
  return sum;
}

// "key1|key2" of each row.
inline Lines lines_of(const report::Table& table, const std::vector<std::string>& keys,
                      int digits = 4) {
  Lines lines;
  for (const auto& row : table.rows) {
    std::string line;
    for (const std::string& key : keys) {
      const int column = report::find_column(table, key);
      EXPECT_GE(column, 0) << key;
      if (column < 0) return {};
      line += (line.empty() ? "" : "|") + cell_text(row[static_cast<size_t>(column)], digits);
    }
    lines.push_back(line);
  }
  return lines;
}
inline Lines lines_of(const report::Report& report, const std::string& section,
                      const std::vector<std::string>& keys) {
  return lines_of(section_of(report, section).table, keys);
}

// Adds a node to the call stacks, below `caller`: a frame with these names. Returns it.
inline int32_t add_frame(trace::Trace& trace, int32_t caller, const std::string& function,
                         trace::CodeFrame frame = {}, const std::string& file = "") {
  trace.names.insert(trace.names.end(), {function, file});
  frame.function = static_cast<uint32_t>(trace.names.size() - 2);
  frame.file = static_cast<uint32_t>(trace.names.size() - 1);
  trace.stacks.parent.push_back(caller);
  trace.stacks.frame.push_back(static_cast<uint32_t>(trace.stacks.frames.size()));
  trace.stacks.frames.push_back(frame);
  return static_cast<int32_t>(trace.stacks.size()) - 1;
}

// Adds a sample of a function that a line of the user's Python calls; "" for none of both.
inline void add_sample(trace::Trace& trace, const std::string& function, const std::string& file,
                       int64_t line, int64_t cpu_ns) {
  const trace::CodeFrame python{.line = line, .kind = trace::FrameKind::kPython};
  const trace::CodeFrame native{
      .line = line, .kind = trace::FrameKind::kNative, .is_library = true};
  const int32_t caller =
      file.empty() ? trace::kNone : add_frame(trace, trace::kNone, "f", python, file);
  trace.samples.stack.push_back(add_frame(trace, caller, function, native, file));
  // Each stands for the time since the one before.
  const int64_t before_ns = trace.samples.time_ns.empty() ? 0 : trace.samples.time_ns.back();
  trace.samples.time_ns.push_back(before_ns + cpu_ns);
  trace.samples.cpu_ns.push_back(cpu_ns);
  trace.samples.thread.push_back(0);
}

inline std::string json_of(const report::Report& report) {
  return report::find_renderer("json")->render(report, {});
}

}  // namespace sonde::analysis
