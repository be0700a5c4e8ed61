// Device operations: rows of rocpd_op, their details, and the links to the calls that launched
// them.
#include <fmt/format.h>

#include <algorithm>

#include "base/value_or.h"
#include "sonde/backend.h"
#include "store/ingest/state.h"

namespace sonde::store {

namespace {

constexpr size_t kMaxWaiting = 1 << 20;    // correlations of ops that wait for their call
constexpr size_t kMaxUsedCalls = 1 << 14;  // calls that have an op and may get more
constexpr int32_t kLargestError = 9999;    // of any runtime

// Values of hipMemcpyKind, which RPD's `kind` column holds.
int64_t copy_kind(uint32_t kind) {
  switch (kind) {
    case SONDE_OP_COPY_H2H:
      return 0;
    case SONDE_OP_COPY_H2D:
      return 1;
    case SONDE_OP_COPY_D2H:
      return 2;
    case SONDE_OP_COPY_D2D:
      return 3;
    default:
      return 4;
  }
}

bool is_copy(uint32_t kind) { return kind >= SONDE_OP_COPY_H2D && kind <= SONDE_OP_COPY_H2H; }

bool moves_bytes(uint32_t kind) {
  return is_copy(kind) || kind == SONDE_OP_FILL || kind == SONDE_OP_MAP || kind == SONDE_OP_UNMAP ||
         kind == SONDE_OP_MIGRATE;
}

int64_t as_signed(uint64_t value) { return static_cast<int64_t>(value); }

// Blocks, as a launch call counts them.
int64_t blocks(uint64_t items, uint32_t group) {
  if (items == 0) return 1;
  return as_signed(group == 0 ? items : (items + group - 1) / group);
}

// An op that failed did not run, so there is nothing to place on a time line; its error is what the
// user should hear of. Odd codes are left out: they would make a reason of their own each.
std::string why_without_times(const wire::OpRecord& op, const char* kind) {
  if (op.status == 0) return "the device gave no times";
  if (op.status < -kLargestError || op.status > kLargestError) return "ended with an error";
  return fmt::format("{} ended with error {}", kind, op.status);
}

}  // namespace

void forget_waiting(Process& process, size_t limit) {
  auto& order = process.waiting_order;
  while (!order.empty()) {
    const auto oldest = process.waiting.find(order.front());
    if (oldest != process.waiting.end()) {
      if (process.waiting.size() <= limit) return;
      process.waiting.erase(oldest);
    }
    order.pop_front();
  }
}

void Ingest::Impl::wait(Process& process, uint64_t correlation, const WaitingOp& op) {
  auto& ops = process.waiting[correlation];
  if (ops.empty()) process.waiting_order.push_back(correlation);
  ops.push_back(op);
  if (process.waiting.size() > kMaxWaiting) forget_waiting(process, kMaxWaiting);
}

// A call can launch several ops: those of a graph come one after the other, while many calls of
// other threads get theirs. One that got another op since it was looked at stays for another round.
void Ingest::Impl::use_call(Process& process, uint64_t correlation, KnownCall& call) {
  if (call.used) {
    call.used_again = true;
    return;
  }
  call.used = true;
  process.used_calls.push_back(correlation);
  while (process.used_calls.size() > kMaxUsedCalls) {
    const uint64_t oldest = process.used_calls.front();
    process.used_calls.pop_front();
    const auto found = process.calls.find(oldest);
    if (found == process.calls.end() || !found->second.used) continue;
    if (!found->second.used_again) {
      process.calls.erase(found);
    } else {
      found->second.used_again = false;
      process.used_calls.push_back(oldest);
    }
  }
}

void Ingest::Impl::link(Process& process, const WaitingOp& waiting, int64_t api_id) {
  const auto& record = waiting.record;
  if (waiting.op_id != 0) writer.api_op(api_id, waiting.op_id);
  const KnownQueue queue = value_or(process.queues, record.queue);
  const uint64_t stream = (record.flags & SONDE_OP_HAS_STREAM) != 0 ? record.stream : queue.handle;
  if (record.kind == SONDE_OP_KERNEL) {
    KernelApiRow row;
    row.api_id = api_id;
    row.stream = stream;
    for (int i = 0; i < 3; ++i) {
      row.grid[i] = blocks(record.grid[i], record.group[i]);
      row.group[i] = record.group[i] == 0 ? 1 : record.group[i];
    }
    row.group_segment_bytes = record.group_segment_bytes;
    row.private_segment_bytes = record.private_segment_bytes;
    row.kernel_name_id = waiting.name_id;
    writer.kernel_api(row);
  } else if (is_copy(record.kind) && (record.flags & SONDE_OP_HAS_REQUEST) == 0) {
    CopyApiRow row;
    row.api_id = api_id;
    row.stream = stream;
    row.src = record.src;
    row.dst = record.dst;
    row.size_bytes = as_signed(record.bytes);
    row.width = as_signed(record.size[0]);
    row.height = as_signed(record.size[1]);
    row.kind = copy_kind(record.kind);
    const bool devices = (record.flags & SONDE_OP_HAS_DEVICES) != 0;
    row.src_device = devices ? record.src_device : queue.gpu_id;
    row.dst_device = devices ? record.dst_device : queue.gpu_id;
    row.sync = (record.flags & SONDE_OP_BLOCKING) != 0;
    row.pinned = (record.flags & SONDE_OP_PINNED) != 0;
    writer.copy_api(row);
  }
}

// What a call asked for is one row, however many ops serve it: that of an op as it would be if
// there were one.
void Ingest::Impl::copy_request(Process& process, const wire::Record& record) {
  const auto& fields = record.as<wire::CopyRequestRecord>();
  WaitingOp request;
  wire::OpRecord& op = request.record;
  op.correlation = fields.correlation;
  op.kind = fields.kind;
  op.flags = fields.flags | SONDE_OP_HAS_DEVICES | SONDE_OP_HAS_STREAM;
  op.bytes = fields.bytes;
  op.src = fields.src;
  op.dst = fields.dst;
  std::copy_n(fields.size, 3, op.size);
  op.stream = fields.stream;
  op.src_device = fields.src_device;
  op.dst_device = fields.dst_device;
  const auto call = process.calls.find(op.correlation);
  if (call == process.calls.end()) return wait(process, op.correlation, request);
  link(process, request, call->second.api_id);
}

void Ingest::Impl::op(Process& process, KnownRing& ring, const wire::Record& record) {
  ring.last_op = {};
  WaitingOp waiting;
  waiting.record = record.as<wire::OpRecord>();
  const auto& fields = waiting.record;
  const uint32_t kind = fields.kind < op_type_ids.size() ? fields.kind : 0;
  if (fields.start == 0 || fields.end < fields.start) {
    ++drops[{"ops", why_without_times(fields, wire::kOpTypeNames[kind])}];
    return;
  }
  const KnownQueue queue = value_or(process.queues, fields.queue);
  const auto time = [&](uint64_t value) { return monotonic_ns(process, fields.clock, value); };
  OpRow row;
  row.gpu_id = queue.gpu_id;
  row.queue_id = queue.queue_id;
  row.start_ns = time(fields.start);
  row.end_ns = time(fields.end);
  if (row.end_ns <= now_ns || now_ticks == ~uint64_t{0}) {
    process.alive_ns = std::max(process.alive_ns, row.end_ns);
  }
  row.name_id = record.header->id != 0 ? string_id(process, record.header->id) : 0;
  row.type_id = op_type_ids[kind];
  if (row.type_id == 0) row.type_id = op_type_ids[kind] = writer.string(wire::kOpTypeNames[kind]);
  waiting.op_id = writer.op(row);
  waiting.name_id = row.name_id;
  ring.last_op = {waiting.op_id, fields.start, fields.queue};
  ++op_count;

  int64_t api_id = -1;
  if (const auto call = process.calls.find(fields.correlation); call != process.calls.end()) {
    api_id = call->second.api_id;
    use_call(process, fields.correlation, call->second);
    link(process, waiting, api_id);
  } else if (fields.correlation != 0) {
    wait(process, fields.correlation, waiting);
  }

  write_detail(process, waiting, api_id);
}

void Ingest::Impl::op_counter(Process& process, const KnownRing& ring, const wire::Record& record) {
  const auto& fields = record.as<wire::OpCounterRecord>();
  const KnownOp& op = ring.last_op;
  const int64_t name = string_id(process, record.header->id);
  if (op.op_id == 0 || op.start != fields.start || op.queue != fields.queue || name == 0) {
    ++drops[{"hardware counters", "their kernel was not recorded"}];
    return;
  }
  const auto* values = reinterpret_cast<const wire::CounterValue*>(&fields + 1);
  uint64_t sum = 0;
  for (size_t i = 0; i < fields.values; ++i) {
    insert(
        "INSERT INTO sonde_op_counter (op_id, name_id, pass, xcc, engine, instance, value) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        op.op_id, name, int64_t{fields.pass}, int64_t{values[i].xcc}, int64_t{values[i].engine},
        int64_t{values[i].instance}, as_signed(values[i].value));
    sum += values[i].value;
  }
  writer.counter(op.op_id, name, static_cast<double>(sum));
}

void Ingest::Impl::write_detail(Process& process, const WaitingOp& waiting, int64_t api_id) {
  if (waiting.op_id == 0) return;  // a request
  const auto& fields = waiting.record;
  const auto time = [&](uint64_t value) { return monotonic_ns(process, fields.clock, value); };
  OpDetailRow detail;
  detail.op_id = waiting.op_id;
  detail.process_id = process.id;
  detail.api_id = api_id;
  if (fields.queued != 0) detail.queued_ns = time(fields.queued);
  if (fields.submitted != 0) detail.submitted_ns = time(fields.submitted);
  if (moves_bytes(fields.kind)) detail.bytes = as_signed(fields.bytes);
  if (fields.kind == SONDE_OP_KERNEL) {
    for (int i = 0; i < 3; ++i) {
      detail.grid[i] = fields.grid[i] == 0 ? 1 : as_signed(fields.grid[i]);
      if (fields.group[0] != 0) detail.group[i] = fields.group[i] == 0 ? 1 : fields.group[i];
    }
    detail.group_segment_bytes = fields.group_segment_bytes;
    detail.private_segment_bytes = fields.private_segment_bytes;
  }
  detail.status = fields.status;
  writer.op_detail(detail);
}

}  // namespace sonde::store
