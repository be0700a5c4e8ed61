#include "cli/record_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "analysis/analysis.h"
#include "base/demangle.h"
#include "base/strings.h"
#include "cli/next_step.h"
#include "cli/terminal.h"
#include "report/names.h"
#include "trace/trace.h"

namespace sonde::cli {

namespace {

void say(const std::string& line) { print_error_line(line); }

// The value of a row's column by key; monostate where there is none.
report::Value value_of(const report::Table& table, const std::vector<report::Value>& row,
                       const char* key) {
  const int column = report::find_column(table, key);
  return column >= 0 ? row[static_cast<size_t>(column)] : report::Value();
}

int64_t integer(const report::Value& value) {
  const auto* number = std::get_if<int64_t>(&value);
  return number != nullptr ? *number : 0;
}

void print_busy(const trace::Trace& trace) {
  const auto report = analysis::run_analysis("busy", trace);
  if (!report) return;
  const auto& table = report->sections[0].table;
  for (const auto& row : table.rows) {
    const auto busy = integer(value_of(table, row, "busy_ns"));
    const auto span = integer(value_of(table, row, "span_ns"));
    const auto program = integer(value_of(table, row, "program_ns"));
    const auto share = [&](int64_t whole) {
      return whole > 0 ? 100.0 * static_cast<double>(busy) / static_cast<double>(whole) : 0.0;
    };
    say(
        fmt::format("GPU {} was busy for {}: {:.1f} % of the program's {}, {:.1f} % of the {} from "
                    "its first operation to its last",
                    integer(value_of(table, row, "gpu_id")), format_duration(busy), share(program),
                    format_duration(program), share(span), format_duration(span)));
  }
}

void print_top(const trace::Trace& trace) {
  const auto report = analysis::run_analysis("top", trace);
  if (!report) return;
  const auto& table = report->sections[0].table;
  for (size_t i = 0; i < std::min<size_t>(5, table.rows.size()); ++i) {
    const auto& row = table.rows[i];
    const auto name = value_of(table, row, "name");
    const auto* text = std::get_if<std::string>(&name);
    const auto* share = std::get_if<double>(&row.back());
    const auto calls = static_cast<uint64_t>(integer(value_of(table, row, "calls")));
    say(fmt::format("  {:>12}  {:>10} {:<5}  {:5.1f} %  {}",
                    format_duration(integer(value_of(table, row, "total_ns"))), format_count(calls),
                    calls == 1 ? "call" : "calls", share != nullptr ? *share : 0.0,
                    text != nullptr ? report::short_name(demangle(*text)) : ""));
  }
}

// What a backend could not do, and why, once each; of the sampler also what it was denied without
// loss. What the recorder itself has said is not repeated.
void print_warnings(store::Reader& reader) {
  constexpr int kMost = 4;
  auto rows = reader.database().prepare(
      "SELECT iif(severity = 'warning', 'warning: ', '') || source || ': ' || text, count(*) "
      "FROM sonde_diagnostic WHERE (severity = 'warning' OR source = 'cpu') AND "
      "source NOT IN ('metrics', 'record') GROUP BY 1 ORDER BY min(id)");
  for (int i = 0; rows && i < kMost; ++i) {
    const auto more = rows->step();
    if (!more || !*more) return;
    const int64_t times = rows->integer(1);
    say(fmt::format("{}{}", rows->text(0), times > 1 ? fmt::format(" ({} times)", times) : ""));
  }
}

}  // namespace

void print_record_summary(const record::Outcome& outcome) {
  if (outcome.interrupted) {
    say(fmt::format("stopped; what was recorded is kept, and stored by: sonde recover {}",
                    outcome.kept_session));
    return;
  }
  if (!outcome.kept_session.empty()) {
    say(fmt::format("the records are kept in {}; finish the trace with: sonde recover {} -o FILE",
                    outcome.kept_session, outcome.kept_session));
    return;
  }
  std::error_code error;
  const auto size = std::filesystem::file_size(outcome.path, error);
  std::string ended;
  if (outcome.signal != 0) ended = fmt::format(", ended by signal {}", outcome.signal);
  if (outcome.signal == 0 && outcome.exit_status != 0) {
    ended = fmt::format(", exit status {}", outcome.exit_status);
  }
  // A recovery does not know for how long the program ran.
  if (outcome.wall_ns != 0) ended = " in " + format_duration(outcome.wall_ns) + ended;
  say(fmt::format("{} ({}): {} GPU operations, {} calls and markers{}", outcome.path,
                  format_size(size), format_count(outcome.ops), format_count(outcome.apis), ended));
  if (outcome.lost != 0) {
    say(fmt::format("{} records were LOST; sonde info {} says why", format_count(outcome.lost),
                    outcome.path));
  }
  if (outcome.left_running != 0) {
    say(fmt::format("{} of its processes still run and are no longer recorded (--wait all waits)",
                    outcome.left_running));
  }
  auto reader = store::Reader::open(outcome.path);
  if (!reader) return say(reader.error().to_line());
  print_warnings(*reader);
  if (outcome.ops != 0) {
    auto trace = trace::load(*reader, {.ops = true, .program = true});
    if (!trace) return say(trace.error().to_line());
    print_busy(*trace);
    print_top(*trace);
  }
  const auto lines = next_steps(*reader, outcome.path);
  if (!lines) return say(lines.error().to_line());
  for (const std::string& line : *lines) say(line);
}

}  // namespace sonde::cli
