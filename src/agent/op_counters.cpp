// Hardware counters of operations. A counter with more values than fit one record takes several.
#include "agent/events.h"
#include "agent/spool.h"

namespace sonde::agent {
namespace {

constexpr uint32_t kMostValues = 2048;

void write_values(const sonde_op_counter& counter, uint32_t first, uint32_t count) {
  Ring* ring = this_ring();
  const uint64_t bytes = sizeof(wire::OpCounterRecord) + count * sizeof(wire::CounterValue);
  char* room = ring != nullptr ? reserve(ring, bytes) : nullptr;
  if (room == nullptr) return count_drop(wire::DropSource::kOp, drop_reason());
  const wire::OpCounterRecord record = {
      {wire::RecordType::kOpCounter, 0, static_cast<uint16_t>(bytes / 8), counter.name},
      counter.start,
      counter.queue,
      static_cast<uint16_t>(counter.pass),
      static_cast<uint16_t>(count)};
  static_assert(sizeof(wire::CounterValue) == sizeof(sonde_counter_value));
  memcpy(room, &record, sizeof record);
  memcpy(room + sizeof record, counter.values + first, count * sizeof(wire::CounterValue));
  commit(ring, bytes);
}

}  // namespace

void op_counter(const sonde_op_counter* counter) {
  if (!recording()) return;
  Inside inside;
  if (!inside) return count_drop(wire::DropSource::kOp, Inside::reason());
  for (uint32_t first = 0; first < counter->count; first += kMostValues) {
    const uint32_t left = counter->count - first;
    write_values(*counter, first, left < kMostValues ? left : kMostValues);
  }
}

}  // namespace sonde::agent
