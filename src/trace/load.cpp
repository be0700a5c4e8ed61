#include <algorithm>
#include <unordered_map>

#include "store/scan.h"
#include "trace/columns.h"
#include "trace/name_table.h"
#include "trace/trace.h"

namespace sonde::trace {
namespace {

Status load_op_columns(store::Database& database, const Request& request, bool with_ids,
                       NameTable& names, Trace& trace) {
  const std::string columns =
      std::string("start_ns, end_ns, gpu_id, name_id, type_id") + (with_ids ? ", id" : "");
  Ops& ops = trace.ops;
  return store::scan(database, columns, "v_op", {}, [&](const store::Row& row) {
    Interval times = {row.integer(0), row.integer(1)};
    if (times.end_ns < times.start_ns) {
      ++trace.changed.bad_ops;
      times.end_ns = times.start_ns;
    }
    const int64_t gpu = row.integer(2);
    if (request.gpu && *request.gpu != gpu) return;
    if (!clip_to(request.window.select, times, trace.changed.clipped_ops)) return;
    ops.start_ns.push_back(times.start_ns);
    ops.end_ns.push_back(times.end_ns);
    ops.gpu.push_back(static_cast<int32_t>(gpu));
    ops.name.push_back(names.index(row.integer(3)));
    ops.type.push_back(names.index(row.integer(4)));
    if (with_ids) ops.id.push_back(row.integer(5));
  });
}

Status load_api_columns(store::Database& database, const Request& request, NameTable& names,
                        Trace& trace) {
  Apis& apis = trace.apis;
  const char* columns = "start_ns, end_ns, name_id, domain_id";
  return store::scan(database, columns, "v_api", {}, [&](const store::Row& row) {
    Interval times = {row.integer(0), row.integer(1)};
    if (times.end_ns < times.start_ns) {
      ++trace.changed.bad_apis;
      times.end_ns = times.start_ns;
    }
    if (!clip_to(request.window.select, times, trace.changed.clipped_apis)) return;
    apis.start_ns.push_back(times.start_ns);
    apis.end_ns.push_back(times.end_ns);
    apis.name.push_back(names.index(row.integer(2)));
    apis.domain.push_back(names.index(row.integer_or(3, NameTable::kNoString)));
  });
}

// Row of each op in the trace, by its id in the file.
class OpIndex {
 public:
  explicit OpIndex(const std::vector<int64_t>& ids) : ids_(ids) {
    sorted_ = std::is_sorted(ids.begin(), ids.end());
    if (!sorted_) {
      for (size_t i = 0; i < ids.size(); ++i) row_of_.emplace(ids[i], i);
    }
  }
  // nullopt for an op that is not in the trace.
  std::optional<size_t> row(int64_t id) {
    if (!sorted_) {
      const auto found = row_of_.find(id);
      return found == row_of_.end() ? std::nullopt : std::optional(found->second);
    }
    if (next_ < ids_.size() && ids_[next_] == id) return next_++;  // both in the order of the file
    const auto found = std::lower_bound(ids_.begin(), ids_.end(), id);
    if (found == ids_.end() || *found != id) return std::nullopt;
    next_ = static_cast<size_t>(found - ids_.begin());
    return next_++;
  }

 private:
  const std::vector<int64_t>& ids_;
  std::unordered_map<int64_t, size_t> row_of_;
  bool sorted_ = true;
  size_t next_ = 0;
};

Status load_op_details(store::Database& database, const Request& request, Trace& trace) {
  Ops& ops = trace.ops;
  if (request.op_bytes) ops.bytes.assign(ops.size(), -1);
  if (request.op_shapes) ops.shape.assign(ops.size(), 0);
  ShapeTable shapes(trace);
  OpIndex index(ops.id);
  SONDE_ASSIGN(auto rows, database.prepare("SELECT op_id, bytes, grid_x, grid_y, grid_z, group_x, "
                                           "group_y, group_z FROM v_op_detail"));
  for (;;) {
    SONDE_ASSIGN(const bool more, rows.step());
    if (!more) return ok_status();
    const auto row = index.row(rows.integer(0));
    if (!row) continue;
    if (request.op_bytes && !rows.is_null(1)) ops.bytes[*row] = rows.integer(1);
    if (!request.op_shapes || rows.is_null(2)) continue;
    LaunchShape shape;
    for (int i = 0; i < 3; ++i) {
      shape.grid[i] = rows.integer(2 + i);
      shape.group[i] = rows.integer(5 + i);
    }
    ops.shape[*row] = shapes.index(shape);
  }
}

void translate(std::vector<NameId>& column, const std::vector<uint32_t>& remap) {
  for (NameId& name : column) name = remap[name];
}

}  // namespace

Result<Trace> load(store::Reader& reader, const Request& request) {
  Trace trace;
  trace.path = reader.path();
  store::Database& database = reader.database();
  trace.window = request.window.extent;
  SONDE_ASSIGN(trace.warnings, loss_warnings(reader));
  NameTable table;
  const bool with_details = request.op_bytes || request.op_shapes;
  if (request.ops) {
    SONDE_TRY(load_op_columns(database, request, request.op_ids || with_details, table, trace));
  }
  if (request.apis) SONDE_TRY(load_api_columns(database, request, table, trace));
  SONDE_ASSIGN(auto texts, table.resolve(database));
  trace.names = std::move(texts.names);
  trace.empty_name = texts.empty_name;
  translate(trace.ops.name, texts.remap);
  translate(trace.ops.type, texts.remap);
  translate(trace.apis.name, texts.remap);
  translate(trace.apis.domain, texts.remap);
  complete_names(trace);
  filter_by_name(request, trace);
  if (with_details) SONDE_TRY(load_op_details(database, request, trace));
  add_skip_warnings(trace);
  return trace;
}

}  // namespace sonde::trace
