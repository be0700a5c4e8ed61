// Definitions: who the process is, its strings, functions, devices and queues.
#include <fmt/format.h>

#include <algorithm>

#include "base/host_name.h"
#include "base/quoted.h"
#include "base/redact.h"
#include "base/strings.h"
#include "base/value_or.h"
#include "store/ingest/state.h"

namespace sonde::store {

namespace {

// Ids are dense except for lost definitions; one far beyond the others comes from a damaged record.
constexpr uint32_t kMaxGap = 1 << 18;

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) {
    if (!text.empty()) text += ' ';
    const bool plain = !part.empty() && part.find_first_of(" \t\n\"'\\$`;&|<>()*?") == part.npos;
    text += plain ? part : shell_quoted(part);
  }
  return text;
}

}  // namespace

void Ingest::Impl::define_process(Process& process, const wire::Record& record) {
  const auto& fields = record.as<wire::ProcessRecord>();
  note_alive(process, fields.start_ticks);
  if (process.described) return;
  process.described = true;
  const auto parts = split(record.text, '\0');
  std::vector<std::string> arguments;
  for (size_t i = 2; i < parts.size(); ++i) arguments.emplace_back(parts[i]);
  if (!arguments.empty() && arguments.back().empty()) arguments.pop_back();
  insert(
      "UPDATE sonde_process SET ppid = ?2, start_ns = ?3, executable = ?4, command = ?5, "
      "directory = ?6, host = ?7 WHERE id = ?1",
      process.id, int64_t{fields.parent_pid}, ns_of(fields.start_ticks), valid_utf8(parts[0]),
      valid_utf8(join(redact_arguments(arguments))), valid_utf8(parts.size() > 1 ? parts[1] : ""),
      host_name());
  if (rank >= 0) insert("UPDATE sonde_process SET rank = ?2 WHERE id = ?1", process.id, rank);
}

void Ingest::Impl::define_device(Process& process, const wire::Record& record) {
  const auto& fields = record.as<wire::DeviceRecord>();
  const auto name = std::string(text(process, fields.name));
  const auto backend = std::string(text(process, fields.backend));
  const auto location = std::string(text(process, fields.location));
  // The same device in two processes is one GPU; two devices never share a number.
  const std::string key = fmt::format("{}/{}/{}/{}", backend, name, location, fields.gpu_id);
  auto [known, fresh] = gpu_ids.try_emplace(key, int64_t{fields.gpu_id});
  if (fresh) {
    while (!gpu_ids_taken.insert(known->second).second) ++known->second;
    insert(
        "INSERT INTO sonde_device (process_id, gpu_id, backend, name, vendor, driver, kind, "
        "location, memory_bytes, compute_units, clock_mhz) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        process.id, known->second, backend, name, text(process, fields.vendor),
        text(process, fields.driver), text(process, fields.kind), location,
        static_cast<int64_t>(fields.memory_bytes), int64_t{fields.compute_units},
        int64_t{fields.clock_mhz});
  }
  process.devices[record.header->id] = {known->second, fields.clock};
}

void Ingest::Impl::define_queue(Process& process, const wire::Record& record) {
  const auto& fields = record.as<wire::QueueRecord>();
  const int64_t gpu = value_or(process.devices, fields.device).gpu_id;
  auto [known, fresh] = process.queues.try_emplace(record.header->id);
  if (!fresh && known->second.handle == fields.handle) return;
  if (fresh) {
    known->second.queue_id = next_queue++;
    insert(
        "INSERT INTO sonde_queue (process_id, queue_id, gpu_id, handle, context, out_of_order, "
        "user_profiling) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        process.id, known->second.queue_id, gpu, fmt::format("{:#x}", fields.handle),
        fmt::format("{:#x}", fields.context), int64_t{fields.flags & 1},
        int64_t{fields.flags >> 1 & 1});
  }
  known->second.gpu_id = gpu;
  known->second.handle = fields.handle;
}

namespace {

// Makes room for the definition `id`; all kinds share one sequence. False for an impossible id.
template <typename T>
bool make_room(Process& process, std::vector<T>& known, uint32_t id) {
  if (id < known.size()) return true;
  if (id > wire::kMostDefinitions || id > process.newest_definition + kMaxGap) return false;
  process.newest_definition = std::max(process.newest_definition, id);
  known.resize(id + 1);
  return true;
}

}  // namespace

void Ingest::Impl::define(Process& process, const wire::Record& record) {
  const uint32_t id = record.header->id;
  const auto damaged = [this] { ++drops[{"definitions", "with an impossible number"}]; };
  if (record.type() != wire::RecordType::kProcess && id == 0) return damaged();
  switch (record.type()) {
    case wire::RecordType::kProcess:
      return define_process(process, record);
    case wire::RecordType::kString:
      if (!make_room(process, process.strings, id)) return damaged();
      if (process.strings[id].text.empty()) process.strings[id].text = valid_utf8(record.text);
      return;
    case wire::RecordType::kFunction: {
      const auto& fields = record.as<wire::FunctionRecord>();
      if (!make_room(process, process.functions, id)) return damaged();
      process.functions[id] = {next_function++,
                               string_id(process, fields.name),
                               string_id(process, fields.domain),
                               string_id(process, fields.category),
                               parse_argument_formats(text(process, fields.arguments)),
                               makes_json(text(process, fields.arguments))};
      return;
    }
    case wire::RecordType::kClock:
      process.clock_names[id] = text(process, record.as<wire::ClockRecord>().name);
      return;
    case wire::RecordType::kDevice:
      return define_device(process, record);
    case wire::RecordType::kQueue:
      return define_queue(process, record);
    case wire::RecordType::kModule:
      return define_module(process, record);
    case wire::RecordType::kCode:
      return define_code(process, record);
    default:
      return damaged();
  }
}

}  // namespace sonde::store
