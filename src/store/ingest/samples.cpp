// Samples: call stacks as a tree of frames that all processes of the file share.
#include "base/value_or.h"
#include "store/ingest/state.h"

#include <algorithm>

#include "base/strings.h"
#include "base/varint.h"
#include "store/each_row.h"
#include "store/python_lines.h"

namespace sonde::store {

namespace {

int64_t truncation(const wire::Record& record) {
  return record.header->flags & (wire::kStackTruncated | wire::kStackTooDeep);
}

// Without this, the trace would look like that of a program that used no GPU.
constexpr std::string_view kCudaIsNotRecorded =
    "kernels and copies of CUDA are not recorded, only markers, metrics and call stacks: record "
    "them with torch.profiler or Nsight Systems, and give what these write to sonde check";

}  // namespace

void Ingest::Impl::define_module(Process& process, const wire::Record& record) {
  const auto& fields = record.as<wire::ModuleRecord>();
  const size_t id_bytes = std::min<size_t>(fields.build_id_bytes, record.text.size());
  const std::string build_id = hex_text(record.text.substr(0, id_bytes));
  const std::string path = valid_utf8(record.text.substr(id_bytes));
  auto [known, fresh] = frames.modules.try_emplace({path, build_id}, frames.next_module);
  if (fresh) {
    ++frames.next_module;
    insert("INSERT INTO sonde_module (id, path, build_id) VALUES (?1, ?2, ?3)", known->second, path,
           build_id);
    if (path.ends_with("/libcuda.so.1")) diagnose("cuda", kCudaIsNotRecorded);
  }
  process.modules[record.header->id] = known->second;
}

int64_t Ingest::Impl::native_frame(int64_t module, int64_t address) {
  auto [known, fresh] = frames.natives.try_emplace({module, address}, frames.next_frame);
  if (fresh) {
    ++frames.next_frame;
    insert(
        "INSERT INTO sonde_frame (id, kind, module_id, address) VALUES (?1, 'native', "
        "nullif(?2, 0), ?3)",
        known->second, module, address);
  }
  return known->second;
}

void Ingest::Impl::define_code(Process& process, const wire::Record& record) {
  const auto& fields = record.as<wire::CodeRecord>();
  const size_t names = std::min<size_t>(fields.name_bytes, record.text.size());
  const auto parts = split(record.text.substr(0, names), '\0');
  KnownCode& code = process.codes[record.header->id];
  code.file = valid_utf8(parts[0]);
  code.name = valid_utf8(parts.size() > 1 ? parts[1] : "");
  code.lines = record.text.substr(names);
  code.first_line = fields.first_line;
  code.version = fields.version;
}

int64_t Ingest::Impl::python_frame(Process& process, uint32_t id, uint64_t offset) {
  static const KnownCode kUnknown{"", "<python>", "", 0, 0, {}};
  const auto found = process.codes.find(id);
  int64_t unused = 0;
  int64_t& known = found != process.codes.end() ? found->second.frames[offset] : unused;
  if (known != 0) return known;
  const KnownCode& code = found != process.codes.end() ? found->second : kUnknown;
  const int64_t line = python_line(code.version, code.lines, code.first_line, offset);
  const std::string key = code.file + '\0' + code.name + '\0' + std::to_string(line);
  auto [frame, fresh] = frames.pythons.try_emplace(key, frames.next_frame);
  if (fresh) {
    ++frames.next_frame;
    insert(
        "INSERT INTO sonde_frame (id, kind, function, file, line, is_library) VALUES (?1, "
        "'python', ?2, ?3, nullif(?4, 0), ?5)",
        frame->second, code.name, code.file, line, int64_t{is_python_library(code.file)});
  }
  known = frame->second;
  return known;
}

int64_t Ingest::Impl::stack(int64_t parent, int64_t frame) {
  auto [known, fresh] = frames.stacks.try_emplace({parent, frame}, frames.next_stack);
  if (fresh) {
    ++frames.next_stack;
    insert("INSERT INTO sonde_stack (id, parent_id, frame_id) VALUES (?1, nullif(?2, 0), ?3)",
           known->second, parent, frame);
  }
  return known->second;
}

// The stack of a sample; 0: it has none.
int64_t Ingest::Impl::leaf_of(Process& process, const wire::Record& record) {
  std::vector<int64_t> path;  // innermost first
  std::string_view numbers = record.text;
  for (uint32_t i = 0; i < record.header->id && i < 2 * wire::kMaxFrames; ++i) {
    uint64_t which = 0, offset = 0;
    if (!take_varint(numbers, which) || !take_varint(numbers, offset)) {
      ++drops[{"samples", "malformed"}];
      return 0;
    }
    if ((which & 1) != 0) {
      path.push_back(python_frame(process, static_cast<uint32_t>(which >> 1), offset));
      continue;
    }
    const int64_t module = value_or(process.modules, static_cast<uint32_t>(which >> 1));
    path.push_back(native_frame(module, static_cast<int64_t>(offset)));
  }
  int64_t leaf = 0;
  for (size_t i = path.size(); i-- > 0;) leaf = stack(leaf, path[i]);
  return leaf;
}

// Calls nest, so those that are further in than this one have ended unseen.
void Ingest::Impl::link_stack(KnownRing& ring, uint64_t correlation, int64_t api_id) {
  for (size_t i = ring.launches.size(); i-- > 0;) {
    const LaunchStack launch = ring.launches[i];
    if (launch.correlation != correlation) continue;
    ring.launches.resize(i);
    return insert(
        "INSERT OR IGNORE INTO sonde_launch_stack (api_id, stack_id, truncated) VALUES (?1, ?2, "
        "?3)",
        api_id, launch.stack_id, launch.truncated);
  }
}

void Ingest::Impl::launch_stack(Process& process, KnownRing& ring, const wire::Record& record) {
  const int64_t leaf = leaf_of(process, record);
  if (leaf == 0) return;
  if (ring.launches.size() >= wire::kMaxOpenCalls) ring.launches.erase(ring.launches.begin());
  ring.launches.push_back(
      {record.as<wire::LaunchStackRecord>().correlation, leaf, truncation(record)});
}

void Ingest::Impl::blocked(Process& process, const wire::Record& record) {
  const auto& fields = record.as<wire::BlockedRecord>();
  const int64_t leaf = leaf_of(process, record);
  if (leaf == 0) return;
  insert(
      "INSERT INTO sonde_blocked (process_id, tid, time_ns, stack_id, wall_ns, truncated) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
      process.id, int64_t{fields.tid}, ns_of(fields.ticks), leaf,
      static_cast<int64_t>(fields.wall_ns), truncation(record));
}

void Ingest::Impl::sample(Process& process, const KnownRing& ring, const wire::Record& record) {
  const auto& fields = record.as<wire::SampleRecord>();
  const int64_t leaf = leaf_of(process, record);
  if (leaf == 0) return;
  insert(
      "INSERT INTO sonde_sample (process_id, tid, time_ns, stack_id, cpu_ns, missed, cost_ns, "
      "truncated, by_timer) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
      process.id, int64_t{ring.tid}, ns_of(fields.ticks), leaf, static_cast<int64_t>(fields.cpu_ns),
      int64_t{fields.missed}, int64_t{fields.cost_ns}, truncation(record),
      int64_t{(record.header->flags & wire::kByTimer) != 0});
}

Status Ingest::Impl::restore_frames() {
  auto& database = writer.database();
  SONDE_TRY(each_row(
      database, "SELECT id, path, build_id FROM sonde_module", [&](const Statement& modules) {
        frames.modules[{std::string(modules.text(1)), std::string(modules.text(2))}] =
            modules.integer(0);
        frames.next_module = std::max(frames.next_module, modules.integer(0) + 1);
      }));
  SONDE_TRY(
      each_row(database,
               "SELECT id, coalesce(module_id, 0), address FROM "
               "sonde_frame WHERE kind = 'native'",
               [&](const Statement& natives) {
                 if (!natives.is_null(2)) {
                   frames.natives[{natives.integer(1), natives.integer(2)}] = natives.integer(0);
                 }
               }));
  SONDE_TRY(
      each_row(database,
               "SELECT id, file, function, coalesce(line, 0) FROM "
               "sonde_frame WHERE kind = 'python'",
               [&](const Statement& pythons) {
                 frames.pythons[std::string(pythons.text(1)) + '\0' + std::string(pythons.text(2)) +
                                '\0' + std::string(pythons.text(3))] = pythons.integer(0);
               }));
  SONDE_TRY(each_row(database, "SELECT id, coalesce(parent_id, 0), frame_id FROM sonde_stack",
                     [&](const Statement& stacks) {
                       frames.stacks[{stacks.integer(1), stacks.integer(2)}] = stacks.integer(0);
                     }));
  SONDE_ASSIGN(frames.next_frame, database.integer("SELECT max(id) FROM sonde_frame"));
  SONDE_ASSIGN(frames.next_stack, database.integer("SELECT max(id) FROM sonde_stack"));
  ++frames.next_frame;
  ++frames.next_stack;
  return ok_status();
}

}  // namespace sonde::store
