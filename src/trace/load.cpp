#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/numbered.h"
#include "base/possible_span.h"
#include "store/each_row.h"
#include "store/scan.h"
#include "trace/call_texts.h"
#include "trace/columns.h"
#include "trace/extras.h"
#include "trace/name_table.h"
#include "trace/row_index.h"
#include "trace/sensors.h"
#include "trace/trace.h"

namespace sonde::trace {
namespace {

// Columns that grow by doubling are copied again and again; the ids bound the number of rows. Files
// of several recordings have holes in their ids, and are left to grow.
Status reserve_ops(store::Database& database, Ops& ops) {
  constexpr int64_t kMost = int64_t{1} << 25;
  SONDE_ASSIGN(auto rows, database.prepare("SELECT (SELECT max(id) FROM v_op) - "
                                           "(SELECT min(id) FROM v_op) + 1"));
  SONDE_ASSIGN(const bool found, rows.step());
  if (!found || rows.is_null(0) || rows.integer(0) < 0 || rows.integer(0) > kMost) {
    return ok_status();
  }
  const auto count = static_cast<size_t>(rows.integer(0));
  ops.start_ns.reserve(count);
  ops.end_ns.reserve(count);
  ops.gpu.reserve(count);
  ops.queue.reserve(count);
  ops.name.reserve(count);
  ops.type.reserve(count);
  return ok_status();
}

Status load_op_columns(store::Database& database, const Request& request, bool with_ids,
                       NameTable& names, Trace& trace, Raw& raw) {
  const std::string columns = std::string("start_ns, end_ns, gpu_id, queue_id, name_id, type_id") +
                              (with_ids ? ", id" : "");
  Ops& ops = trace.ops;
  Numbering queues(trace.queues);
  if (!request.window.extent && !request.gpu) SONDE_TRY(reserve_ops(database, ops));
  return store::scan(database, columns, "v_op", {}, [&](const store::Row& row) {
    const int64_t gpu = row.integer(2);
    const Interval times = {row.integer(0), row.integer(1)};
    if (!raw.take(times)) return;
    if (request.gpu) raw.gpus.insert(gpu);
    if (!wants_gpu(request, gpu)) return;
    if (times.start_ns >= request.window.select.end_ns) return;  // the rest is arrange()'s
    ops.start_ns.push_back(times.start_ns);
    ops.end_ns.push_back(times.end_ns);
    ops.gpu.push_back(gpu);
    ops.queue.push_back(queues.index({gpu, row.integer(3)}));
    ops.name.push_back(names.index(row.integer(4)));
    ops.type.push_back(names.index(row.integer(5)));
    if (with_ids) ops.id.push_back(row.integer(6));
  });
}

struct ApiExtras {
  std::vector<int64_t> id;       // rocpd_api.id
  std::vector<int64_t> args_id;  // 0 = none
};

Status load_api_columns(store::Database& database, const Request& request, NameTable& names,
                        Trace& trace, Raw& raw, ApiExtras& extras) {
  Apis& apis = trace.apis;
  Numbering threads(trace.threads);
  Numbering processes(trace.processes);  // as the calls name them: older files know no others
  const bool nesting = request.nesting;
  const std::string columns = std::string("start_ns, end_ns, name_id, domain_id") +
                              (nesting ? ", category_id, pid, tid, id, args_id" : "");
  return store::scan(database, columns, "v_api", {}, [&](const store::Row& row) {
    const Interval times = {row.integer(0), row.integer(1)};
    if (!raw.take(times)) return;
    apis.start_ns.push_back(times.start_ns);
    apis.end_ns.push_back(times.end_ns);
    apis.name.push_back(names.index(row.integer(2)));
    apis.domain.push_back(names.index(row.integer_or(3, NameTable::kNoString)));
    if (!nesting) return;
    raw.api_category.push_back(names.index(row.integer_or(4, NameTable::kNoString)));
    const auto process = static_cast<int32_t>(processes.index({row.integer(5), {}}));
    apis.thread.push_back(threads.index({process, row.integer(6)}));
    if (request.links) extras.id.push_back(row.integer(7));
    extras.args_id.push_back(row.integer_or(8, 0));
  });
}

Status load_ranks(store::Database& database, Trace& trace) {
  return store::each_row(database,
                         "SELECT pid, rank FROM v_process "
                         "WHERE rank IS NOT NULL",
                         [&](const store::Statement& rows) {
                           for (Process& process : trace.processes) {
                             if (process.pid == rows.integer(0)) process.rank = rows.integer(1);
                           }
                         });
}

Status load_op_details(store::Database& database, const Request& request, Trace& trace) {
  Ops& ops = trace.ops;
  if (request.op_bytes) ops.bytes.assign(ops.size(), -1);
  if (request.op_shapes) ops.shape.assign(ops.size(), 0);
  ShapeNumbering shapes(trace.shapes);
  RowIndex index(ops.id);
  return store::each_row(database,
                         "SELECT op_id, bytes, grid_x, grid_y, grid_z, group_x, "
                         "group_y, group_z FROM v_op_detail",
                         [&](const store::Statement& rows) {
                           const auto row = index.row(rows.integer(0));
                           if (!row) return;
                           if (request.op_bytes && !rows.is_null(1))
                             ops.bytes[*row] = rows.integer(1);
                           if (!request.op_shapes || rows.is_null(2)) return;
                           LaunchShape shape;
                           for (int i = 0; i < 3; ++i) {
                             shape.grid[i] = rows.integer(2 + i);
                             shape.group[i] = rows.integer(5 + i);
                           }
                           ops.shape[*row] = shapes.index(shape);
                         });
}

// Values that are not finite numbers are left out; of every flavour that has the table.
Status load_op_counters(store::Database& database, NameTable& names, Trace& trace) {
  SONDE_ASSIGN(const bool any, database.has_table("rocpd_counter"));
  if (!any) return ok_status();
  RowIndex index(trace.ops.id);
  OpCounters& counters = trace.op_counters;
  SONDE_TRY(store::scan_of(database, "sonde_note", "key", "sonde_note", [&](const store::Row& row) {
    counters.on_softgpu = counters.on_softgpu || row.text(0) == "counters.software";
  }));
  return store::scan(database, "op_id, name_id, value", "rocpd_counter", {},
                     [&](const store::Row& row) {
                       const auto op = index.row(row.integer(0));
                       if (!op || !std::isfinite(row.real(2))) return;
                       counters.op.push_back(static_cast<Row>(*op));
                       counters.name.push_back(names.index(row.integer(1)));
                       counters.value.push_back(row.real(2));
                     });
}

Status load_devices(store::Database& database, Trace& trace) {
  return store::scan(
      database, "gpu_id, name, compute_units", "v_device", {}, [&](const store::Row& row) {
        describe_device(trace.devices, row.integer(0), row.text(1), row.integer_or(2, 0));
      });
}

// The launching call of an operation is the first of those that are linked to it.
Status load_links(store::Database& database, const std::vector<int64_t>& api_ids, Trace& trace) {
  Ops& ops = trace.ops;
  ops.api.assign(ops.size(), kNone);
  RowIndex op_index(ops.id);
  RowIndex api_index(api_ids);
  return store::scan(database, "op_id, api_id", "v_api_op", {}, [&](const store::Row& link) {
    const auto op = op_index.row(link.integer(0));
    if (!op) return;
    const auto api = api_index.row(link.integer(1));
    if (!api) return;
    const Row known = ops.api[*op];
    if (known == kNone || api_ids[*api] < api_ids[static_cast<size_t>(known)]) {
      ops.api[*op] = static_cast<Row>(*api);
    }
  });
}

// The texts of markers that RPD calls UserMarker, and the arguments that were asked for.
Status load_texts(store::Database& database, const Request& request,
                  const std::vector<NameId>& category, const ApiExtras& extras, Trace& trace) {
  Apis& apis = trace.apis;
  apis.label = apis.name;
  if (request.args_of != 0) apis.args.assign(apis.size(), 0);
  CallTexts texts(request, trace);
  std::unordered_map<int64_t, NameId> label_of;  // files before v3 share the texts of markers
  TextNumbering names(trace.names);
  // Otherwise the file is locked, and its pages are forgotten, for each text.
  SONDE_ASSIGN(auto transaction, store::Transaction::begin(database));
  SONDE_ASSIGN(auto lookup, database.prepare("SELECT string FROM v_ustring WHERE id = ?1"));
  for (size_t i = 0; i < apis.size(); ++i) {
    const int64_t id = extras.args_id[i];
    if (id == 0) continue;
    const CallTexts::Use use = texts.use_of(i, category[i]);
    if (!use.any()) continue;
    const auto known = use.args ? label_of.end() : label_of.find(id);
    if (known != label_of.end()) {
      apis.label[i] = known->second;
      continue;
    }
    lookup.bind(1, id);
    SONDE_ASSIGN(const bool found, lookup.step());
    texts.keep(i, use, found ? lookup.text(0) : std::string_view(),
               [&](std::string_view text) { return names.index(std::string(text)); });
    lookup.reset();
    if (use.label) label_of.emplace(id, apis.label[i]);
  }
  return transaction.commit();
}

// The first start of operations, which are not loaded themselves: for Trace::origin_ns.
Status find_first_op(store::Database& database, Raw& raw) {
  return store::scan(database, "start_ns, end_ns", "v_op", {}, [&](const store::Row& row) {
    const Interval times = {row.integer(0), row.integer(1)};
    if (is_possible_span(times.start_ns, times.end_ns)) extend(raw.extent, times);
  });
}

void translate(std::vector<NameId>& column, const std::vector<uint32_t>& remap) {
  for (NameId& name : column) name = remap[name];
}

}  // namespace

Request completed(const Request& request) {
  Request wanted = request;
  wanted.links |= request.rank.has_value() || request.streams || request.launch_stacks;
  wanted.nesting |= wanted.links || request.args_of != 0;
  wanted.apis |= wanted.nesting;
  return wanted;
}

Result<Trace> load(store::Reader& reader, const Request& request) {
  const Request wanted = completed(request);
  Trace trace;
  trace.path = reader.path();
  store::Database& database = reader.database();
  trace.window = wanted.window.extent;
  SONDE_ASSIGN(trace.warnings, loss_warnings(reader));
  NameTable table;
  Raw raw;
  ApiExtras extras;
  const bool with_details = wanted.op_bytes || wanted.op_shapes;
  if (wanted.ops) {
    const bool with_ids = wanted.op_ids || with_details || wanted.links || wanted.op_counters;
    SONDE_TRY(load_op_columns(database, wanted, with_ids, table, trace, raw));
    if (wanted.op_counters) SONDE_TRY(load_op_counters(database, table, trace));
  }
  if (needs_first_op(wanted)) SONDE_TRY(find_first_op(database, raw));
  if (wanted.devices) SONDE_TRY(load_devices(database, trace));
  if (wanted.apis) SONDE_TRY(load_api_columns(database, wanted, table, trace, raw, extras));
  SONDE_ASSIGN(auto texts, table.resolve(database));
  trace.names = std::move(texts.names);
  trace.empty_name = texts.empty_name;
  for (std::vector<NameId>* column :
       {&trace.ops.name, &trace.ops.type, &trace.apis.name, &trace.apis.domain, &raw.api_category,
        &trace.op_counters.name}) {
    translate(*column, texts.remap);
  }
  if (wanted.nesting) {
    SONDE_TRY(load_ranks(database, trace));
    SONDE_TRY(load_texts(database, wanted, raw.api_category, extras, trace));
  }
  if (with_details) SONDE_TRY(load_op_details(database, wanted, trace));
  if (wanted.links) SONDE_TRY(load_links(database, extras.id, trace));
  if (wanted.launch_stacks) SONDE_TRY(load_launch_stacks(database, extras.id, trace));
  if (wanted.streams) SONDE_TRY(load_streams(database, extras.id, trace));
  SONDE_TRY(load_sensors(database, wanted, trace));
  if (wanted.program) {
    SONDE_ASSIGN(trace.program, wanted.rank ? lifetime_of_rank(reader, *wanted.rank)
                                            : program_of(reader, wanted, raw));
  }
  if (!wanted.op_ids) trace.ops.id.clear();
  arrange(wanted, wanted.window, raw, trace);
  if (wanted.samples || !trace.apis.stack.empty()) SONDE_TRY(load_samples(reader, wanted, trace));
  return trace;
}

}  // namespace sonde::trace
