// The state of an unfinished recording, in the file's sonde_ingest table.
//   chunk NAME            "SEQUENCE OFFSET"          how far the chunk has been read
//   process SPOOL         "ID PID DESCRIBED ENDED"
//   queue SPOOL ID        "QUEUE GPU HANDLE"
//   gpu DESCRIPTION       "ID"
//   drop SOURCE|REASON    "COUNT"
//   pending SPOOL         one line per thing that a later record may refer to
#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "base/strings.h"
#include "store/ingest_state.h"

namespace sonde::store {

namespace {

// Numbers of a line, as many as there are.
std::vector<int64_t> numbers(std::string_view text) {
  std::vector<int64_t> values;
  for (const auto part : split(text, ' ')) {
    if (const auto value = parse_int(part)) values.push_back(*value);
  }
  return values;
}

std::string hex(const void* data, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<const unsigned char*>(data)[i]);
  }
  return text;
}

bool unhex(std::string_view text, void* data, size_t size) {
  if (text.size() != size * 2) return false;
  for (size_t i = 0; i < size; ++i) {
    unsigned char byte = 0;
    const char* begin = text.data() + i * 2;
    if (std::from_chars(begin, begin + 2, byte, 16).ptr != begin + 2) return false;
    static_cast<unsigned char*>(data)[i] = byte;
  }
  return true;
}

std::string pending_of(const Process& process) {
  std::string out;
  auto to = std::back_inserter(out);
  for (const auto& [id, ring] : process.rings) {
    fmt::format_to(to, "r {} {} {}\n", id, ring.tid, static_cast<int64_t>(ring.last_begin));
  }
  for (const uint64_t correlation : process.call_order) {
    const auto call = process.calls.find(correlation);
    if (call != process.calls.end()) fmt::format_to(to, "c {} {}\n", correlation, call->second);
  }
  for (const auto& [correlation, ops] : process.waiting) {
    for (const auto& op : ops) {
      fmt::format_to(to, "w {} {} {} {}\n", correlation, op.op_id, op.name_id,
                     hex(&op.record, sizeof op.record));
    }
  }
  for (const auto& [id, range] : process.started) {
    fmt::format_to(to, "s {} {} {} {} {} {}\n", id, range.start_ns, range.tid, range.text.args_id,
                   range.text.domain_id, range.text.category_id);
  }
  for (const auto& [id, end_ns] : process.stopped) fmt::format_to(to, "t {} {}\n", id, end_ns);
  return out;
}

void restore_line(Process& process, std::string_view line) {
  if (line.size() < 3) return;
  const auto values = numbers(line.substr(2));
  const auto at = [&](size_t i) { return i < values.size() ? values[i] : 0; };
  const auto key = static_cast<uint64_t>(at(0));
  switch (line[0]) {
    case 'r':
      process.rings[static_cast<uint32_t>(key)] = {static_cast<uint32_t>(at(1)),
                                                   static_cast<uint64_t>(at(2))};
      break;
    case 'c':
      process.calls[key] = at(1);
      process.call_order.push_back(key);
      break;
    case 'w': {
      WaitingOp op;
      op.op_id = at(1);
      op.name_id = at(2);
      if (unhex(line.substr(line.rfind(' ') + 1), &op.record, sizeof op.record)) {
        process.waiting[key].push_back(op);
      }
      break;
    }
    case 's':
      process.started[key] = {at(1), at(2), {at(3), at(4), at(5)}};
      break;
    case 't':
      process.stopped[key] = at(1);
      break;
    default:
      break;
  }
}

// "process 1a2b" -> the spool.
uint64_t spool_of(std::string_view text) {
  uint64_t spool = 0;
  std::from_chars(text.data(), text.data() + text.size(), spool, 16);
  return spool;
}

}  // namespace

Status Ingest::Impl::save() {
  const auto put = [this](const std::string& key, const std::string& value) {
    insert("INSERT OR REPLACE INTO sonde_ingest (key, value) VALUES (?1, ?2)", key, value);
  };
  for (const auto& name : changed_positions) {
    const auto found = positions.find(name);
    if (found == positions.end()) {
      insert("DELETE FROM sonde_ingest WHERE key = ?1", "chunk " + name);
    } else {
      put("chunk " + name, fmt::format("{} {}", found->second.sequence, found->second.offset));
    }
  }
  changed_positions.clear();
  for (auto& [spool, process] : processes) {
    put(fmt::format("process {:x}", spool),
        fmt::format("{} {} {} {}", process.id, process.pid, process.described ? 1 : 0,
                    process.ended ? 1 : 0));
    for (const auto& [id, queue] : process.queues) {
      put(fmt::format("queue {:x} {}", spool, id),
          fmt::format("{} {} {}", queue.queue_id, queue.gpu_id, queue.handle));
    }
    // Calls whose op has come are still in the order of coming; the front ones are dropped here.
    while (!process.call_order.empty() && process.calls.count(process.call_order.front()) == 0) {
      process.call_order.pop_front();
    }
    put(fmt::format("pending {:x}", spool), pending_of(process));
  }
  for (const auto& [description, id] : gpu_ids) put("gpu " + description, std::to_string(id));
  for (const auto& [cause, count] : drops) {
    put("drop " + cause.first + "|" + cause.second, std::to_string(count));
  }
  if (error) return *error;
  return ok_status();
}

namespace {

void restore_entry(Ingest::Impl& impl, std::string_view key, std::string_view value) {
  const size_t space = key.find(' ');
  if (space == std::string_view::npos) return;
  const auto kind = key.substr(0, space);
  const auto rest = key.substr(space + 1);
  const auto values = numbers(value);
  const auto at = [&](size_t i) { return i < values.size() ? values[i] : 0; };
  if (kind == "chunk") {
    impl.positions[std::string(rest)] = {static_cast<uint64_t>(at(0)),
                                         static_cast<uint64_t>(at(1))};
  } else if (kind == "process") {
    Process& process = impl.processes[spool_of(rest)];
    process.spool = spool_of(rest);
    process.id = at(0);
    process.pid = static_cast<uint32_t>(at(1));
    process.described = at(2) != 0;
    process.ended = at(3) != 0;
  } else if (kind == "queue") {
    const auto parts = split(rest, ' ');
    const auto id = parts.size() > 1 ? parse_int(parts[1]) : std::nullopt;
    if (id) {
      impl.processes[spool_of(parts[0])].queues[static_cast<uint32_t>(*id)] = {
          at(0), at(1), static_cast<uint64_t>(at(2))};
    }
  } else if (kind == "gpu") {
    impl.gpu_ids[std::string(rest)] = at(0);
    impl.gpu_ids_taken.insert(at(0));
  } else if (kind == "drop") {
    const size_t bar = rest.find('|');
    if (bar == std::string_view::npos) return;
    impl.drops[{std::string(rest.substr(0, bar)), std::string(rest.substr(bar + 1))}] =
        static_cast<uint64_t>(at(0));
  } else if (kind == "pending") {
    Process& process = impl.processes[spool_of(rest)];
    for (const auto line : split(value, '\n')) restore_line(process, line);
  }
}

}  // namespace

// Makes the unfinished file this session's, if it is not another's.
Status Ingest::Impl::claim(uint64_t session_id, const std::string& session) {
  const std::string mine = fmt::format("{:x}", session_id);
  SONDE_ASSIGN(auto owner, writer.database().prepare(
                               "SELECT value FROM sonde_ingest WHERE key = 'session'"));
  SONDE_ASSIGN(const bool owned, owner.step());
  if (owned) {
    const std::string text(owner.text(0));  // "ID PATH"
    const size_t space = text.find(' ');
    if (text.substr(0, space) == mine) return ok_status();
    return make_error(ErrorCode::kInvalidArgument, "holds another recording, an unfinished one",
                      writer.database().path(),
                      "finish it first: sonde recover " +
                          (space != text.npos ? text.substr(space + 1) : std::string("SESSION")));
  }
  insert("INSERT INTO sonde_ingest (key, value) VALUES ('session', ?1)", mine + " " + session);
  return ok_status();
}

Status Ingest::Impl::restore() {
  auto& database = writer.database();
  SONDE_ASSIGN(auto earlier, database.prepare("SELECT source, reason, count FROM sonde_drop"));
  for (;;) {
    SONDE_ASSIGN(const bool row, earlier.step());
    if (!row) break;
    earlier_drops[{std::string(earlier.text(0)), std::string(earlier.text(1))}] =
        static_cast<uint64_t>(earlier.integer(2));
  }
  SONDE_ASSIGN(next_process, database.integer("SELECT max(id) FROM sonde_process"));
  ++next_process;
  SONDE_ASSIGN(next_queue, database.integer("SELECT max(queue_id) FROM sonde_queue", -1));
  ++next_queue;
  SONDE_ASSIGN(auto entries, database.prepare("SELECT key, value FROM sonde_ingest"));
  for (;;) {
    SONDE_ASSIGN(const bool row, entries.step());
    if (!row) break;
    restore_entry(*this, entries.text(0), entries.text(1));
  }
  if (processes.empty()) return ok_status();
  SONDE_ASSIGN(rank, database.integer("SELECT CAST(value AS integer) FROM rocpd_metadata WHERE tag "
                                      "= 'sonde::rank'",
                                      -1));
  SONDE_ASSIGN(auto snapshots,
               database.prepare("SELECT clock, value, monotonic_ns, uncertainty_ns FROM "
                                "sonde_clock_snapshot WHERE process_id IS NULL ORDER BY id"));
  for (;;) {
    SONDE_ASSIGN(const bool row, snapshots.step());
    if (!row) break;
    const auto clock = snapshots.text(0);
    ClockTrack* track = clock == "ticks"           ? &ticks
                        : clock == "monotonic_raw" ? &raw
                        : clock == "realtime"      ? &realtime
                        : clock == "boottime"      ? &boottime
                                                   : nullptr;
    if (track != nullptr) {
      track->add(snapshots.integer(1), snapshots.integer(2), snapshots.integer(3));
    }
  }
  SONDE_ASSIGN(auto threads, database.prepare("SELECT p.id, t.tid, t.name FROM sonde_thread t "
                                              "JOIN sonde_process p ON p.id = t.process_id"));
  for (;;) {
    SONDE_ASSIGN(const bool row, threads.step());
    if (!row) break;
    for (auto& [spool, process] : processes) {
      if (process.id != threads.integer(0)) continue;
      process.threads[static_cast<uint32_t>(threads.integer(1))] = threads.text(2);
    }
  }
  return ok_status();
}

}  // namespace sonde::store
