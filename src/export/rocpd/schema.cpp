#include "export/rocpd/schema.h"

#include <fmt/format.h>

#include <algorithm>

namespace sonde::exporting {

namespace {

struct Table {
  const char* name;
  const char* columns;  // after id and guid
};

// What most tables end with.
#define ROCPD_EXTDATA ", extdata JSONB DEFAULT '{}' NOT NULL"

constexpr Table kTables[] = {
    {"rocpd_string", "string TEXT NOT NULL UNIQUE"},
    {"rocpd_info_node",
     "hash BIGINT NOT NULL UNIQUE, machine_id TEXT NOT NULL UNIQUE, system_name TEXT, "
     "hostname TEXT, release TEXT, version TEXT, hardware_name TEXT, domain_name TEXT"},
    {"rocpd_info_process",
     "nid INTEGER NOT NULL, ppid INTEGER, pid INTEGER NOT NULL, init BIGINT, fini BIGINT, "
     "start BIGINT, \"end\" BIGINT, command TEXT, "
     "environment JSONB DEFAULT '{}' NOT NULL" ROCPD_EXTDATA},
    {"rocpd_info_thread",
     "nid INTEGER NOT NULL, ppid INTEGER, pid INTEGER NOT NULL, tid INTEGER NOT NULL, name TEXT, "
     "start BIGINT, \"end\" BIGINT" ROCPD_EXTDATA},
    {"rocpd_info_agent",
     "nid INTEGER NOT NULL, pid INTEGER NOT NULL, type TEXT CHECK (type IN ('CPU', 'GPU')), "
     "absolute_index INTEGER, logical_index INTEGER, type_index INTEGER, uuid INTEGER, "
     "name TEXT, model_name TEXT, vendor_name TEXT, product_name TEXT, "
     "user_name TEXT" ROCPD_EXTDATA},
    {"rocpd_info_queue", "nid INTEGER NOT NULL, pid INTEGER NOT NULL, name TEXT" ROCPD_EXTDATA},
    {"rocpd_info_stream", "nid INTEGER NOT NULL, pid INTEGER NOT NULL, name TEXT" ROCPD_EXTDATA},
    {"rocpd_info_pmc",
     "nid INTEGER NOT NULL, pid INTEGER NOT NULL, agent_id INTEGER, "
     "target_arch TEXT CHECK (target_arch IN ('CPU', 'GPU')), event_code INT, "
     "instance_id INTEGER, name TEXT NOT NULL, symbol TEXT NOT NULL, description TEXT, "
     "long_description TEXT DEFAULT '', component TEXT, units TEXT DEFAULT '', "
     "value_type TEXT CHECK (value_type IN ('ABS', 'ACCUM', 'RELATIVE')), block TEXT, "
     "expression TEXT, is_constant INTEGER, is_derived INTEGER" ROCPD_EXTDATA},
    {"rocpd_info_code_object",
     "nid INTEGER NOT NULL, pid INTEGER NOT NULL, agent_id INTEGER, uri TEXT, load_base BIGINT, "
     "load_size BIGINT, load_delta BIGINT, "
     "storage_type TEXT CHECK (storage_type IN ('FILE', 'MEMORY'))" ROCPD_EXTDATA},
    {"rocpd_info_kernel_symbol",
     "nid INTEGER NOT NULL, pid INTEGER NOT NULL, code_object_id INTEGER NOT NULL, "
     "kernel_name TEXT, display_name TEXT, kernel_object INTEGER, kernarg_segment_size INTEGER, "
     "kernarg_segment_alignment INTEGER, group_segment_size INTEGER, "
     "private_segment_size INTEGER, sgpr_count INTEGER, arch_vgpr_count INTEGER, "
     "accum_vgpr_count INTEGER" ROCPD_EXTDATA},
    {"rocpd_track",
     "nid INTEGER NOT NULL, pid INTEGER, tid INTEGER, name_id INTEGER" ROCPD_EXTDATA},
    {"rocpd_event",
     "category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER, "
     "call_stack JSONB DEFAULT '{}' NOT NULL, line_info JSONB DEFAULT '{}' NOT "
     "NULL" ROCPD_EXTDATA},
    {"rocpd_arg",
     "event_id INTEGER NOT NULL, position INTEGER NOT NULL, type TEXT NOT NULL, "
     "name TEXT NOT NULL, value TEXT" ROCPD_EXTDATA},
    {"rocpd_pmc_event",
     "event_id INTEGER, pmc_id INTEGER NOT NULL, value REAL DEFAULT 0.0, "
     "extdata JSONB DEFAULT '{}'"},
    {"rocpd_region",
     "nid INTEGER NOT NULL, pid INTEGER NOT NULL, tid INTEGER NOT NULL, start BIGINT NOT NULL, "
     "\"end\" BIGINT NOT NULL, name_id INTEGER NOT NULL, event_id INTEGER" ROCPD_EXTDATA},
    {"rocpd_sample",
     "track_id INTEGER NOT NULL, timestamp BIGINT NOT NULL, event_id INTEGER" ROCPD_EXTDATA},
    {"rocpd_kernel_dispatch",
     "nid INTEGER NOT NULL, pid INTEGER NOT NULL, tid INTEGER, agent_id INTEGER NOT NULL, "
     "kernel_id INTEGER NOT NULL, dispatch_id INTEGER NOT NULL, queue_id INTEGER NOT NULL, "
     "stream_id INTEGER NOT NULL, start BIGINT NOT NULL, \"end\" BIGINT NOT NULL, "
     "private_segment_size INTEGER, group_segment_size INTEGER, "
     "workgroup_size_x INTEGER NOT NULL, workgroup_size_y INTEGER NOT NULL, "
     "workgroup_size_z INTEGER NOT NULL, grid_size_x INTEGER NOT NULL, "
     "grid_size_y INTEGER NOT NULL, grid_size_z INTEGER NOT NULL, region_name_id INTEGER, "
     "event_id INTEGER" ROCPD_EXTDATA},
    {"rocpd_memory_copy",
     "nid INTEGER NOT NULL, pid INTEGER NOT NULL, tid INTEGER, start BIGINT NOT NULL, "
     "\"end\" BIGINT NOT NULL, name_id INTEGER NOT NULL, dst_agent_id INTEGER, "
     "dst_address INTEGER, src_agent_id INTEGER, src_address INTEGER, size INTEGER NOT NULL, "
     "queue_id INTEGER, stream_id INTEGER, region_name_id INTEGER, event_id "
     "INTEGER" ROCPD_EXTDATA},
    {"rocpd_memory_allocate",
     "nid INTEGER NOT NULL, pid INTEGER NOT NULL, tid INTEGER, agent_id INTEGER, "
     "type TEXT CHECK (type IN ('ALLOC', 'FREE', 'REALLOC', 'RECLAIM')), "
     "level TEXT CHECK (level IN ('REAL', 'VIRTUAL', 'SCRATCH')), start BIGINT NOT NULL, "
     "\"end\" BIGINT NOT NULL, address INTEGER, size INTEGER NOT NULL, queue_id INTEGER, "
     "stream_id INTEGER, event_id INTEGER" ROCPD_EXTDATA},
};

#undef ROCPD_EXTDATA

// The views that people query by hand. Durations are ns, but top's, which are us as rocpd's are.
constexpr const char* kViews = R"(
CREATE VIEW processes AS SELECT N.id AS nid, N.machine_id, N.hostname, P.init, P.fini, P.start,
  P."end", P.pid, P.ppid, P.command, P.guid
  FROM rocpd_info_process P JOIN rocpd_info_node N ON N.id = P.nid;
CREATE VIEW threads AS SELECT P.pid, T.tid, T.name, T.start, T."end", T.guid
  FROM rocpd_info_thread T JOIN rocpd_info_process P ON P.id = T.pid;
CREATE VIEW regions AS SELECT R.id, R.guid, C.string AS category, S.string AS name, R.nid, P.pid,
  T.tid, R.start, R."end", R."end" - R.start AS duration, R.event_id, E.stack_id,
  E.parent_stack_id, E.correlation_id AS corr_id, E.extdata
  FROM rocpd_region R JOIN rocpd_event E ON E.id = R.event_id
  LEFT JOIN rocpd_string C ON C.id = E.category_id LEFT JOIN rocpd_string S ON S.id = R.name_id
  JOIN rocpd_info_process P ON P.id = R.pid JOIN rocpd_info_thread T ON T.id = R.tid;
CREATE VIEW kernels AS SELECT K.id, K.guid, K.tid, C.string AS category, K.nid, P.pid,
  A.absolute_index AS agent_abs_index, A.type AS agent_type, S.display_name AS name,
  K.start, K."end", K."end" - K.start AS duration, K.dispatch_id, K.queue_id, K.stream_id,
  K.workgroup_size_x AS workgroup_x, K.workgroup_size_y AS workgroup_y,
  K.workgroup_size_z AS workgroup_z, K.grid_size_x AS grid_x, K.grid_size_y AS grid_y,
  K.grid_size_z AS grid_z, K.group_segment_size AS lds_size,
  K.private_segment_size AS scratch_size, E.stack_id
  FROM rocpd_kernel_dispatch K JOIN rocpd_info_process P ON P.id = K.pid
  JOIN rocpd_info_agent A ON A.id = K.agent_id
  JOIN rocpd_info_kernel_symbol S ON S.id = K.kernel_id
  JOIN rocpd_event E ON E.id = K.event_id LEFT JOIN rocpd_string C ON C.id = E.category_id;
CREATE VIEW counters_collection AS SELECT min(V.id) AS id, K.guid, K.dispatch_id, K.kernel_id,
  K.event_id, E.correlation_id, E.stack_id, P.pid, T.tid, K.agent_id, A.absolute_index AS
  agent_abs_index, A.type AS agent_type, K.queue_id, K.grid_size_x * K.grid_size_y *
  K.grid_size_z AS grid_size, S.display_name AS kernel_name, K.workgroup_size_x *
  K.workgroup_size_y * K.workgroup_size_z AS workgroup_size, K.group_segment_size AS
  lds_block_size, K.private_segment_size AS scratch_size, C.name AS counter_name,
  C.id AS counter_id, sum(V.value) AS value, K.start, K."end", K."end" - K.start AS duration
  FROM rocpd_pmc_event V JOIN rocpd_info_pmc C ON C.id = V.pmc_id
  JOIN rocpd_kernel_dispatch K ON K.event_id = V.event_id JOIN rocpd_event E ON E.id = K.event_id
  JOIN rocpd_info_process P ON P.id = K.pid JOIN rocpd_info_agent A ON A.id = K.agent_id
  JOIN rocpd_info_kernel_symbol S ON S.id = K.kernel_id
  LEFT JOIN rocpd_info_thread T ON T.id = K.tid GROUP BY K.id, C.id;
CREATE VIEW memory_copies AS SELECT M.id, M.guid, C.string AS category, M.nid, P.pid, M.tid,
  M.start, M."end", M."end" - M.start AS duration, S.string AS name, M.size,
  M.dst_agent_id, M.src_agent_id, M.queue_id, M.stream_id, E.stack_id
  FROM rocpd_memory_copy M JOIN rocpd_info_process P ON P.id = M.pid
  LEFT JOIN rocpd_string S ON S.id = M.name_id
  JOIN rocpd_event E ON E.id = M.event_id LEFT JOIN rocpd_string C ON C.id = E.category_id;
CREATE VIEW top_kernels AS SELECT name, count(*) AS total_calls, sum(duration) AS total_duration,
  avg(duration) AS average, sum(duration) * 100.0 / (SELECT sum(duration) FROM kernels)
  AS percentage FROM kernels GROUP BY name ORDER BY total_duration DESC;
CREATE VIEW top AS SELECT name, count(*) AS total_calls, sum(duration) / 1000.0 AS total_duration,
  avg(duration) / 1000.0 AS average, sum(duration) * 100.0 / (SELECT sum(d) FROM
  (SELECT sum(duration) AS d FROM kernels UNION ALL SELECT sum(duration) FROM memory_copies))
  AS percentage FROM (SELECT name, duration FROM kernels UNION ALL
  SELECT name, duration FROM memory_copies) GROUP BY name ORDER BY total_duration DESC;
)";

// What the names of the tables end in.
std::string suffix_of(const std::string& guid) {
  std::string suffix = "_" + guid;
  std::replace(suffix.begin(), suffix.end(), '-', '_');
  return suffix;
}

}  // namespace

std::string rocpd_table(const std::string& table, const std::string& guid) {
  return fmt::format("\"{}{}\"", table, suffix_of(guid));
}

std::string rocpd_schema_sql(const std::string& guid) {
  std::string sql = fmt::format(
      "CREATE TABLE {0} (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, tag TEXT NOT NULL, "
      "value TEXT NOT NULL);\nCREATE VIEW rocpd_metadata AS SELECT * FROM {0};\n",
      rocpd_table("rocpd_metadata", guid));
  for (const Table& table : kTables) {
    const std::string name = rocpd_table(table.name, guid);
    sql += fmt::format(
        "CREATE TABLE {0} (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT "
        "'{1}' NOT NULL, {2});\nCREATE VIEW {3} AS SELECT * FROM {0};\n",
        name, guid, table.columns, table.name);
  }
  sql += fmt::format(
      "INSERT INTO {} (tag, value) VALUES ('schema_version', '3'), ('uuid', '{}'), ('guid', "
      "'{}');\n",
      rocpd_table("rocpd_metadata", guid), suffix_of(guid), guid);
  return sql + kViews;
}

}  // namespace sonde::exporting
