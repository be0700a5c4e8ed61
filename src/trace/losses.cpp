#include "base/strings.h"

#include <algorithm>
#include "store/each_row.h"
#include "store/faults.h"
#include "store/ingest/unfinished.h"
#include "trace/columns.h"

namespace sonde::trace {

namespace {

Result<std::optional<Interval>> first_to_last(store::Database& database, const std::string& query) {
  SONDE_ASSIGN(auto rows, database.prepare(query));
  SONDE_ASSIGN(const bool found, rows.step());
  if (!found || rows.is_null(0) || rows.is_null(1)) return std::optional<Interval>();
  const Interval span = {rows.integer(0), rows.integer(1)};
  if (span.end_ns < span.start_ns) return std::optional<Interval>();
  return std::optional<Interval>(span);
}

// Of the operations, calls or both.
Result<std::optional<Interval>> span_of_rows(store::Database& database, bool ops, bool apis) {
  const std::string extent = "SELECT min(start_ns) AS a, max(end_ns) AS b FROM ";
  // As is_possible_span() has it.
  const std::string possible =
      " WHERE start_ns BETWEEN -(1 << 61) AND 1 << 62 AND end_ns BETWEEN -(1 << 61) AND 1 << 62 "
      "AND end_ns - start_ns <= 1 << 55";
  const std::string of_ops = extent + "v_op" + possible, of_apis = extent + "v_api" + possible;
  if (ops != apis) return first_to_last(database, ops ? of_ops : of_apis);
  return first_to_last(database,
                       "SELECT min(a), max(b) FROM (" + of_ops + " UNION ALL " + of_apis + ")");
}

Result<std::optional<Interval>> span_of_samples(store::Database& database) {
  SONDE_ASSIGN(const bool has_samples, database.has_table("sonde_sample"));
  if (!has_samples) return std::optional<Interval>();
  return first_to_last(database, "SELECT min(time_ns), max(time_ns) + 1 FROM sonde_sample");
}

}  // namespace

Result<std::optional<Interval>> span_of(store::Reader& reader) {
  SONDE_ASSIGN(const auto span, span_of_rows(reader.database(), true, true));
  return span ? span : span_of_samples(reader.database());
}

namespace {

// Nothing if the file does not know of each process when it began and ended.
Result<std::optional<Interval>> lifetime_of(store::Reader& reader, const std::string& which) {
  if (!reader.made_by_sonde()) return std::optional<Interval>();
  return first_to_last(reader.database(),
                       "SELECT min(start_ns), max(end_ns) FROM sonde_process WHERE " + which +
                           " HAVING count(start_ns) = count(*) AND count(end_ns) = count(*)");
}

}  // namespace

Result<std::optional<Interval>> lifetime_of_rank(store::Reader& reader, int64_t rank) {
  return lifetime_of(reader, "rank = " + std::to_string(rank));
}

// For an imported process the file has only its calls, which its operations may outlast.
Result<std::optional<Interval>> program_of(store::Reader& reader, const Request& wanted,
                                           const Raw& raw) {
  store::Database& database = reader.database();
  std::optional<Interval> program;
  if (raw.extent && raw.extent->start_ns <= raw.extent->end_ns) program = raw.extent;
  if (!wanted.ops || !wanted.apis) {
    SONDE_ASSIGN(const auto others, span_of_rows(database, !wanted.ops, !wanted.apis));
    if (others) extend(program, *others);
  }
  if (!program) {
    SONDE_ASSIGN(program, span_of_samples(database));
  }
  if (!program) return program;
  SONDE_ASSIGN(const auto lifetimes, lifetime_of(reader, "true"));
  if (lifetimes) extend(program, *lifetimes);
  return program;
}

namespace {

// The recording ended with them, so every report says so.
Status add_faults(store::Reader& reader, std::vector<std::string>& warnings) {
  SONDE_ASSIGN(const auto faults, store::faults_of(reader.database()));
  for (const store::FaultRow& fault : faults) {
    warnings.push_back("a GPU failed: " + fault.title + "; likely cause: " + fault.cause +
                       " (sonde debug " + reader.path() + " shows the report)");
  }
  return ok_status();
}

}  // namespace

Result<std::vector<std::string>> loss_warnings(store::Reader& reader) {
  std::vector<std::string> warnings;
  for (const std::string& note : reader.notes()) warnings.push_back("not read: " + note);
  store::Database& database = reader.database();
  SONDE_TRY(store::each_row_of(database, "sonde_drop",
                               "SELECT source, reason, sum(count) FROM sonde_drop "
                               "GROUP BY source, reason HAVING sum(count) > 0",
                               [&](const store::Statement& rows) {
                                 warnings.push_back(
                                     format_count(static_cast<uint64_t>(rows.integer(2))) +
                                     " events of " + std::string(rows.text(0)) +
                                     " were not recorded: " + std::string(rows.text(1)));
                               }));
  SONDE_TRY(add_faults(reader, warnings));
  SONDE_ASSIGN(const auto session, store::unfinished_session(database));
  if (session) warnings.push_back(store::unfinished_text(reader.path(), *session));
  SONDE_ASSIGN(const bool has_diagnostics, database.has_table("sonde_diagnostic"));
  if (has_diagnostics) {
    SONDE_ASSIGN(
        const int64_t errors,
        database.integer("SELECT count(*) FROM sonde_diagnostic WHERE severity = 'error'"));
    if (errors != 0) {
      warnings.push_back(format_count(static_cast<uint64_t>(errors)) +
                         " errors while recording (sonde info lists them)");
    }
    SONDE_TRY(store::each_row(
        database,
        "SELECT text FROM sonde_diagnostic WHERE severity = "
        "'warning' AND source = 'import' ORDER BY id",
        [&](const store::Statement& rows) { warnings.emplace_back(rows.text(0)); }));
  }
  return warnings;
}

}  // namespace sonde::trace
