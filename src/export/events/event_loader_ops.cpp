#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "export/events/event_loader.h"

namespace sonde::exporting {

uint32_t EventLoader::queue_number(int64_t gpu_id, int64_t process_id, int64_t queue_id) {
  const auto [number, added] = queue_numbers_.number({gpu_id, process_id, queue_id});
  if (added) events_.queues.push_back({gpu_id, process_id, queue_id});
  return number;
}

Status EventLoader::load_ops(bool with_extras) {
  if (takes_all()) {
    SONDE_ASSIGN(const size_t rows, rows_to_expect("v_op"));
    events_.ops.reserve(rows);
    if (with_extras) events_.op_extras.reserve(rows);
  }
  const char* const columns =
      with_extras ? "id, gpu_id, queue_id, start_ns, end_ns, name_id, type_id, sequence_id"
                  : "id, gpu_id, queue_id, start_ns, end_ns, name_id, type_id";
  SONDE_TRY(scan_window(columns, "v_op", [&](const store::Row& row) {
    Op op;
    op.start_ns = row.integer(3);
    op.end_ns = row.integer(4);
    if (!accept(op.start_ns, op.end_ns)) return;
    op_ids_.add(row.integer(0));
    op.type = name_number(row.integer(6));
    op.name = name_number(row.integer(5));
    if (events_.names.at(op.name).empty()) op.name = op.type;
    op.queue = queue_number(row.integer(1), -1, row.integer(2));
    events_.ops.push_back(op);
    if (with_extras) events_.op_extras.push_back({-1, -1, row.integer(7)});
  }));
  op_ids_.finish();
  return ok_status();
}

namespace {

// Axes that are not used count 1, as in a launch; a first axis of 0 means nothing is known.
void take_axes(const int64_t* values, int64_t (&axes)[3]) {
  if (values[0] <= 0) return;
  for (int i = 0; i < 3; ++i) axes[i] = std::max<int64_t>(values[i], 1);
}

// `values`: grid, group, group segment and private segment, -1 where the file has NULL.
Shape shape_of(const std::array<int64_t, 8>& values) {
  Shape shape;
  take_axes(&values[3], shape.group);
  // The file has work items, as OpenCL and HSA count; viewers show work groups.
  take_axes(&values[0], shape.items);
  if (shape.items[0] > 0 && shape.group[0] > 0) {
    for (int i = 0; i < 3; ++i) {
      shape.grid[i] = (shape.items[i] - 1) / shape.group[i] + 1;
    }
  }
  shape.group_segment_bytes = values[6];
  shape.private_segment_bytes = values[7];
  return shape;
}

}  // namespace

uint32_t EventLoader::shape_number(const store::Row& row) {
  std::array<int64_t, 8> values;
  bool known = false;
  for (int i = 0; i < 8; ++i) {
    values[i] = row.integer_or(3 + i, -1);
    known = known || values[i] != -1;
  }
  if (!known) return kNone;
  const auto [number, added] = shape_numbers_.number(values);
  if (added) events_.shapes.push_back(shape_of(values));
  return events_.shapes[number] == Shape{} ? kNone : number;
}

Status EventLoader::load_details(bool with_extras) {
  if (events_.ops.empty()) return ok_status();
  std::string columns =
      "op_id, process_id, bytes, grid_x, grid_y, grid_z, group_x, group_y, "
      "group_z, group_segment_bytes, private_segment_bytes, status";
  if (with_extras) columns += ", queued_ns, submitted_ns";
  std::vector<bool> seen(events_.ops.size());
  return store::scan(database_, columns, "v_op_detail", {}, [&](const store::Row& row) {
    const uint32_t index = op_ids_.find(row.integer(0));
    if (index == kNone || seen[index]) return;
    seen[index] = true;
    Op& op = events_.ops[index];
    op.bytes = row.integer_or(2, -1);
    op.status = static_cast<int32_t>(row.integer(11));
    op.shape = shape_number(row);
    if (!row.is_null(1)) {
      const Queue queue = events_.queues[op.queue];
      op.queue = queue_number(queue.gpu_id, row.integer(1), queue.queue_id);
    }
    if (!with_extras) return;
    events_.op_extras[index].queued_ns = row.integer_or(12, -1);
    events_.op_extras[index].submitted_ns = row.integer_or(13, -1);
  });
}

Status EventLoader::load_op_counters(bool with_channels) {
  SONDE_ASSIGN(const bool counters, database_.has_table("rocpd_counter"));
  if (!counters) return ok_status();
  SONDE_TRY(store::scan(database_, "op_id, name_id, value", "rocpd_counter", {},
                        [&](const store::Row& row) {
                          const uint32_t op = op_ids_.find(row.integer(0));
                          if (op == kNone || !std::isfinite(row.real(2))) return;
                          const uint32_t name = name_number(row.integer(1));
                          events_.op_counters.push_back({op, name, row.real(2)});
                        }));
  if (with_channels) SONDE_TRY(load_channels());
  const auto before = [](const OpCounter& a, const OpCounter& b) { return a.op < b.op; };
  std::stable_sort(events_.op_counters.begin(), events_.op_counters.end(), before);
  return ok_status();
}

// Where several dies have an L2 each, their channels are numbered one die after the other.
Status EventLoader::load_channels() {
  SONDE_ASSIGN(const bool any, database_.has_table("sonde_op_counter"));
  if (!any) return ok_status();
  SONDE_ASSIGN(const int64_t of_die, database_.integer("SELECT max(instance) + 1 FROM "
                                                       "sonde_op_counter"));
  std::map<std::pair<int64_t, int64_t>, uint32_t> names;  // of counter and channel
  return store::scan(
      database_, "c.op_id, c.name_id, c.xcc * ?1 + c.instance, c.value, s.string",
      "sonde_op_counter c JOIN v_string s ON s.id = c.name_id WHERE s.string LIKE 'TCC^_%' ESCAPE "
      "'^'",
      {of_die}, [&](const store::Row& row) {
        const uint32_t op = op_ids_.find(row.integer(0));
        if (op == kNone) return;
        const auto [name, added] = names.try_emplace({row.integer(1), row.integer(2)},
                                                     static_cast<uint32_t>(events_.names.size()));
        if (added) append_name(fmt::format("{}[{}]", row.text(4), row.integer(2)));
        events_.op_counters.push_back({op, name->second, row.real(3)});
      });
}

// Figures of one kernel on one GPU on which processes disagree are unknown.
Status EventLoader::load_kernel_codes() {
  return store::scan_of(
      database_, "sonde_kernel_code", "gpu_id, name, vgprs, accumulation_vgprs, sgprs",
      "(SELECT * FROM sonde_kernel_code ORDER BY gpu_id, name)", [&](const store::Row& row) {
        KernelCode code{row.integer_or(0, -1), std::string(row.text(1)), row.integer_or(2, -1),
                        row.integer_or(3, -1), row.integer_or(4, -1)};
        auto& codes = events_.kernel_codes;
        if (codes.empty() || codes.back().gpu_id != code.gpu_id ||
            codes.back().kernel != code.kernel) {
          codes.push_back(std::move(code));
        } else if (codes.back().vgprs != code.vgprs || codes.back().agprs != code.agprs ||
                   codes.back().sgprs != code.sgprs) {
          codes.back().vgprs = codes.back().agprs = codes.back().sgprs = -1;
        }
      });
}

Status EventLoader::load_op_args() {
  return store::scan(database_, "op_id, args", "v_op_args", {}, [&](const store::Row& row) {
    const uint32_t index = op_ids_.find(row.integer(0));
    if (index == kNone) return;
    events_.ops[index].args = events_.op_args.size();
    events_.op_args.append(row.text(1));
  });
}

}  // namespace sonde::exporting
