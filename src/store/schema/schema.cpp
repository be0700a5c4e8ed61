#include "store/schema/schema.h"

namespace sonde::store {

namespace {

// Column order matters in the rocpd_* tables: RPD's tools insert with "SELECT *".
constexpr const char* kRpdV3Schema = R"sql(
CREATE TABLE "rocpd_metadata" (
  "id" integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  "tag" varchar(4096) NOT NULL,
  "value" varchar(4096) NOT NULL);
CREATE TABLE "rocpd_string" (
  "id" integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  "string" varchar(4096) NOT NULL);
CREATE TABLE "rocpd_ustring" (
  "id" integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  "string" varchar(4096) NOT NULL);
CREATE TABLE "rocpd_api" (
  "id" integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  "pid" integer NOT NULL,
  "tid" integer NOT NULL,
  "start" integer NOT NULL,
  "end" integer NOT NULL,
  "apiName_id" bigint NOT NULL REFERENCES "rocpd_string" ("id") DEFERRABLE INITIALLY DEFERRED,
  "category_id" bigint NOT NULL REFERENCES "rocpd_string" ("id") DEFERRABLE INITIALLY DEFERRED,
  "domain_id" bigint NOT NULL REFERENCES "rocpd_string" ("id") DEFERRABLE INITIALLY DEFERRED,
  "args_id" bigint NOT NULL REFERENCES "rocpd_ustring" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "rocpd_copyapi" (
  "api_ptr_id" bigint NOT NULL PRIMARY KEY
    REFERENCES "rocpd_api" ("id") DEFERRABLE INITIALLY DEFERRED,
  "stream" varchar(18) NOT NULL,
  "size" integer NOT NULL,
  "width" integer NOT NULL,
  "height" integer NOT NULL,
  "kind" integer NOT NULL,
  "dst" varchar(18) NOT NULL,
  "src" varchar(18) NOT NULL,
  "dstDevice" integer NOT NULL,
  "srcDevice" integer NOT NULL,
  "sync" bool NOT NULL,
  "pinned" bool NOT NULL);
CREATE TABLE "rocpd_kernelapi" (
  "api_ptr_id" bigint NOT NULL PRIMARY KEY
    REFERENCES "rocpd_api" ("id") DEFERRABLE INITIALLY DEFERRED,
  "stream" varchar(18) NOT NULL,
  "gridX" integer NOT NULL,
  "gridY" integer NOT NULL,
  "gridZ" integer NOT NULL,
  "workgroupX" integer NOT NULL,
  "workgroupY" integer NOT NULL,
  "workgroupZ" integer NOT NULL,
  "groupSegmentSize" integer NOT NULL,
  "privateSegmentSize" integer NOT NULL,
  "kernelName_id" bigint NOT NULL
    REFERENCES "rocpd_string" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "rocpd_op" (
  "id" integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  "gpuId" integer NOT NULL,
  "queueId" integer NOT NULL,
  "sequenceId" integer NOT NULL,
  "start" integer NOT NULL,
  "end" integer NOT NULL,
  "description_id" bigint NOT NULL
    REFERENCES "rocpd_string" ("id") DEFERRABLE INITIALLY DEFERRED,
  "opType_id" bigint NOT NULL REFERENCES "rocpd_string" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "rocpd_api_ops" (
  "id" integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  "api_id" bigint NOT NULL REFERENCES "rocpd_api" ("id") DEFERRABLE INITIALLY DEFERRED,
  "op_id" bigint NOT NULL REFERENCES "rocpd_op" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "rocpd_monitor" (
  "id" integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  "deviceType" varchar(16) NOT NULL,
  "deviceId" integer NOT NULL,
  "monitorType" varchar(16) NOT NULL,
  "start" integer NOT NULL,
  "end" integer NOT NULL,
  "value" varchar(255) NOT NULL);
CREATE TABLE "rocpd_counter" (
  "id" integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  "value" real NOT NULL,
  "op_id" bigint NOT NULL REFERENCES "rocpd_op" ("id") DEFERRABLE INITIALLY DEFERRED,
  "name_id" bigint NOT NULL REFERENCES "rocpd_string" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "rocpd_stackframe" (
  "id" integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  "api_ptr_id" bigint NOT NULL REFERENCES "rocpd_api" ("id") DEFERRABLE INITIALLY DEFERRED,
  "depth" integer NOT NULL,
  "name_id" bigint NOT NULL REFERENCES "rocpd_string" ("id") DEFERRABLE INITIALLY DEFERRED);

INSERT INTO rocpd_metadata (tag, value) VALUES
  ('schema_version', '3'),
  ('gpu_stride', '1000'),
  ('pid_stride', '10000000'),
  ('session_count', '0');

CREATE VIEW api AS
  SELECT a.id, a.pid, a.tid, a.start, a."end", domain.string AS domain,
    category.string AS category, name.string AS apiName, args.string AS args
  FROM rocpd_api a
  INNER JOIN rocpd_string name ON name.id = a.apiName_id
  INNER JOIN rocpd_string category ON category.id = a.category_id
  INNER JOIN rocpd_string domain ON domain.id = a.domain_id
  INNER JOIN rocpd_ustring args ON args.id = a.args_id;
CREATE VIEW op AS
  SELECT o.id, o.gpuId, o.queueId, o.sequenceId, o.start, o."end",
    name.string AS description, type.string AS opType
  FROM rocpd_op o
  INNER JOIN rocpd_string name ON name.id = o.description_id
  INNER JOIN rocpd_string type ON type.id = o.opType_id;
CREATE VIEW busy AS
  SELECT gpu.gpuId, gpu.GpuTime, wall.WallTime, gpu.GpuTime * 1.0 / wall.WallTime AS Busy
  FROM (SELECT gpuId, sum("end" - start) AS GpuTime FROM rocpd_op GROUP BY gpuId) gpu
  INNER JOIN (SELECT max("end") - min(start) AS WallTime FROM rocpd_op) wall;
CREATE VIEW top AS
  SELECT name.string AS Name, count(name.string) AS TotalCalls,
    sum(part."end" - part.start) / 1000 AS TotalDuration_us,
    (sum(part."end" - part.start) / count(name.string)) / 1000.0 AS Ave_us,
    sum(part."end" - part.start) * 100.0 / (SELECT sum("end" - start) FROM rocpd_op) AS Percentage
  FROM (
    SELECT opType_id AS name_id, start, "end" FROM rocpd_op
    WHERE description_id IN (SELECT id FROM rocpd_string WHERE string = '')
    UNION
    SELECT description_id, start, "end" FROM rocpd_op
    WHERE description_id NOT IN (SELECT id FROM rocpd_string WHERE string = '')) part
  INNER JOIN rocpd_string name ON name.id = part.name_id
  GROUP BY name.string
  ORDER BY TotalDuration_us DESC;
CREATE VIEW kernel AS
  SELECT o.id, o.gpuId, o.queueId, o.sequenceId, o.start, o."end", o."end" - o.start AS duration,
    k.stream, k.gridX, k.gridY, k.gridZ AS gridz, k.workgroupX, k.workgroupY, k.workgroupZ,
    k.groupSegmentSize, k.privateSegmentSize, name.string AS kernelName
  FROM rocpd_api_ops link
  INNER JOIN rocpd_op o ON o.id = link.op_id
  INNER JOIN rocpd_kernelapi k ON k.api_ptr_id = link.api_id
  INNER JOIN rocpd_string name ON name.id = k.kernelName_id;
CREATE VIEW copy AS
  SELECT a.id, a.pid, a.tid, a.start, a."end", name.string AS apiName, c.stream, c.size, c.width,
    c.height, c.kind, c.dst, c.src, c.dstDevice, c.srcDevice, c.sync, c.pinned
  FROM rocpd_copyapi c
  INNER JOIN rocpd_api a ON a.id = c.api_ptr_id
  INNER JOIN rocpd_string name ON name.id = a.apiName_id;
CREATE VIEW copyop AS
  SELECT o.id, o.gpuId, o.queueId, o.sequenceId, o.start, o."end", o."end" - o.start AS duration,
    c.stream, c.size, c.width, c.height, c.kind, c.dst, c.src, c.dstDevice, c.srcDevice, c.sync,
    c.pinned, name.string AS apiName
  FROM rocpd_api_ops link
  INNER JOIN rocpd_op o ON o.id = link.op_id
  INNER JOIN rocpd_copyapi c ON c.api_ptr_id = link.api_id
  INNER JOIN rocpd_api a ON a.id = link.api_id
  INNER JOIN rocpd_string name ON name.id = a.apiName_id;
CREATE VIEW stackframe AS
  SELECT a.id, api_name.string AS string, f.depth, frame_name.string AS "string:1"
  FROM rocpd_stackframe f
  INNER JOIN rocpd_api a ON a.id = f.api_ptr_id
  INNER JOIN rocpd_string api_name ON api_name.id = a.apiName_id
  INNER JOIN rocpd_string frame_name ON frame_name.id = f.name_id;
CREATE VIEW napi AS
  SELECT a.id, a.pid / stride.value AS node, a.pid % stride.value AS pid,
    a.tid % stride.value AS tid, a.start, a."end", a.domain, a.category, a.apiName, a.args
  FROM api a
  INNER JOIN (SELECT CAST(value AS integer) AS value FROM rocpd_metadata
              WHERE tag = 'pid_stride') stride;
CREATE VIEW nop AS
  SELECT o.id, o.gpuId / stride.value AS node, o.gpuId % stride.value AS gpuId,
    o.queueId % stride.value AS queueId, o.sequenceId, o.start, o."end", o.description, o.opType
  FROM op o
  INNER JOIN (SELECT CAST(value AS integer) AS value FROM rocpd_metadata
              WHERE tag = 'gpu_stride') stride;
)sql";

constexpr const char* kNameIndex = R"sql(
CREATE INDEX IF NOT EXISTS "rocpd_strin_string_c7b9cd_idx" ON "rocpd_string" ("string");
)sql";

constexpr const char* kArgumentIndex = R"sql(
CREATE INDEX IF NOT EXISTS "rocpd_ustri_string_84d4a7_idx" ON "rocpd_ustring" ("string");
)sql";

constexpr const char* kSondeTables = R"sql(
CREATE TABLE sonde_process (
  id integer PRIMARY KEY,
  pid integer NOT NULL,
  ppid integer,
  start_ns integer,
  end_ns integer,
  executable text,
  command text,
  directory text,
  host text,
  rank integer,
  clock text,
  exit text);
CREATE TABLE sonde_thread (
  id integer PRIMARY KEY,
  process_id integer NOT NULL REFERENCES sonde_process (id),
  tid integer NOT NULL,
  name text,
  start_ns integer);
CREATE TABLE sonde_device (
  id integer PRIMARY KEY,
  process_id integer REFERENCES sonde_process (id),
  gpu_id integer NOT NULL,
  backend text,
  name text,
  vendor text,
  driver text,
  kind text,
  location text,
  memory_bytes integer,
  compute_units integer,
  clock_mhz integer);
CREATE TABLE sonde_queue (
  id integer PRIMARY KEY,
  process_id integer REFERENCES sonde_process (id),
  queue_id integer NOT NULL,
  gpu_id integer NOT NULL,
  handle integer,
  context integer,
  out_of_order integer,
  user_profiling integer);
CREATE TABLE sonde_clock_snapshot (
  id integer PRIMARY KEY,
  process_id integer REFERENCES sonde_process (id),
  clock text NOT NULL,
  value integer NOT NULL,
  monotonic_ns integer NOT NULL,
  uncertainty_ns integer);
CREATE TABLE sonde_diagnostic (
  id integer PRIMARY KEY,
  process_id integer REFERENCES sonde_process (id),
  time_ns integer,
  severity text NOT NULL,
  source text NOT NULL,
  text text NOT NULL);
CREATE TABLE sonde_drop (
  source text NOT NULL,
  reason text NOT NULL,
  count integer NOT NULL);
CREATE TABLE sonde_op_detail (
  op_id integer PRIMARY KEY REFERENCES rocpd_op (id),
  process_id integer,
  api_id integer,
  queued_ns integer,
  submitted_ns integer,
  bytes integer,
  grid_x integer,
  grid_y integer,
  grid_z integer,
  group_x integer,
  group_y integer,
  group_z integer,
  group_segment_bytes integer,
  private_segment_bytes integer,
  status integer);
CREATE TABLE sonde_counter (
  id integer PRIMARY KEY,
  process_id integer REFERENCES sonde_process (id),
  tid integer,
  time_ns integer NOT NULL,
  name_id integer NOT NULL REFERENCES rocpd_string (id),
  value real NOT NULL);
CREATE TABLE sonde_op_args (
  op_id integer PRIMARY KEY REFERENCES rocpd_op (id),
  args text NOT NULL);
CREATE TABLE sonde_flow (
  id integer PRIMARY KEY,
  flow text NOT NULL,
  category_id integer NOT NULL REFERENCES rocpd_string (id),
  name_id integer NOT NULL REFERENCES rocpd_string (id),
  phase text NOT NULL,
  process_id integer REFERENCES sonde_process (id),
  tid integer,
  time_ns integer NOT NULL);
CREATE TABLE sonde_note (
  process_id integer REFERENCES sonde_process (id),
  key text NOT NULL,
  value text NOT NULL);
CREATE TABLE sonde_unfinished (api_id integer PRIMARY KEY REFERENCES rocpd_api (id));
CREATE TABLE sonde_ingest (key text PRIMARY KEY, value);

INSERT INTO rocpd_metadata (tag, value) VALUES
  ('references::rocpd_string.id', '("sonde_counter", "name_id")'),
  ('references::rocpd_string.id', '("sonde_flow", "category_id")'),
  ('references::rocpd_string.id', '("sonde_flow", "name_id")');
)sql";

// Made where they are not there: files of earlier versions lack them.
constexpr const char* kSampleTables = R"sql(
CREATE TABLE IF NOT EXISTS sonde_module (
  id integer PRIMARY KEY,
  path text NOT NULL,
  build_id text NOT NULL);
CREATE TABLE IF NOT EXISTS sonde_frame (
  id integer PRIMARY KEY,
  kind text NOT NULL,
  module_id integer REFERENCES sonde_module (id),
  address integer,
  function text,
  file text,
  line integer,
  is_library integer,
  inlined_into integer REFERENCES sonde_frame (id));
CREATE TABLE IF NOT EXISTS sonde_stack (
  id integer PRIMARY KEY,
  parent_id integer REFERENCES sonde_stack (id),
  frame_id integer NOT NULL REFERENCES sonde_frame (id));
CREATE TABLE IF NOT EXISTS sonde_sample (
  id integer PRIMARY KEY,
  process_id integer NOT NULL REFERENCES sonde_process (id),
  tid integer NOT NULL,
  time_ns integer NOT NULL,
  stack_id integer NOT NULL REFERENCES sonde_stack (id),
  cpu_ns integer NOT NULL,
  missed integer NOT NULL,
  cost_ns integer NOT NULL,
  truncated integer NOT NULL,
  by_timer integer NOT NULL);
CREATE TABLE IF NOT EXISTS sonde_blocked (
  id integer PRIMARY KEY,
  process_id integer NOT NULL REFERENCES sonde_process (id),
  tid integer NOT NULL,
  time_ns integer NOT NULL,
  stack_id integer NOT NULL REFERENCES sonde_stack (id),
  wall_ns integer NOT NULL,
  truncated integer NOT NULL);
CREATE TABLE IF NOT EXISTS sonde_launch_stack (
  api_id integer PRIMARY KEY REFERENCES rocpd_api (id),
  stack_id integer NOT NULL REFERENCES sonde_stack (id),
  truncated integer NOT NULL);
CREATE TABLE IF NOT EXISTS sonde_op_counter (
  op_id integer NOT NULL REFERENCES rocpd_op (id),
  name_id integer NOT NULL REFERENCES rocpd_string (id),
  pass integer NOT NULL,
  xcc integer NOT NULL,
  engine integer NOT NULL,
  instance integer NOT NULL,
  value integer NOT NULL);
CREATE VIEW IF NOT EXISTS sonde_sampling AS
  SELECT process_id, iif(avg(by_timer) > 0.5, 'timer', 'perf event') AS method, count(*) AS samples, sum(missed) AS missed,
    sum(truncated <> 0) AS truncated, sum(cpu_ns) AS cpu_ns, sum(cost_ns) AS cost_ns,
    count(*) * 1e9 / nullif(sum(cpu_ns), 0) AS hz,
    sum(cost_ns) * 100.0 / nullif(sum(cpu_ns), 0) AS cost_percentage
  FROM sonde_sample
  GROUP BY process_id;
CREATE VIEW IF NOT EXISTS sonde_cpu_top AS
  SELECT coalesce(f.function, '<address ' || printf('%#x', f.address) || '>') AS function,
    m.path AS module, count(*) AS samples, sum(s.cpu_ns) AS self_ns,
    sum(s.cpu_ns) * 100.0 / nullif(sum(sum(s.cpu_ns)) OVER (), 0) AS percentage
  FROM sonde_sample s
  JOIN sonde_stack k ON k.id = s.stack_id
  JOIN sonde_frame f ON f.id = k.frame_id
  LEFT JOIN sonde_module m ON m.id = f.module_id
  GROUP BY 1, 2
  ORDER BY self_ns DESC, function;
)sql";

constexpr const char* kSondeIndices = R"sql(
CREATE INDEX IF NOT EXISTS sonde_thread_process ON sonde_thread (process_id, tid);
CREATE INDEX IF NOT EXISTS sonde_counter_name ON sonde_counter (name_id, time_ns);
)sql";

// What backends note as JSON, and what follows from a call's arguments, as tables. A note with such
// a key may be the program's own, and anything. HIP says of an op of a graph only which launch made
// it; its place there tells the nodes apart. In a merged file a GPU has the node of its process
// (see pid_stride and gpu_stride).
constexpr const char* kDerivedTables = R"sql(
CREATE TABLE IF NOT EXISTS sonde_code_object (
  process_id integer,
  uri text,
  load_base text,
  load_size integer,
  delta integer);
CREATE TABLE IF NOT EXISTS sonde_kernel_code (
  process_id integer,
  gpu_id integer,
  name text,
  object text,
  vgprs integer,
  accumulation_vgprs integer,
  sgprs integer,
  group_segment_bytes integer,
  private_segment_bytes integer,
  kernarg_bytes integer);
CREATE TABLE IF NOT EXISTS sonde_graph_op (
  op_id integer PRIMARY KEY REFERENCES rocpd_op (id),
  api_id integer NOT NULL REFERENCES rocpd_api (id),
  graph text NOT NULL,
  node integer NOT NULL);
DELETE FROM sonde_code_object;
DELETE FROM sonde_kernel_code;
DELETE FROM sonde_graph_op;
INSERT INTO sonde_code_object
  SELECT process_id, json_extract(value, '$.uri'), json_extract(value, '$.load_base'),
    json_extract(value, '$.load_size'), json_extract(value, '$.delta')
  FROM sonde_note WHERE key = 'hsa.code_object' AND json_valid(value);
INSERT INTO sonde_kernel_code
  SELECT process_id, json_extract(value, '$.gpu') + coalesce((SELECT p.pid FROM sonde_process p
      WHERE p.id = process_id), 0) / 10000000 * 1000, json_extract(value, '$.name'),
    json_extract(value, '$.object'), json_extract(value, '$.vgprs'),
    json_extract(value, '$.accumulation_vgprs'), json_extract(value, '$.sgprs'),
    json_extract(value, '$.group_segment_bytes'), json_extract(value, '$.private_segment_bytes'),
    json_extract(value, '$.kernarg_bytes')
  FROM sonde_note WHERE key = 'hsa.kernel' AND json_valid(value);
INSERT OR IGNORE INTO sonde_graph_op
  SELECT o.id, a.id, substr(args.string, 13, instr(args.string || ' |', ' |') - 13),
    row_number() OVER (PARTITION BY a.id ORDER BY o.start, o.id) - 1
  FROM rocpd_api a
  INNER JOIN rocpd_ustring args ON args.id = a.args_id
  INNER JOIN rocpd_api_ops link ON link.api_id = a.id
  INNER JOIN rocpd_op o ON o.id = link.op_id
  WHERE a.apiName_id IN (SELECT id FROM rocpd_string WHERE string = 'hipGraphLaunch')
    AND args.string LIKE 'graphExec = %';
)sql";

}  // namespace

const char* rpd_v3_schema() { return kRpdV3Schema; }
const char* rpd_v3_name_index() { return kNameIndex; }
const char* rpd_v3_argument_index() { return kArgumentIndex; }
const char* sonde_tables() { return kSondeTables; }
const char* sample_tables() { return kSampleTables; }
const char* sonde_derived_tables() { return kDerivedTables; }
const char* sonde_indices() { return kSondeIndices; }

}  // namespace sonde::store
