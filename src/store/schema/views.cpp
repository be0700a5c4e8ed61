// The v_* views, which give every flavour one shape, and the corrected sonde_* views over them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <map>

#include "store/launch_unit.h"
#include "store/op_class.h"
#include "store/schema/schema.h"

namespace sonde::store {

namespace {

// The SELECT of each v_* view, by its name without "v_".
using Sources = std::map<std::string_view, std::string>;

constexpr const char* kString = "SELECT id, string FROM rocpd_string";

// RPD keeps '' where a size was not known.
constexpr const char* kCopyByApi =
    "SELECT api_ptr_id AS api_id, stream, "
    "CASE typeof(size) WHEN 'integer' THEN size END AS size_bytes, "
    "CASE typeof(width) WHEN 'integer' THEN width END AS width, "
    "CASE typeof(height) WHEN 'integer' THEN height END AS height, "
    "kind, dst, src, dstDevice AS dst_device, srcDevice AS src_device, sync, pinned "
    "FROM rocpd_copyapi";
constexpr const char* kCopyByOp =
    "SELECT link.api_id AS api_id, NULL AS stream, "
    "CASE typeof(c.size) WHEN 'integer' THEN c.size END AS size_bytes, NULL AS width, "
    "NULL AS height, NULL AS kind, c.dst AS dst, c.src AS src, NULL AS dst_device, "
    "NULL AS src_device, c.sync AS sync, c.pinned AS pinned "
    "FROM rocpd_copyop c INNER JOIN rocpd_api_ops link ON link.op_id = c.op_ptr_id";

// Work items along an axis; NULL where a size is 0, which is not known, or the product too large.
std::string items_along(const std::string& axis) {
  const std::string items =
      fmt::format("k.grid{0} * CASE WHEN n.string IN ('{1}') THEN 1 ELSE k.workgroup{0} END", axis,
                  fmt::join(kWorkItemLaunches, "', '"));
  return fmt::format("CASE WHEN typeof({0}) = 'integer' AND {0} > 0 THEN {0} END", items);
}

std::string detail_columns(const char* bytes) {
  return fmt::format(
      "SELECT o.id AS op_id, a.pid AS process_id, link.api_id AS api_id, NULL AS queued_ns, "
      "NULL AS submitted_ns, {} AS bytes, {} AS grid_x, {} AS grid_y, {} AS grid_z, "
      "k.workgroupX AS group_x, k.workgroupY AS group_y, k.workgroupZ AS group_z, "
      "k.groupSegmentSize AS group_segment_bytes, k.privateSegmentSize AS private_segment_bytes, "
      "0 AS status FROM rocpd_op o ",
      bytes, items_along("X"), items_along("Y"), items_along("Z"));
}

// The launching call of an op is its first one. What the call says of a kernel holds for the ops of
// that kernel only, since a graph launch starts many; its size holds if it made just one op.
// likely() tells the planner that there are many rows, or it scans them for every op of a join.
std::string detail_by_api() {
  return detail_columns("CASE WHEN link.ops = 1 AND typeof(c.size) = 'integer' THEN c.size END") +
         "INNER JOIN (SELECT op_id, api_id, count(*) OVER (PARTITION BY api_id) AS ops, "
         "row_number() OVER (PARTITION BY op_id ORDER BY api_id) AS nth FROM rocpd_api_ops) link "
         "ON link.op_id = o.id "
         "LEFT JOIN rocpd_api a ON a.id = link.api_id "
         "LEFT JOIN rocpd_string n ON n.id = a.apiName_id "
         "LEFT JOIN rocpd_kernelapi k ON k.api_ptr_id = link.api_id "
         "AND k.kernelName_id = o.description_id "
         "LEFT JOIN rocpd_copyapi c ON c.api_ptr_id = link.api_id "
         "WHERE likely(link.nth = 1)";
}

std::string detail_by_op() {
  return detail_columns("CASE typeof(c.size) WHEN 'integer' THEN c.size END") +
         "LEFT JOIN (SELECT op_id, min(api_id) AS api_id FROM rocpd_api_ops GROUP BY op_id) link "
         "ON link.op_id = o.id "
         "LEFT JOIN rocpd_api a ON a.id = link.api_id "
         "LEFT JOIN rocpd_string n ON n.id = a.apiName_id "
         "LEFT JOIN rocpd_kernelop k ON k.op_ptr_id = o.id "
         "LEFT JOIN rocpd_copyop c ON c.op_ptr_id = o.id";
}

Sources of_other_tools() {
  return {
      {"string", kString},
      {"ustring", kString},
      {"api",
       "SELECT id, pid, tid, start AS start_ns, \"end\" AS end_ns, apiName_id AS name_id, "
       "NULL AS domain_id, NULL AS category_id, args_id FROM rocpd_api"},
      {"op",
       "SELECT id, gpuId AS gpu_id, queueId AS queue_id, sequenceId AS sequence_id, "
       "start AS start_ns, \"end\" AS end_ns, description_id AS name_id, opType_id AS type_id "
       "FROM rocpd_op"},
      {"api_op", "SELECT api_id, op_id FROM rocpd_api_ops"},
      {"op_detail", detail_by_api()},
      {"copy", kCopyByApi},
      {"monitor",
       "SELECT id, deviceType AS device_type, deviceId AS device_id, monitorType AS monitor_type, "
       "start AS start_ns, \"end\" AS end_ns, value FROM rocpd_monitor"},
      {"process",
       "SELECT pid AS id, pid, NULL AS ppid, min(start) AS start_ns, max(\"end\") AS end_ns, "
       "NULL AS command, NULL AS rank, NULL AS exit FROM rocpd_api GROUP BY pid"},
      {"thread", "SELECT DISTINCT pid AS process_id, pid, tid, NULL AS name FROM rocpd_api"},
      {"device",
       "SELECT DISTINCT gpuId AS gpu_id, NULL AS process_id, NULL AS backend, NULL AS name, "
       "NULL AS vendor, NULL AS kind, NULL AS memory_bytes, NULL AS compute_units FROM rocpd_op"},
      {"counter",
       "SELECT NULL AS process_id, NULL AS pid, NULL AS tid, NULL AS time_ns, NULL AS name, "
       "NULL AS value WHERE 0"},
      {"op_args", "SELECT op_id, args FROM sonde_op_args"},
      {"flow",
       "SELECT id, flow, category_id, name_id, phase, process_id, tid, time_ns FROM sonde_flow"}};
}

void use_v3_columns(Sources& sources) {
  sources["ustring"] = "SELECT id, string FROM rocpd_ustring";
  sources["api"] =
      "SELECT id, pid, tid, start AS start_ns, \"end\" AS end_ns, apiName_id AS name_id, "
      "domain_id, category_id, args_id FROM rocpd_api";
}

void use_sonde_tables(Sources& sources) {
  sources["op_detail"] =
      "SELECT op_id, process_id, api_id, queued_ns, submitted_ns, bytes, grid_x, grid_y, grid_z, "
      "group_x, group_y, group_z, group_segment_bytes, private_segment_bytes, status "
      "FROM sonde_op_detail";
  sources["process"] =
      "SELECT id, pid, ppid, start_ns, end_ns, command, rank, exit FROM sonde_process";
  sources["thread"] =
      "SELECT t.process_id AS process_id, p.pid AS pid, t.tid AS tid, t.name AS name "
      "FROM sonde_thread t LEFT JOIN sonde_process p ON p.id = t.process_id";
  sources["device"] =
      "SELECT gpu_id, process_id, backend, name, vendor, kind, memory_bytes, compute_units "
      "FROM sonde_device";
  sources["counter"] =
      "SELECT c.process_id AS process_id, p.pid AS pid, c.tid AS tid, c.time_ns AS time_ns, "
      "n.string AS name, c.value AS value FROM sonde_counter c "
      "LEFT JOIN sonde_process p ON p.id = c.process_id "
      "LEFT JOIN rocpd_string n ON n.id = c.name_id";
}

Sources sources_of(Flavour flavour, bool made_by_sonde) {
  Sources sources = of_other_tools();
  if (flavour == Flavour::kV1) {
    sources["op_detail"] = detail_by_op();
    sources["copy"] = kCopyByOp;
  }
  if (flavour == Flavour::kV3) use_v3_columns(sources);
  if (made_by_sonde) use_sonde_tables(sources);
  return sources;
}

// The corrected views. {op} stands for v_op, and so on. A name that is in no string table is shown
// as <string ID>, and an op that ends before it starts as one of no length.
struct View {
  const char* name;
  const char* select;
};

constexpr View kSondeViews[] = {
    {"sonde_op", R"sql(
  SELECT o.id AS id, o.gpu_id AS gpu_id, o.queue_id AS queue_id, o.sequence_id AS sequence_id,
    o.start_ns AS start_ns, o.end_ns AS end_ns, max(o.end_ns - o.start_ns, 0) AS duration_ns,
    {name:n:o.name_id} AS name, {name:t:o.type_id} AS type,
    CASE WHEN {is_kernel} THEN 1 ELSE 0 END AS is_kernel
  FROM {op} o
  LEFT JOIN {string} n ON n.id = o.name_id
  LEFT JOIN {string} t ON t.id = o.type_id)sql"},
    {"sonde_api", R"sql(
  SELECT a.id AS id, a.pid AS pid, a.tid AS tid, a.start_ns AS start_ns, a.end_ns AS end_ns,
    max(a.end_ns - a.start_ns, 0) AS duration_ns, d.string AS domain, c.string AS category,
    {name:n:a.name_id} AS name, u.string AS args
  FROM {api} a
  LEFT JOIN {string} n ON n.id = a.name_id
  LEFT JOIN {string} d ON d.id = a.domain_id
  LEFT JOIN {string} c ON c.id = a.category_id
  LEFT JOIN {ustring} u ON u.id = a.args_id)sql"},
    {"sonde_top", R"sql(
  WITH part AS (
    SELECT name_id, type_id, count(*) AS calls, sum(max(end_ns - start_ns, 0)) AS total_ns,
      min(max(end_ns - start_ns, 0)) AS min_ns, max(max(end_ns - start_ns, 0)) AS max_ns
    FROM {op} GROUP BY name_id, type_id)
  SELECT CASE WHEN n.string = '' THEN {name:t:o.type_id} ELSE {name:n:o.name_id} END AS name,
    {totals}
  FROM part o
  LEFT JOIN {string} n ON n.id = o.name_id
  LEFT JOIN {string} t ON t.id = o.type_id
  GROUP BY 1
  ORDER BY total_ns DESC, name)sql"},
    {"sonde_ktop", R"sql(
  WITH part AS (
    SELECT name_id, type_id, count(*) AS calls, sum(max(end_ns - start_ns, 0)) AS total_ns,
      min(max(end_ns - start_ns, 0)) AS min_ns, max(max(end_ns - start_ns, 0)) AS max_ns
    FROM {op} GROUP BY name_id, type_id)
  SELECT {name:n:o.name_id} AS name,
    {totals}
  FROM part o
  LEFT JOIN {string} n ON n.id = o.name_id
  LEFT JOIN {string} t ON t.id = o.type_id
  WHERE {is_kernel}
  GROUP BY 1
  ORDER BY total_ns DESC, name)sql"},
    {"sonde_api_top", R"sql(
  WITH part AS (
    SELECT domain_id, name_id, CASE WHEN name_id IN
        (SELECT id FROM {string} WHERE string = 'UserMarker') THEN args_id END AS text_id,
      count(*) AS calls, sum(max(end_ns - start_ns, 0)) AS total_ns,
      min(max(end_ns - start_ns, 0)) AS min_ns, max(max(end_ns - start_ns, 0)) AS max_ns
    FROM {api}
    WHERE category_id IS NULL OR category_id NOT IN
      (SELECT id FROM {string} WHERE string IN ('gpu_user_annotation', 'cuda_sync'))
    GROUP BY 1, 2, 3)
  SELECT d.string AS domain, coalesce(nullif(u.string, ''), {name:n:o.name_id}) AS name,
    {totals}
  FROM part o
  LEFT JOIN {ustring} u ON u.id = o.text_id
  LEFT JOIN {string} n ON n.id = o.name_id
  LEFT JOIN {string} d ON d.id = o.domain_id
  GROUP BY 1, 2
  ORDER BY total_ns DESC, name)sql"},
    {"sonde_busy", R"sql(
  WITH op AS (
    SELECT gpu_id, start_ns, max(end_ns, start_ns) AS end_ns FROM {op}),
  swept AS (
    SELECT gpu_id, start_ns, end_ns,
      max(end_ns) OVER (PARTITION BY gpu_id ORDER BY start_ns, end_ns
                        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
    FROM op),
  gpu AS (
    SELECT gpu_id, count(*) AS ops,
      sum(max(end_ns - max(start_ns, coalesce(covered_ns, start_ns)), 0)) AS busy_ns,
      sum(end_ns - start_ns) AS sum_ns, min(start_ns) AS first_ns, max(end_ns) AS last_ns
    FROM swept GROUP BY gpu_id)
  SELECT gpu_id, ops, busy_ns, sum_ns, last_ns - first_ns AS span_ns,
    busy_ns * 1.0 / nullif(last_ns - first_ns, 0) AS busy,
    sum_ns * 1.0 / nullif((max(last_ns) OVER ()) - (min(first_ns) OVER ()), 0) AS rpd_busy
  FROM gpu ORDER BY gpu_id)sql"},
    {"sonde_kernel", R"sql(
  SELECT o.id AS op_id, d.process_id AS process_id, a.pid AS pid, a.tid AS tid,
    d.api_id AS api_id, o.gpu_id AS gpu_id, o.queue_id AS queue_id,
    o.sequence_id AS sequence_id, o.start_ns AS start_ns, o.end_ns AS end_ns,
    max(o.end_ns - o.start_ns, 0) AS duration_ns, {name:n:o.name_id} AS name,
    {name:t:o.type_id} AS type, d.grid_x AS grid_x, d.grid_y AS grid_y, d.grid_z AS grid_z,
    d.group_x AS group_x, d.group_y AS group_y, d.group_z AS group_z,
    d.group_segment_bytes AS group_segment_bytes,
    d.private_segment_bytes AS private_segment_bytes, d.queued_ns AS queued_ns,
    d.submitted_ns AS submitted_ns, d.status AS status
  FROM {op} o
  LEFT JOIN {string} n ON n.id = o.name_id
  LEFT JOIN {string} t ON t.id = o.type_id
  LEFT JOIN {op_detail} d ON d.op_id = o.id
  LEFT JOIN {api} a ON a.id = d.api_id
  WHERE {is_kernel})sql"},
    {"sonde_copy", R"sql(
  SELECT o.id AS op_id, d.process_id AS process_id, a.pid AS pid, a.tid AS tid,
    d.api_id AS api_id, {name:an:a.name_id} AS api_name, o.gpu_id AS gpu_id,
    o.queue_id AS queue_id, o.sequence_id AS sequence_id, o.start_ns AS start_ns,
    o.end_ns AS end_ns, max(o.end_ns - o.start_ns, 0) AS duration_ns,
    {name:t:o.type_id} AS type, d.bytes AS bytes,
    d.bytes * 1e9 / nullif(max(o.end_ns - o.start_ns, 0), 0) AS bytes_per_s,
    c.kind AS kind, c.dst AS dst, c.src AS src, c.dst_device AS dst_device,
    c.src_device AS src_device, c.sync AS sync, c.pinned AS pinned, d.queued_ns AS queued_ns,
    d.submitted_ns AS submitted_ns, d.status AS status
  FROM {op} o
  LEFT JOIN {string} t ON t.id = o.type_id
  LEFT JOIN {op_detail} d ON d.op_id = o.id
  LEFT JOIN {api} a ON a.id = d.api_id
  LEFT JOIN {string} an ON an.id = a.name_id
  LEFT JOIN {copy} c ON c.api_id = d.api_id
  WHERE {is_copy})sql"},
};

constexpr const char* kTotals =
    "sum(o.calls) AS calls, sum(o.total_ns) AS total_ns,\n"
    "    sum(o.total_ns) * 1.0 / sum(o.calls) AS mean_ns, min(o.min_ns) AS min_ns,\n"
    "    max(o.max_ns) AS max_ns,\n"
    "    sum(o.total_ns) * 100.0 / nullif(sum(sum(o.total_ns)) OVER (), 0) AS percentage";

// "name:n:o.name_id" -> the text of string row n, or what to show where there is no such row.
std::string name_or_id(const std::string& placeholder) {
  const size_t colon = placeholder.find(':', 5);
  const std::string alias = placeholder.substr(5, colon - 5);
  const std::string id = placeholder.substr(colon + 1);
  return "coalesce(" + alias + ".string, '<string ' || " + id + " || '>')";
}

std::string fill_in(const char* text, const Sources* inlined) {
  std::string out;
  for (const char* at = text; *at != '\0';) {
    if (*at != '{') {
      out += *at++;
      continue;
    }
    const char* end = std::strchr(at, '}');
    SONDE_CHECK(end != nullptr);
    const std::string name(at + 1, end);
    if (name == "totals") {
      out += kTotals;
    } else if (name == "is_kernel") {
      out += is_kernel_sql();
    } else if (name == "is_copy") {
      out += moves_memory_sql();
    } else if (name.rfind("name:", 0) == 0) {
      out += name_or_id(name);
    } else {
      out += inlined == nullptr ? "v_" + name : "(" + inlined->at(name) + ")";
    }
    at = end + 1;
  }
  return out;
}

}  // namespace

std::string canonical_views(Flavour flavour, bool made_by_sonde) {
  std::string sql;
  for (const auto& [name, select] : sources_of(flavour, made_by_sonde)) {
    sql += "CREATE TEMP VIEW v_" + std::string(name) + " AS " + select + ";\n";
  }
  return sql;
}

std::string sonde_views(Flavour flavour, const char* create) {
  // A view that lives in the file cannot use TEMP views: it holds their text.
  const Sources sources = sources_of(flavour, true);
  const bool temporary = std::strstr(create, "TEMP") != nullptr;
  std::string sql;
  for (const auto& view : kSondeViews) {
    sql += std::string(create) + " " + view.name + " AS" +
           fill_in(view.select, temporary ? nullptr : &sources) + ";\n";
  }
  return sql;
}

}  // namespace sonde::store
