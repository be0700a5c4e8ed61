// Samples of what a thread executes, and the definitions they refer to. Called from a signal
// handler of the sampling backend: memory is preallocated or comes from system calls, and nothing
// waits for a thread that the signal may have interrupted.
#include "agent/definitions.h"
#include "agent/events.h"
#include "agent/spool.h"

namespace sonde::agent {

namespace {

constexpr uint64_t kMaxDefinition = 24 * 1024;

// Builds a definition on the stack; the handler's caller has made sure that the stack is large
// enough.
template <typename T>
struct DefinitionBuffer {
  T record;
  char text[kMaxDefinition];
};

void append(char*& place, const void* data, size_t length) {
  if (length != 0) memcpy(place, data, length);  // `data` may be nullptr where there is nothing
  place += length;
}

template <typename T>
uint32_t define_text(DefinitionBuffer<T>& buffer, wire::RecordType type, uint64_t text_bytes) {
  const uint64_t words = wire::words_for(sizeof(T) + text_bytes);
  memset(buffer.text + text_bytes, 0, words * 8 - sizeof(T) - text_bytes);
  buffer.record.header = {type, 0, static_cast<uint16_t>(words), 0};
  buffer.record.text_bytes = static_cast<uint32_t>(text_bytes);
  return try_define(&buffer.record.header);
}

// Writes a record, followed by its stack's frames.
template <typename T>
int write_stack(T record, wire::RecordType type, const sonde_stack& stack) {
  if (!recording()) return 1;
  Inside inside;
  if (!inside) return 0;
  Ring* ring = this_ring();
  const uint64_t bytes = sizeof(T) + wire::words_for(stack.frame_bytes) * 8;
  char* room = ring != nullptr ? reserve(ring, bytes) : nullptr;
  if (room == nullptr) {
    count_drop(wire::DropSource::kSample, drop_reason());
    return 1;
  }
  record.header = {type, static_cast<uint8_t>(record.header.flags | stack.flags),
                   static_cast<uint16_t>(bytes / 8), stack.frames};
  memcpy(room, &record, sizeof(T));
  if (bytes != sizeof(T)) reinterpret_cast<uint64_t*>(room + bytes)[-1] = 0;
  memcpy(room + sizeof(T), stack.packed_frames, stack.frame_bytes);
  commit(ring, bytes);
  return 1;
}

}  // namespace

uint32_t sample_hz() { return load(g_state.control->sample_hz); }

int sample_blocked() { return load(g_state.control->sample_blocked) != 0 ? 1 : 0; }

int take_launch_stacks(void (*take)(uint64_t correlation)) {
  if (load(g_state.control->launch_stacks) == 0) return 0;
  store_release(g_state.take_stack, take);
  return 1;
}

int sample(const sonde_sample* sample) {
  wire::SampleRecord record = {{},
                               sample->stack.ticks,
                               sample->cpu_ns,
                               sample->missed,
                               sample->cost_ns,
                               sample->stack.frame_bytes};
  if (sample->by_timer != 0) record.header.flags = wire::kByTimer;
  return write_stack(record, wire::RecordType::kSample, sample->stack);
}

int blocked(const sonde_stack* stack, uint32_t tid, uint64_t wall_ns) {
  const wire::BlockedRecord record = {{}, stack->ticks, wall_ns, tid, stack->frame_bytes};
  return write_stack(record, wire::RecordType::kBlocked, *stack);
}

int launch_stack(const sonde_stack* stack, uint64_t correlation) {
  const wire::LaunchStackRecord record = {{}, stack->ticks, correlation, stack->frame_bytes};
  return write_stack(record, wire::RecordType::kLaunchStack, *stack);
}

uint32_t define_module(const sonde_module* module) {
  Inside inside;
  ErrnoKeeper keep;
  if (!inside || !ensure_spool()) return 0;
  DefinitionBuffer<wire::ModuleRecord> buffer;
  const uint64_t path_bytes = strnlen(module->path, PATH_MAX);
  const uint32_t id_bytes = module->build_id_bytes <= 64 ? module->build_id_bytes : 0;
  char* end = buffer.text;
  append(end, module->build_id, id_bytes);
  append(end, module->path, path_bytes);
  buffer.record = {{}, module->bias, module->start, module->end, id_bytes, 0};
  return define_text(buffer, wire::RecordType::kModule, static_cast<uint64_t>(end - buffer.text));
}

uint32_t define_code(const sonde_code* code) {
  Inside inside;
  ErrnoKeeper keep;
  const uint64_t bytes = uint64_t{code->file_bytes} + code->name_bytes + 2 + code->line_bytes;
  if (!inside || bytes > kMaxDefinition - 8 || !ensure_spool()) return 0;
  DefinitionBuffer<wire::CodeRecord> buffer;
  char* end = buffer.text;
  append(end, code->file, code->file_bytes);
  *end++ = '\0';
  append(end, code->name, code->name_bytes);
  *end++ = '\0';
  const auto name_bytes = static_cast<uint32_t>(end - buffer.text);
  append(end, code->lines, code->line_bytes);
  buffer.record = {{}, code->first_line, code->version, name_bytes, 0};
  return define_text(buffer, wire::RecordType::kCode, bytes);
}

}  // namespace sonde::agent
