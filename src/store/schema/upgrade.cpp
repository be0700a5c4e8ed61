#include "store/schema/upgrade.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include "store/copy_rows.h"
#include "store/schema/definitions.h"
#include "store/schema/schema.h"

namespace sonde::store {

namespace {

// What the output already has, or has in another form.
constexpr std::string_view kKnownTables[] = {
    "rocpd_metadata",    "rocpd_string",     "rocpd_ustring",    "rocpd_api",
    "rocpd_copyapi",     "rocpd_kernelapi",  "rocpd_op",         "rocpd_api_ops",
    "rocpd_monitor",     "rocpd_counter",    "rocpd_stackframe", "rocpd_kernelop",
    "rocpd_copyop",      "sonde_process",    "sonde_thread",     "sonde_device",
    "sonde_queue",       "sonde_drop",       "sonde_note",       "sonde_clock_snapshot",
    "sonde_op_detail",   "sonde_diagnostic", "sonde_unfinished", "sonde_ingest",
    "sonde_counter",     "sonde_op_args",    "sonde_flow",       "sonde_code_object",
    "sonde_kernel_code", "sonde_graph_op"};
// RPD's views, in any flavour. ktop ranks by the time of the call, not of the kernel.
constexpr std::string_view kRpdViews[] = {"api",        "op",      "busy",           "top",  "ktop",
                                          "kernel",     "copy",    "copyop",         "napi", "nop",
                                          "stackframe", "counter", "counter_summary"};

template <size_t kCount>
bool contains(const std::string_view (&names)[kCount], std::string_view name) {
  for (const auto known : names) {
    if (sqlite3_strnicmp(known.data(), std::string(name).c_str(),
                         static_cast<int>(known.size()) + 1) == 0) {
      return true;
    }
  }
  return false;
}

struct Upgrade {
  Database& in;
  Database& out;
  Flavour flavour;
  bool made_by_sonde;
  UpgradeReport report;

  // Copies the rows of `select` into the columns of `insert` ("rocpd_op (id, ...)"), one to one.
  // Rows that the output's constraints refuse are left out and show in the counts.
  Status copy(const std::string& select, const std::string& insert) {
    SONDE_ASSIGN(auto from, in.prepare(select));
    std::string values = "?";
    for (int i = 1; i < from.column_count(); ++i) values += ",?";
    SONDE_ASSIGN(auto to,
                 out.prepare("INSERT OR IGNORE INTO " + insert + " VALUES (" + values + ")"));
    return copy_rows(from, to);
  }

  // The same of a table that has these columns in both.
  Status copy_columns(const std::string& table, const std::string& columns) {
    return copy("SELECT " + columns + " FROM " + table, table + " (" + columns + ")");
  }

  Status count(const std::string& table, const std::string& source) {
    UpgradedTable counts{table, 0, 0};
    SONDE_ASSIGN(counts.rows_before, in.integer("SELECT count(*) FROM " + source));
    SONDE_ASSIGN(counts.rows_after, out.integer("SELECT count(*) FROM " + quoted_name(table)));
    if (counts.rows_before > counts.rows_after) {
      report.notes.push_back(fmt::format("{} of {} rows of {} could not be kept",
                                         counts.rows_before - counts.rows_after, counts.rows_before,
                                         table));
    }
    report.tables.push_back(std::move(counts));
    return ok_status();
  }

  Status note_if_any(const std::string& count_sql, const std::string& text) {
    SONDE_ASSIGN(const int64_t rows, in.integer(count_sql));
    if (rows > 0) report.notes.push_back(fmt::format("{} {}", rows, text));
    return ok_status();
  }

  Status copy_strings();
  Status copy_events();
  Status copy_launches();
  Status copy_launches_of_v1();
  Status copy_metadata();
  Status describe_processes();
  Status copy_common_columns(const std::string& table);
  Status copy_extension_tables();
  Status copy_extension_views();
  Status note_losses();
};

// The text of a call's arguments is in rocpd_string before v3; it moves with its id.
Status Upgrade::copy_strings() {
  SONDE_TRY(copy_columns("rocpd_string", "id, string"));
  SONDE_TRY(copy(flavour == Flavour::kV3
                     ? "SELECT id, string FROM v_ustring"
                     : "SELECT id, string FROM rocpd_string WHERE id = 1 OR id IN (SELECT args_id "
                       "FROM rocpd_api)",
                 "rocpd_ustring (id, string)"));
  SONDE_TRY(count("rocpd_string", "rocpd_string"));
  if (flavour == Flavour::kV3) SONDE_TRY(count("rocpd_ustring", "v_ustring"));
  SONDE_ASSIGN(const int64_t empty,
               out.integer("SELECT count(*) FROM rocpd_string WHERE string = ''"));
  if (empty == 0) SONDE_TRY(out.exec("INSERT INTO rocpd_string (string) VALUES ('')"));
  return ok_status();
}

Status Upgrade::copy_events() {
  SONDE_ASSIGN(const int64_t empty,
               out.integer("SELECT min(id) FROM rocpd_string WHERE string = ''"));
  SONDE_TRY(copy(fmt::format("SELECT id, pid, tid, start_ns, end_ns, name_id, "
                             "coalesce(category_id, {0}), coalesce(domain_id, {0}), args_id "
                             "FROM v_api",
                             empty),
                 "rocpd_api (id, pid, tid, start, \"end\", apiName_id, category_id, domain_id, "
                 "args_id)"));
  SONDE_TRY(
      copy("SELECT id, gpu_id, queue_id, sequence_id, start_ns, end_ns, name_id, type_id "
           "FROM v_op",
           "rocpd_op (id, gpuId, queueId, sequenceId, start, \"end\", description_id, "
           "opType_id)"));
  SONDE_TRY(copy_columns("rocpd_api_ops", "id, api_id, op_id"));
  SONDE_TRY(copy_columns("rocpd_monitor",
                         "id, deviceType, deviceId, monitorType, start, \"end\", value"));
  SONDE_TRY(copy_columns("rocpd_counter", "id, value, op_id, name_id"));
  SONDE_TRY(copy_columns("rocpd_stackframe", "id, api_ptr_id, depth, name_id"));
  for (const char* table : {"rocpd_api", "rocpd_op", "rocpd_api_ops", "rocpd_monitor",
                            "rocpd_counter", "rocpd_stackframe"}) {
    SONDE_TRY(count(table, table));
  }
  return ok_status();
}

constexpr const char* kKernelColumns =
    "api_ptr_id, stream, gridX, gridY, gridZ, workgroupX, workgroupY, workgroupZ, "
    "groupSegmentSize, privateSegmentSize, kernelName_id";
constexpr const char* kCopyApi =
    "rocpd_copyapi (api_ptr_id, stream, size, width, height, kind, dst, src, dstDevice, srcDevice, "
    "sync, pinned)";
constexpr const char* kDetailColumns =
    "op_id, process_id, api_id, queued_ns, submitted_ns, bytes, grid_x, grid_y, grid_z, group_x, "
    "group_y, group_z, group_segment_bytes, private_segment_bytes, status";

// The columns of sizes are NOT NULL integers; RPD's '' for "unknown" becomes 0 there and stays
// unknown (NULL) in sonde_op_detail.
Status Upgrade::copy_launches() {
  SONDE_TRY(copy_columns("rocpd_kernelapi", kKernelColumns));
  SONDE_TRY(
      copy("SELECT c.api_ptr_id, c.stream, coalesce(v.size_bytes, 0), coalesce(v.width, 0), "
           "coalesce(v.height, 0), c.kind, c.dst, c.src, c.dstDevice, c.srcDevice, c.sync, "
           "c.pinned FROM rocpd_copyapi c INNER JOIN v_copy v ON v.api_id = c.api_ptr_id",
           kCopyApi));
  SONDE_TRY(count("rocpd_kernelapi", "rocpd_kernelapi"));
  SONDE_TRY(count("rocpd_copyapi", "rocpd_copyapi"));
  return note_if_any("SELECT count(*) FROM rocpd_copyapi WHERE typeof(size) = 'text'",
                     "sizes of rocpd_copyapi were text and are 0 now");
}

Status Upgrade::copy_launches_of_v1() {
  SONDE_TRY(
      copy("SELECT link.api_id, '', k.gridX, k.gridY, k.gridZ, k.workgroupX, k.workgroupY, "
           "k.workgroupZ, k.groupSegmentSize, k.privateSegmentSize, o.description_id "
           "FROM rocpd_kernelop k INNER JOIN rocpd_api_ops link ON link.op_id = k.op_ptr_id "
           "INNER JOIN rocpd_op o ON o.id = k.op_ptr_id ORDER BY k.op_ptr_id",
           fmt::format("rocpd_kernelapi ({})", kKernelColumns)));
  SONDE_TRY(
      copy("SELECT link.api_id, '', CASE typeof(c.size) WHEN 'integer' THEN c.size ELSE 0 END,"
           " 0, 0, 0, c.dst, c.src, 0, 0, c.sync, c.pinned FROM rocpd_copyop c "
           "INNER JOIN rocpd_api_ops link ON link.op_id = c.op_ptr_id ORDER BY c.op_ptr_id",
           kCopyApi));
  const struct {
    const char* from;
    const char* to;
  } pairs[] = {{"rocpd_kernelop", "rocpd_kernelapi"}, {"rocpd_copyop", "rocpd_copyapi"}};
  for (const auto& [from, to] : pairs) {
    UpgradedTable counts{to, 0, 0};
    SONDE_ASSIGN(counts.rows_before, in.integer(std::string("SELECT count(*) FROM ") + from));
    SONDE_ASSIGN(counts.rows_after, out.integer(std::string("SELECT count(*) FROM ") + to));
    if (counts.rows_before > counts.rows_after) {
      report.notes.push_back(fmt::format(
          "{} rows of {} have no call of their own; they are in sonde_op_detail, not in {}",
          counts.rows_before - counts.rows_after, from, to));
    }
    report.tables.push_back(std::move(counts));
  }
  return note_if_any("SELECT count(*) FROM rocpd_copyop WHERE typeof(size) = 'text'",
                     "sizes of rocpd_copyop were text and are 0 now");
}

// The tags that describe the schema are the output's own.
Status Upgrade::copy_metadata() {
  SONDE_TRY(out.exec("DELETE FROM rocpd_metadata WHERE tag = 'session_count'"));
  SONDE_TRY(
      copy("SELECT tag, value FROM rocpd_metadata WHERE tag NOT IN ('schema_version', "
           "'gpu_stride', 'pid_stride') AND NOT (tag = 'references::rocpd_string.id' AND "
           "value LIKE '%\"sonde_%') ORDER BY id",
           "rocpd_metadata (tag, value)"));
  return out.exec(
      "INSERT INTO rocpd_metadata (tag, value) SELECT 'session_count', '1' WHERE NOT EXISTS "
      "(SELECT 1 FROM rocpd_metadata WHERE tag = 'session_count')");
}

Status Upgrade::copy_common_columns(const std::string& table) {
  SONDE_ASSIGN(const bool there, in.has_table(table));
  if (!there) return ok_status();
  SONDE_ASSIGN(const std::vector<std::string> all, columns_of(out, table));
  std::vector<std::string> common;
  for (const std::string& column : all) {
    SONDE_ASSIGN(const bool has_column, in.has_column(table, column));
    if (has_column) common.push_back(column);
  }
  if (common.empty()) return ok_status();
  const std::string columns = list_of(common);
  const std::string source = "main." + quoted_name(table);
  SONDE_TRY(
      copy("SELECT " + columns + " FROM " + source, quoted_name(table) + " (" + columns + ")"));
  return count(table, source);
}

// Files of other tools name no processes; the calls do.
Status Upgrade::describe_processes() {
  if (made_by_sonde) {
    for (const auto table : kKnownTables) {
      if (table.rfind("sonde_", 0) == 0 && table != "sonde_op_detail") {
        SONDE_TRY(copy_common_columns(std::string(table)));
      }
    }
  } else {
    SONDE_TRY(copy("SELECT id, pid, start_ns, end_ns FROM v_process",
                   "sonde_process (id, pid, start_ns, end_ns)"));
    SONDE_TRY(copy("SELECT process_id, tid FROM v_thread", "sonde_thread (process_id, tid)"));
    SONDE_TRY(copy("SELECT gpu_id FROM v_device", "sonde_device (gpu_id)"));
  }
  return copy(fmt::format("SELECT {} FROM v_op_detail", kDetailColumns),
              fmt::format("sonde_op_detail ({})", kDetailColumns));
}

Status Upgrade::copy_extension_tables() {
  return each_row(
      in,
      "SELECT name, sql FROM main.sqlite_master WHERE "
      "type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite^_%' "
      "ESCAPE '^' ORDER BY name",
      [&](const Statement& table) -> Status {
        const std::string name(table.text(0));
        if (contains(kKnownTables, name)) return ok_status();
        SONDE_ASSIGN(const int64_t rows,
                     in.integer("SELECT EXISTS (SELECT 1 FROM main." + quoted_name(name) + ")"));
        // The tables that v3 dropped are part of every v2 file, mostly empty.
        if (rows == 0 && name.rfind("rocpd_", 0) == 0) return ok_status();
        if (auto status = run_definition_of_file(out, std::string(table.text(1))); !status) {
          report.notes.push_back("the table " + name + " was not kept: " + status.error().message);
          return ok_status();
        }
        SONDE_TRY(copy_common_columns(name));
        return ok_status();
      });
}

Status Upgrade::copy_extension_views() {
  std::vector<std::string> created;
  SONDE_TRY(each_row(
      in,
      "SELECT name, sql FROM main.sqlite_master WHERE "
      "type = 'view' AND name NOT LIKE 'sonde^_%' ESCAPE '^' "
      "ORDER BY name",
      [&](const Statement& view) {
        const std::string name(view.text(0));
        if (contains(kRpdViews, name)) return;
        if (auto status = run_definition_of_file(out, std::string(view.text(1))); !status) {
          report.notes.push_back("the view " + name + " was not kept: " + status.error().message);
        } else {
          created.push_back(name);
        }
      }));
  // One that names what v3 does not have is of no use, and makes some SQLite tools fail.
  for (const auto& name : created) {
    if (auto usable = out.prepare("SELECT * FROM " + quoted_name(name)); !usable) {
      report.notes.push_back("the view " + name + " does not fit v3 and was not kept");
      SONDE_TRY(out.exec("DROP VIEW " + quoted_name(name)));
    }
  }
  return ok_status();
}

Status Upgrade::note_losses() {
  SONDE_ASSIGN(const bool signals, in.has_column("rocpd_op", "completionSignal"));
  if (signals) {
    SONDE_TRY(note_if_any("SELECT count(*) FROM rocpd_op WHERE completionSignal <> ''",
                          "values of rocpd_op.completionSignal have no place in v3"));
  }
  SONDE_ASSIGN(const bool fences, in.has_column("rocpd_kernelapi", "kernelArgAddress"));
  if (fences) {
    SONDE_TRY(
        note_if_any("SELECT count(*) FROM rocpd_kernelapi WHERE kernelArgAddress <> '' OR "
                    "aquireFence <> '' OR releaseFence <> ''",
                    "rows of rocpd_kernelapi had argument addresses or fences, which have no "
                    "place in v3"));
  }
  return ok_status();
}

Result<UpgradeReport> write_upgraded(Reader& reader, Database& out) {
  SONDE_TRY(
      out.exec("PRAGMA page_size=8192; PRAGMA synchronous=OFF; PRAGMA journal_mode=TRUNCATE;"
               "PRAGMA cache_size=-131072; PRAGMA foreign_keys=OFF"));
  SONDE_ASSIGN(auto transaction, Transaction::begin(out));
  SONDE_TRY(out.exec(rpd_v3_schema()));
  SONDE_TRY(out.exec(sonde_tables()));
  Upgrade job{reader.database(), out, reader.flavour(), reader.made_by_sonde(), {}};
  job.report.from = reader.flavour();
  job.report.notes = reader.notes();
  SONDE_TRY(job.copy_strings());
  SONDE_TRY(job.copy_events());
  SONDE_TRY(reader.flavour() == Flavour::kV1 ? job.copy_launches_of_v1() : job.copy_launches());
  SONDE_TRY(job.copy_metadata());
  SONDE_TRY(job.describe_processes());
  SONDE_TRY(job.copy_extension_tables());
  SONDE_TRY(out.exec(sample_tables()));
  SONDE_TRY(out.exec(rpd_v3_name_index()));
  SONDE_TRY(out.exec(rpd_v3_argument_index()));
  SONDE_TRY(out.exec(sonde_indices()));
  SONDE_TRY(out.exec(sonde_derived_tables()));
  SONDE_TRY(out.exec(sonde_views(Flavour::kV3, "CREATE VIEW")));
  SONDE_TRY(job.copy_extension_views());
  SONDE_TRY(job.note_losses());
  SONDE_TRY(out.exec("PRAGMA analysis_limit=400; ANALYZE"));
  SONDE_TRY(transaction.commit());
  SONDE_TRY(out.exec("PRAGMA journal_mode=DELETE"));
  return std::move(job.report);
}

}  // namespace

Result<UpgradeReport> upgrade(const std::string& input, const std::string& output) {
  SONDE_ASSIGN(auto reader, Reader::open(input));
  Result<UpgradeReport> report = UpgradeReport{};
  {
    SONDE_ASSIGN(auto out, Database::open(output, Database::Mode::kCreate));
    report = write_upgraded(reader, out);
  }
  if (!report) {
    ::unlink(output.c_str());
    ::unlink((output + "-journal").c_str());
  }
  return report;
}

}  // namespace sonde::store
