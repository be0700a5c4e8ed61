#include "store/reader.h"

#include <set>
#include <string_view>

#include "base/letters.h"
#include "base/strings.h"
#include "store/each_row.h"
#include "store/input_file.h"
#include "store/schema/schema.h"

namespace sonde::store {

namespace {

struct Table {
  const char* name;
  const char* columns;  // what the views use, separated by blanks
};

constexpr Table kRequired[] = {
    {"rocpd_string", "id string"},
    {"rocpd_api", "id pid tid start end apiName_id args_id"},
    {"rocpd_op", "id gpuId queueId sequenceId start end description_id opType_id"},
};
constexpr Table kOptional[] = {
    {"rocpd_api_ops", "id api_id op_id"},
    {"rocpd_monitor", "id deviceType deviceId monitorType start end value"},
    {"rocpd_metadata", "id tag value"},
    {"rocpd_counter", "id value op_id name_id"},
    {"rocpd_stackframe", "id api_ptr_id depth name_id"},
    {"sonde_op_args", "op_id args"},
    {"sonde_flow", "id flow category_id name_id phase process_id tid time_ns"},
};
constexpr Table kByApi[] = {
    {"rocpd_kernelapi",
     "api_ptr_id stream gridX gridY gridZ workgroupX workgroupY workgroupZ groupSegmentSize "
     "privateSegmentSize kernelName_id"},
    {"rocpd_copyapi",
     "api_ptr_id stream size width height kind dst src dstDevice srcDevice sync pinned"},
};
constexpr Table kByOp[] = {
    {"rocpd_kernelop",
     "op_ptr_id gridX gridY gridZ workgroupX workgroupY workgroupZ groupSegmentSize "
     "privateSegmentSize"},
    {"rocpd_copyop", "op_ptr_id size src dst sync pinned"},
};
constexpr Table kUstring = {"rocpd_ustring", "id string"};
constexpr Table kSonde[] = {
    {"sonde_process", "id pid ppid start_ns end_ns command rank exit"},
    {"sonde_thread", "process_id tid name"},
    {"sonde_device", "gpu_id process_id backend name vendor kind memory_bytes compute_units"},
    {"sonde_op_detail",
     "op_id process_id api_id queued_ns submitted_ns bytes grid_x grid_y grid_z group_x group_y "
     "group_z group_segment_bytes private_segment_bytes status"},
    {"sonde_counter", "process_id tid time_ns name_id value"},
};

enum class Found { kUsable, kAbsent, kUnusable };

struct Probe {
  Found found;
  std::string reason;  // why a table that is there cannot be used
};

// Only a plain table with plain columns is read: a view, a virtual table or a generated column of
// a crafted file would run its author's code.
Result<Probe> probe_table(Database& database, const Table& table) {
  SONDE_ASSIGN(auto kind,
               database.prepare("SELECT type, rootpage FROM main.sqlite_master WHERE "
                                "name = ?1 COLLATE NOCASE AND type IN ('table', 'view')"));
  kind.bind(1, std::string_view(table.name));
  SONDE_ASSIGN(const bool there, kind.step());
  if (!there) return Probe{Found::kAbsent, {}};
  if (kind.text(0) != "table" || kind.integer(1) == 0) {
    return Probe{Found::kUnusable, std::string(table.name) + " is not a plain table"};
  }
  std::set<std::string> columns;
  SONDE_TRY(each_row(
      database, "SELECT name FROM pragma_table_xinfo(?1, 'main') WHERE hidden = 0",
      [&](const Statement& column) { columns.insert(lower(column.text(0))); },
      std::string_view(table.name)));
  for (const auto name : split(table.columns, ' ')) {
    if (columns.count(lower(name)) == 0) {
      return Probe{Found::kUnusable,
                   std::string(table.name) + " has no column " + std::string(name)};
    }
  }
  return Probe{Found::kUsable, {}};
}

Status require_table(Database& database, const Table& table) {
  SONDE_ASSIGN(const Probe probe, probe_table(database, table));
  if (probe.found == Found::kUsable) return ok_status();
  if (probe.found == Found::kUnusable) {
    return make_error(ErrorCode::kBadData, "not an .rpd trace: " + probe.reason, database.path());
  }
  SONDE_ASSIGN(const int64_t sdk_tables,
               database.integer("SELECT count(*) FROM main.sqlite_master WHERE name GLOB "
                                "'rocpd_kernel_dispatch*'"));
  if (sdk_tables > 0) {
    return make_error(ErrorCode::kUnsupported, "this is a rocpd database of rocprofv3, not an .rpd",
                      database.path(), "import it first");
  }
  return make_error(ErrorCode::kBadData,
                    std::string("an SQLite file, but not an .rpd: it has no table ") + table.name,
                    database.path(), "give the .rpd that sonde record wrote");
}

// An empty table in the place of one that the file lacks, so that the views hold for all files.
Status stand_in(Database& database, const Table& table) {
  std::string columns;
  for (const auto name : split(table.columns, ' ')) {
    columns += (columns.empty() ? "\"" : ", \"") + std::string(name) + "\"";
  }
  return database.exec(std::string("CREATE TEMP TABLE ") + table.name + " (" + columns + ")");
}

Status use_optional(Database& database, const Table& table, std::vector<std::string>& notes) {
  SONDE_ASSIGN(const Probe probe, probe_table(database, table));
  if (probe.found == Found::kUsable) return ok_status();
  if (probe.found == Found::kUnusable) notes.push_back(probe.reason);
  return stand_in(database, table);
}

// By what is there: all v2 files have the same schema_version.
Result<Flavour> detect_flavour(Database& database) {
  SONDE_ASSIGN(const bool kernelop, database.has_table("rocpd_kernelop"));
  if (kernelop) return Flavour::kV1;
  SONDE_ASSIGN(const bool domain, database.has_column("rocpd_api", "domain_id"));
  if (domain) return Flavour::kV3;
  SONDE_ASSIGN(const bool ktop, database.has_table("ktop"));
  if (ktop) return Flavour::kV2a;
  SONDE_ASSIGN(const bool stackframe, database.has_table("rocpd_stackframe"));
  return stackframe ? Flavour::kV2c : Flavour::kV2b;
}

Status probe_v3(Database& database, std::vector<std::string>& notes) {
  SONDE_TRY(require_table(database, {"rocpd_api", "id domain_id category_id"}));
  SONDE_ASSIGN(const Probe probe, probe_table(database, kUstring));
  if (probe.found == Found::kUsable) return ok_status();
  if (probe.found == Found::kUnusable) notes.push_back(probe.reason);
  return database.exec("CREATE TEMP VIEW rocpd_ustring AS SELECT id, string FROM rocpd_string");
}

Result<bool> probe_sonde(Database& database, std::vector<std::string>& notes) {
  bool made_by_sonde = true;
  for (const auto& table : kSonde) {
    SONDE_ASSIGN(const Probe probe, probe_table(database, table));
    if (probe.found == Found::kUnusable) notes.push_back(probe.reason);
    made_by_sonde = made_by_sonde && probe.found == Found::kUsable;
  }
  return made_by_sonde;
}

}  // namespace

const char* flavour_name(Flavour flavour) {
  constexpr const char* kNames[] = {"v1", "v2a", "v2b", "v2c", "v3"};
  return kNames[static_cast<size_t>(flavour)];
}

Status Reader::probe() {
  for (const auto& table : kRequired) SONDE_TRY(require_table(database_, table));
  SONDE_ASSIGN(flavour_, detect_flavour(database_));
  for (const auto& table : kOptional) SONDE_TRY(use_optional(database_, table, notes_));
  if (flavour_ == Flavour::kV1) {
    for (const auto& table : kByOp) SONDE_TRY(use_optional(database_, table, notes_));
  } else {
    for (const auto& table : kByApi) SONDE_TRY(use_optional(database_, table, notes_));
  }
  if (flavour_ == Flavour::kV3) {
    SONDE_TRY(probe_v3(database_, notes_));
    SONDE_ASSIGN(made_by_sonde_, probe_sonde(database_, notes_));
  }
  SONDE_TRY(database_.exec(canonical_views(flavour_, made_by_sonde_)));
  return database_.exec(sonde_views(flavour_, "CREATE TEMP VIEW"));
}

Result<Reader> Reader::open(const std::string& path) {
  SONDE_ASSIGN(auto database, open_input(path));
  Reader reader(std::move(database));
  SONDE_TRY(reader.probe());
  return reader;
}

}  // namespace sonde::store
