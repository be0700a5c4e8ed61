// The state of an unfinished recording, in the file's sonde_ingest table.
//   chunk NAME            "SEQUENCE OFFSET"          how far the chunk has been read
//   process SPOOL         "ID PID DESCRIBED ENDED ALIVE"
//   queue SPOOL ID        "QUEUE GPU HANDLE"
//   gpu DESCRIPTION       "ID"
//   drop SOURCE|REASON    "COUNT"
//   clock SPOOL ID        "VALUE MONOTONIC UNCERTAINTY ..." the newest snapshots; SPOOL 0: the
//   host's pending SPOOL         one line per thing that a later record may refer to
// Unsigned numbers are written as the signed ones with the same bits.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "base/number.h"
#include "base/strings.h"
#include "sonde/backend.h"
#include "store/each_row.h"
#include "store/ingest/state.h"

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

constexpr size_t kMaxSavedWaiting = 1 << 17;
constexpr size_t kMaxSavedStopped = 1 << 15;
constexpr size_t kSavedSnapshots = 64;  // enough for events as late as their reading can be

int64_t as_signed(uint64_t value) { return static_cast<int64_t>(value); }

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
    fmt::format_to(to, "r {} {} {} {}\n", id, ring.tid, as_signed(ring.last_begin),
                   as_signed(ring.sequence));
    for (const LaunchStack& launch : ring.launches) {
      fmt::format_to(to, "l {} {} {} {}\n", id, as_signed(launch.correlation), launch.stack_id,
                     launch.truncated);
    }
  }
  const auto calls = [&](char letter, const std::deque<uint64_t>& order, bool used) {
    for (const uint64_t correlation : order) {
      const auto call = process.calls.find(correlation);
      if (call == process.calls.end() || call->second.used != used) continue;
      fmt::format_to(to, "{} {} {}\n", letter, as_signed(correlation), call->second.api_id);
    }
  };
  calls('c', process.unused_calls, false);
  calls('u', process.used_calls, true);
  for (const uint64_t correlation : process.waiting_order) {
    for (const auto& op : process.waiting.at(correlation)) {
      fmt::format_to(to, "w {} {} {} {}\n", as_signed(correlation), op.op_id, op.name_id,
                     hex_text({reinterpret_cast<const char*>(&op.record), sizeof op.record}));
    }
  }
  for (const auto& [id, range] : process.started) {
    fmt::format_to(to, "s {} {} {} {} {} {}\n", as_signed(id), range.start_ns, range.tid,
                   range.text.args_id, range.text.domain_id, range.text.category_id);
  }
  for (const auto& [id, end_ns] : process.stopped) {
    fmt::format_to(to, "t {} {}\n", as_signed(id), end_ns);
  }
  return out;
}

// Drops what is only mentioned in the orders of forgetting, and what has waited in vain.
void tidy(Process& process) {
  const auto keep = [](std::deque<uint64_t>& order, const auto& wanted) {
    std::unordered_set<uint64_t> seen;
    order.erase(std::remove_if(order.begin(), order.end(),
                               [&](uint64_t id) { return !wanted(id) || !seen.insert(id).second; }),
                order.end());
  };
  const auto call_is = [&](bool used) {
    return [&process, used](uint64_t id) {
      const auto call = process.calls.find(id);
      return call != process.calls.end() && call->second.used == used;
    };
  };
  forget_waiting(process, kMaxSavedWaiting);
  keep(process.unused_calls, call_is(false));
  keep(process.used_calls, call_is(true));
  keep(process.waiting_order, [&](uint64_t id) { return process.waiting.count(id) != 0; });
  while (process.stopped.size() > kMaxSavedStopped) process.stopped.erase(process.stopped.begin());
}

std::string snapshots_of(const ClockTrack& track) {
  std::string out;
  for (const auto& knot : track.newest(kSavedSnapshots)) {
    fmt::format_to(std::back_inserter(out), "{} {} {} ", knot.value, knot.monotonic_ns,
                   knot.uncertainty_ns);
  }
  return out;
}

void restore_line(Process& process, std::string_view line) {
  if (line.size() < 3) return;
  const auto values = numbers(line.substr(2));
  const auto at = [&](size_t i) { return i < values.size() ? values[i] : 0; };
  const auto key = static_cast<uint64_t>(at(0));
  switch (line[0]) {
    case 'r':
      process.rings[static_cast<uint32_t>(key)] = {
          static_cast<uint32_t>(at(1)), static_cast<uint64_t>(at(2)), static_cast<uint64_t>(at(3))};
      break;
    case 'l':
      process.rings[static_cast<uint32_t>(key)].launches.push_back(
          {static_cast<uint64_t>(at(1)), at(2), at(3)});
      break;
    case 'c':
      process.calls[key] = {at(1), false};
      process.unused_calls.push_back(key);
      break;
    case 'u':
      process.calls[key] = {at(1), true};
      process.used_calls.push_back(key);
      break;
    case 'w': {
      WaitingOp op;
      op.op_id = at(1);
      op.name_id = at(2);
      if (unhex(line.substr(line.rfind(' ') + 1), &op.record, sizeof op.record)) {
        auto& ops = process.waiting[key];
        if (ops.empty()) process.waiting_order.push_back(key);
        ops.push_back(op);
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
uint64_t spool_of(std::string_view text) { return take_number<uint64_t>(text, 16).value_or(0); }

}  // namespace

void Ingest::Impl::put(const std::string& key, const std::string& value) {
  insert("INSERT OR REPLACE INTO sonde_ingest (key, value) VALUES (?1, ?2)", key, value);
}

void Ingest::Impl::save_process(uint64_t spool, Process& process) {
  tidy(process);
  put(fmt::format("process {:x}", spool),
      fmt::format("{} {} {} {} {}", process.id, process.pid, process.described ? 1 : 0,
                  process.ended ? 1 : 0, last_alive_ns(process)));
  for (const auto& [id, queue] : process.queues) {
    put(fmt::format("queue {:x} {}", spool, id),
        fmt::format("{} {} {}", queue.queue_id, queue.gpu_id, as_signed(queue.handle)));
  }
  for (const auto& [id, track] : process.clocks) {
    put(fmt::format("clock {:x} {}", spool, id), snapshots_of(track));
  }
  put(fmt::format("pending {:x}", spool), pending_of(process));
  process.changed = false;
}

Status Ingest::Impl::save() {
  for (const auto& name : changed_positions) {
    const auto found = positions.find(name);
    if (found == positions.end()) {
      insert("DELETE FROM sonde_ingest WHERE key = ?1", "chunk " + name);
    } else {
      put("chunk " + name,
          fmt::format("{} {}", as_signed(found->second.sequence), as_signed(found->second.offset)));
    }
  }
  changed_positions.clear();
  for (auto& [spool, process] : processes) {
    if (process.changed) save_process(spool, process);
  }
  for (uint32_t clock = 0; clock <= SONDE_CLOCK_BOOTTIME; ++clock) {
    const ClockTrack* host = host_clock(clock);
    if (host != nullptr && host->known()) {
      put(fmt::format("clock 0 {}", clock), snapshots_of(*host));
    }
  }
  for (const auto& [description, id] : gpu_ids) put("gpu " + description, std::to_string(id));
  for (const auto& [cause, count] : drops) {
    put("drop " + cause.first + "|" + cause.second, std::to_string(as_signed(count)));
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
    process.alive_ns = at(4);
    impl.next_process = std::max(impl.next_process, process.id + 1);  // not all have a row here
  } else if (kind == "queue") {
    const auto parts = split(rest, ' ');
    const auto id = parts.size() > 1 ? parse_int(parts[1]) : std::nullopt;
    if (id) {
      impl.processes[spool_of(parts[0])].queues[static_cast<uint32_t>(*id)] = {
          at(0), at(1), static_cast<uint64_t>(at(2))};
    }
  } else if (kind == "clock") {
    const auto parts = split(rest, ' ');
    const auto id = parts.size() > 1 ? parse_int(parts[1]) : std::nullopt;
    if (!id || values.size() % 3 != 0) return;
    std::vector<ClockTrack::Knot> knots;
    for (size_t i = 0; i < values.size(); i += 3) knots.push_back({at(i), at(i + 1), at(i + 2)});
    const auto clock = static_cast<uint32_t>(*id);
    if (const uint64_t spool = spool_of(parts[0]); spool != 0) {
      impl.processes[spool].clocks[clock].restore(knots);
    } else if (ClockTrack* host = impl.host_clock(clock)) {
      host->restore(knots);
    }
  } else if (kind == "gpu") {
    impl.gpu_ids[std::string(rest)] = at(0);
    impl.gpu_ids_taken.insert(at(0));
  } else if (kind == "drop") {
    const size_t bar = rest.rfind('|');
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
  SONDE_ASSIGN(auto owner,
               writer.database().prepare("SELECT value FROM sonde_ingest WHERE key = 'session'"));
  SONDE_ASSIGN(const bool owned, owner.step());
  if (owned) {
    const std::string text(owner.text(0));  // "ID PATH"
    const size_t space = text.find(' ');
    if (text.substr(0, space) == mine) return ok_status();
    return make_error(ErrorCode::kIo, "holds another recording, which is not finished",
                      writer.database().path(),
                      "finish it first: sonde recover " +
                          (space != text.npos ? text.substr(space + 1) : std::string("SESSION")));
  }
  insert("INSERT INTO sonde_ingest (key, value) VALUES ('session', ?1)", mine + " " + session);
  return ok_status();
}

// What an earlier recording into the same file has taken and counted.
Status Ingest::Impl::restore_earlier() {
  auto& database = writer.database();
  SONDE_ASSIGN(next_process, database.integer("SELECT max(id) FROM sonde_process"));
  ++next_process;
  SONDE_ASSIGN(next_queue, database.integer("SELECT max(queue_id) FROM sonde_queue", -1));
  ++next_queue;
  return each_row(database, "SELECT source, reason, count FROM sonde_drop",
                  [&](const Statement& counted) {
                    earlier_drops[{std::string(counted.text(0)), std::string(counted.text(1))}] +=
                        static_cast<uint64_t>(counted.integer(2));
                  });
}

Status Ingest::Impl::restore_devices() {
  return each_row(writer.database(),
                  "SELECT backend, name, location, gpu_id FROM "
                  "sonde_device ORDER BY id",
                  [&](const Statement& devices) {
                    const int64_t gpu = devices.integer(3);
                    gpu_ids_taken.insert(gpu);
                    gpu_ids.try_emplace(fmt::format("{}/{}/{}/{}", devices.text(0), devices.text(1),
                                                    devices.text(2), gpu),
                                        gpu);
                  });
}

// Older readings of the clocks are rows of the file.
Status Ingest::Impl::restore_clocks() {
  return each_row(
      writer.database(),
      "SELECT clock, value, monotonic_ns, uncertainty_ns FROM "
      "sonde_clock_snapshot WHERE process_id IS NULL ORDER BY id",
      [&](const Statement& snapshots) {
        const auto name =
            std::find(std::begin(kHostClocks), std::end(kHostClocks), snapshots.text(0));
        if (ClockTrack* track = host_clock(static_cast<uint32_t>(name - std::begin(kHostClocks)))) {
          track->add(snapshots.integer(1), snapshots.integer(2), snapshots.integer(3));
        }
      });
}

Status Ingest::Impl::restore_threads() {
  std::map<int64_t, Process*> by_id;
  for (auto& [spool, process] : processes) by_id[process.id] = &process;
  return each_row(writer.database(), "SELECT process_id, tid, name FROM sonde_thread",
                  [&](const Statement& threads) {
                    const auto found = by_id.find(threads.integer(0));
                    if (found == by_id.end()) return;
                    found->second->threads[static_cast<uint32_t>(threads.integer(1))] =
                        threads.text(2);
                  });
}

Status Ingest::Impl::restore() {
  SONDE_TRY(restore_earlier());
  SONDE_TRY(restore_frames());
  SONDE_ASSIGN(
      const int64_t unfinished,
      writer.database().integer("SELECT count(*) FROM sonde_ingest WHERE key <> 'session'"));
  if (unfinished == 0) return restore_devices();  // else they are among the entries
  SONDE_ASSIGN(rank, writer.database().integer("SELECT CAST(value AS integer) FROM "
                                               "rocpd_metadata WHERE tag = 'sonde::rank'",
                                               -1));
  SONDE_TRY(restore_clocks());
  SONDE_TRY(each_row(
      writer.database(), "SELECT key, value FROM sonde_ingest",
      [&](const Statement& entries) { restore_entry(*this, entries.text(0), entries.text(1)); }));
  if (const auto last = ticks.newest(1); !last.empty()) now_ns = last[0].monotonic_ns;
  return restore_threads();
}

}  // namespace sonde::store
