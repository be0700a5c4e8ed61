#include "trace/file_info.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/redact.h"
#include "base/strings.h"
#include "importers/importer.h"
#include "store/each_row.h"
#include "store/faults.h"
#include "trace/trace.h"

namespace sonde::trace {
namespace {

using store::Database;
using store::each_row;
using store::each_row_of;
using store::Statement;

std::optional<int64_t> integer_or_none(const Statement& rows, int column) {
  return rows.is_null(column) ? std::nullopt : std::optional(rows.integer(column));
}

Status read_processes(Database& database, FileInfo& info) {
  return each_row(
      database,
      "SELECT p.pid, p.rank, p.start_ns, p.end_ns, p.command, p.exit, t.threads FROM v_process p "
      "LEFT JOIN (SELECT process_id, count(*) AS threads FROM v_thread GROUP BY process_id) t "
      "ON t.process_id = p.id ORDER BY p.start_ns, p.id",
      [&](const Statement& rows) {
        info.processes.push_back({rows.integer(0), integer_or_none(rows, 1),
                                  integer_or_none(rows, 2), integer_or_none(rows, 3),
                                  redact_text(rows.text(4)), std::string(rows.text(5)),
                                  rows.integer(6)});
      });
}

// What imported traces call their processes, and what they count time by.
Status read_imported(Database& database, FileInfo& info) {
  SONDE_TRY(each_row_of(database, "sonde_note",
                        "SELECT key, value FROM sonde_note WHERE key IN ('imported from', "
                        "'imported as') ORDER BY rowid",
                        [&](const Statement& rows) {
                          if (rows.text(0) == "imported from") {
                            info.imported.push_back({std::string(rows.text(1)), "", ""});
                          } else if (!info.imported.empty()) {
                            info.imported.back().kind = rows.text(1);
                          }
                        }));
  for (ImportedFrom& each : info.imported) {
    if (each.kind == "rpd") each.summary = "a trace of Sonde or RPD";
    for (const importers::Importer& importer : importers::all_importers()) {
      if (importer.name == each.kind) each.summary = importer.summary;
    }
  }
  if (info.imported.empty()) return ok_status();
  info.is_another_tools = info.imported.size() == 1 && info.imported[0].path == info.path;
  return each_row_of(database, "sonde_process",
                     "SELECT pid, coalesce(executable, ''), coalesce(clock, '') FROM sonde_process",
                     [&](const Statement& rows) {
                       for (ProcessInfo& process : info.processes) {
                         if (process.pid != rows.integer(0) || !process.command.empty()) continue;
                         process.command = rows.text(1);
                       }
                       auto& clocks = info.process_clocks;
                       const std::string clock(rows.text(2));
                       if (std::find(clocks.begin(), clocks.end(), clock) == clocks.end()) {
                         clocks.push_back(clock);
                       }
                     });
}

Status read_devices(Database& database, FileInfo& info) {
  SONDE_ASSIGN(info.gpus_with_metrics,
               database.integer("SELECT count(DISTINCT device_id) FROM v_monitor "
                                "WHERE device_type = 'gpu'"));
  return each_row(
      database,
      "SELECT DISTINCT gpu_id, backend, name, vendor, kind, memory_bytes, compute_units "
      "FROM v_device ORDER BY gpu_id",
      [&](const Statement& rows) {
        info.devices.push_back({rows.integer(0), std::string(rows.text(1)),
                                std::string(rows.text(2)), std::string(rows.text(3)),
                                std::string(rows.text(4)), integer_or_none(rows, 5),
                                integer_or_none(rows, 6)});
      });
}

Status read_counts(Database& database, FileInfo& info) {
  const CountInfo views[] = {{"v_op", 0},      {"v_api", 0},     {"v_api_op", 0}, {"v_copy", 0},
                             {"v_counter", 0}, {"v_monitor", 0}, {"v_string", 0}};
  const char* titles[] = {"operations", "API calls and markers", "links of calls to operations",
                          "copy calls", "counter values",        "monitor samples",
                          "strings"};
  for (size_t i = 0; i < std::size(views); ++i) {
    SONDE_ASSIGN(const int64_t count, database.integer("SELECT count(*) FROM " + views[i].what));
    info.counts.push_back({titles[i], count});
  }
  SONDE_ASSIGN(const bool may_have, database.has_table("rocpd_counter"));
  if (!may_have) return ok_status();
  SONDE_ASSIGN(const int64_t of_kernels, database.integer("SELECT count(*) FROM rocpd_counter"));
  if (of_kernels > 0) info.counts.push_back({"hardware counter values of kernels", of_kernels});
  return ok_status();
}

Status read_diagnostics(Database& database, FileInfo& info) {
  SONDE_TRY(each_row_of(database, "sonde_diagnostic",
                        "SELECT severity, source, text, count(*) FROM sonde_diagnostic "
                        "GROUP BY severity, source, text ORDER BY min(id)",
                        [&](const Statement& rows) {
                          info.diagnostics.push_back({std::string(rows.text(0)),
                                                      std::string(rows.text(1)),
                                                      std::string(rows.text(2)), rows.integer(3)});
                        }));
  return each_row_of(database, "sonde_clock_snapshot",
                     "SELECT DISTINCT clock FROM sonde_clock_snapshot ORDER BY clock",
                     [&](const Statement& rows) { info.clocks.emplace_back(rows.text(0)); });
}

// When by the time of day; of imported files each may have begun at another.
Status read_date(Database& database, FileInfo& info) {
  constexpr int64_t kSecond = 1'000'000'000;
  if (!info.span || !info.imported.empty()) return ok_status();
  return each_row_of(database, "sonde_clock_snapshot",
                     "SELECT value - monotonic_ns FROM sonde_clock_snapshot "
                     "WHERE clock = 'realtime' ORDER BY id LIMIT 1",
                     [&](const Statement& rows) {
                       info.recorded_at_s = (rows.integer(0) + info.span->start_ns) / kSecond;
                     });
}

Status read_faults(Database& database, FileInfo& info) {
  SONDE_ASSIGN(const auto faults, store::faults_of(database));
  for (const store::FaultRow& fault : faults) {
    info.faults.push_back(
        {fault.pid, fault.gpu_id, fault.kind, fault.title, fault.cause, fault.kernel});
  }
  return ok_status();
}

Status read_metadata(Database& database, FileInfo& info) {
  const auto take = [&](const Statement& rows) {
    info.metadata.push_back({std::string(rows.text(0)), redact_fact(rows.text(0), rows.text(1))});
  };
  const auto take_fact = [&](const Statement& rows) {
    if (rows.text(0) != "sonde::environment") return take(rows);
    for (const auto entry : split(rows.text(1), '\n')) {
      // Files of an older Sonde may hold more than is shown now.
      const std::string told = redact_variable(entry);
      const size_t equals = told.find('=');
      if (equals == std::string::npos) continue;
      info.environment.push_back({told.substr(0, equals), told.substr(equals + 1)});
    }
  };
  SONDE_TRY(each_row_of(database, "rocpd_metadata",
                        "SELECT tag, value FROM rocpd_metadata ORDER BY id", take_fact));
  return each_row_of(database, "sonde_note",
                     "SELECT key, value FROM sonde_note WHERE key NOT IN ('imported from', "
                     "'imported as') ORDER BY rowid",
                     take);
}

}  // namespace

Result<FileInfo> file_info(store::Reader& reader) {
  FileInfo info;
  info.path = reader.path();
  info.flavour = store::flavour_name(reader.flavour());
  info.made_by_sonde = reader.made_by_sonde();
  struct stat status {};
  if (::stat(info.path.c_str(), &status) == 0) info.file_bytes = status.st_size;
  SONDE_ASSIGN(info.span, span_of(reader));
  Database& database = reader.database();
  SONDE_TRY(read_processes(database, info));
  SONDE_TRY(read_imported(database, info));
  SONDE_TRY(read_devices(database, info));
  SONDE_TRY(read_counts(database, info));
  SONDE_TRY(read_diagnostics(database, info));
  SONDE_TRY(read_date(database, info));
  SONDE_TRY(read_faults(database, info));
  SONDE_TRY(read_metadata(database, info));
  SONDE_ASSIGN(info.warnings, loss_warnings(reader));
  return info;
}

}  // namespace sonde::trace
