#include "store/ingest/ingest.h"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/redact.h"
#include "base/strings.h"
#include "base/value_or.h"
#include "sonde/backend.h"
#include "store/ingest/state.h"

namespace sonde::store {

namespace {

constexpr int64_t kSnapshotRowsGapNs = 1'000'000'000;  // one row a second and clock is enough
constexpr int64_t kReadingNs = 20;            // the uncertainty of the recorder's own readings
constexpr int64_t kFarNs = int64_t{1} << 62;  // later than any time that can be meant

// When a record of an event was made; 0 if it does not say.
uint64_t ticks_of(const wire::Record& record) {
  switch (record.type()) {
    case wire::RecordType::kCall:
    case wire::RecordType::kRange:
      return record.as<wire::SpanRecord>().end;
    case wire::RecordType::kSnapshot:
      return record.as<wire::SnapshotRecord>().after;
    case wire::RecordType::kMark:
    case wire::RecordType::kRangeStart:
    case wire::RecordType::kRangeStop:
    case wire::RecordType::kThread:
    case wire::RecordType::kNote:
    case wire::RecordType::kDiagnostic:
    case wire::RecordType::kDropped:
    case wire::RecordType::kCounter:
    case wire::RecordType::kSample:
    case wire::RecordType::kBlocked:
    case wire::RecordType::kLaunchStack:
      return record.as<wire::EventRecord>().ticks;  // their first word, too
    default:
      return 0;
  }
}

struct HostTime {
  uint32_t clock;
  int64_t value;
};

std::array<HostTime, 4> values_of(const wire::ClockReading& reading) {
  const uint64_t ticks = std::midpoint(reading.ticks_before, reading.ticks_after);
  return {{{SONDE_CLOCK_TICKS, static_cast<int64_t>(ticks)},
           {SONDE_CLOCK_MONOTONIC_RAW, reading.raw_ns},
           {SONDE_CLOCK_REALTIME, reading.realtime_ns},
           {SONDE_CLOCK_BOOTTIME, reading.boottime_ns}}};
}

}  // namespace

Process& Ingest::Impl::process(uint64_t spool, uint32_t pid) {
  auto [found, fresh] = processes.try_emplace(spool);
  Process& process = found->second;
  process.changed = true;
  if (fresh) {
    process.id = next_process++;
    process.spool = spool;
    process.pid = pid;
    insert("INSERT INTO sonde_process (id, pid, clock, exit) VALUES (?1, ?2, ?3, 'running')",
           process.id, int64_t{pid}, std::string_view("CLOCK_MONOTONIC"));
  }
  return process;
}

Process* Ingest::Impl::find(uint64_t spool) {
  const auto found = processes.find(spool);
  return found != processes.end() ? &found->second : nullptr;
}

int64_t Ingest::Impl::monotonic_ns(Process& process, uint32_t clock, uint64_t value) {
  const auto signed_value = static_cast<int64_t>(value);
  if (const ClockTrack* host = host_clock(clock)) return host->to_monotonic_ns(signed_value);
  const auto own = process.clocks.find(clock);
  return own != process.clocks.end() ? own->second.to_monotonic_ns(signed_value) : signed_value;
}

bool Ingest::Impl::in_transaction() const {
  return sqlite3_get_autocommit(writer.database().handle()) == 0;
}

int64_t Ingest::Impl::ustring(std::string_view text) {
  const auto is_ascii = [](char c) { return (static_cast<unsigned char>(c) & 0x80) == 0; };
  if (std::all_of(text.begin(), text.end(), is_ascii)) return writer.ustring(text);
  return writer.ustring(valid_utf8(text));
}

ClockTrack* Ingest::Impl::host_clock(uint32_t clock) {
  switch (clock) {
    case SONDE_CLOCK_TICKS:
      return &ticks;
    case SONDE_CLOCK_MONOTONIC_RAW:
      return &raw;
    case SONDE_CLOCK_REALTIME:
      return &realtime;
    case SONDE_CLOCK_BOOTTIME:
      return &boottime;
    default:
      return nullptr;
  }
}

int64_t Ingest::Impl::string_id(Process& process, uint32_t id) {
  if (id == 0 || id >= process.strings.size()) return 0;
  KnownString& known = process.strings[id];
  if (known.string_id == 0) known.string_id = writer.string(known.text);
  return known.string_id;
}

int64_t Ingest::Impl::ustring_id(Process& process, uint32_t id) {
  if (id == 0 || id >= process.strings.size()) return 0;
  KnownString& known = process.strings[id];
  if (known.ustring_id == 0) known.ustring_id = writer.ustring(known.text);
  return known.ustring_id;
}

std::string_view Ingest::Impl::text(Process& process, uint32_t id) const {
  return id < process.strings.size() ? std::string_view(process.strings[id].text)
                                     : std::string_view();
}

void Ingest::Impl::snapshot(Process& process, const wire::Record& record) {
  const auto& fields = record.as<wire::SnapshotRecord>();
  const uint32_t clock = record.header->id;
  const int64_t before = ns_of(fields.before);
  const int64_t after = ns_of(fields.after);
  if (clock <= SONDE_CLOCK_MONOTONIC || after < before) return;
  const int64_t middle = std::midpoint(before, after);
  const int64_t uncertainty = middle - before;
  const auto value = static_cast<int64_t>(fields.value);
  // The recorder's own readings of the host's clocks are better; these fill in where it was killed.
  ClockTrack* host = host_clock(clock);
  ClockTrack& track = host != nullptr ? *host : process.clocks[clock];
  track.add(value, middle, std::min(uncertainty, kFarNs) + 1);
  int64_t& written = snapshot_written_ns[{process.id, clock}];
  if (middle < written + kSnapshotRowsGapNs && written != 0) return;
  written = std::min(middle, kFarNs);
  const auto name = process.clock_names.find(clock);
  insert(
      "INSERT INTO sonde_clock_snapshot (process_id, clock, value, monotonic_ns, uncertainty_ns) "
      "VALUES (?1, ?2, ?3, ?4, ?5)",
      process.id,
      clock < std::size(kHostClocks)      ? std::string(kHostClocks[clock])
      : name != process.clock_names.end() ? name->second
                                          : std::to_string(clock),
      value, middle, uncertainty);
}

void Ingest::Impl::thread(Process& process, KnownRing& ring, const wire::Record& record) {
  const uint32_t tid = record.header->id;
  const uint8_t flags = record.header->flags;
  if ((flags & wire::kOtherThread) == 0) ring.tid = tid;
  if ((flags & wire::kNamedByProgram) != 0) {
    process.named.insert(tid);
  } else if ((flags & wire::kRenamed) == 0) {
    process.named.erase(tid);  // a new thread, perhaps with the number of one that has ended
  } else if (process.named.count(tid) != 0) {
    return;
  }
  const auto name = valid_utf8(record.text);
  auto [known, fresh] = process.threads.try_emplace(tid, name);
  if (fresh) {
    insert("INSERT INTO sonde_thread (process_id, tid, name, start_ns) VALUES (?1, ?2, ?3, ?4)",
           process.id, int64_t{tid}, name, ns_of(record.as<wire::EventRecord>().ticks));
  } else if (known->second != name) {
    known->second = name;
    insert("UPDATE sonde_thread SET name = ?3 WHERE process_id = ?1 AND tid = ?2", process.id,
           int64_t{tid}, name);
  }
}

void Ingest::Impl::note(Process& process, const wire::Record& record) {
  const auto& fields = record.as<wire::EventRecord>();
  const auto label = valid_utf8(text(process, record.header->id));
  if (record.type() == wire::RecordType::kNote) {
    insert("INSERT INTO sonde_note (process_id, key, value) VALUES (?1, ?2, ?3)", process.id, label,
           redact_fact(label, valid_utf8(record.text)));
    return;
  }
  static constexpr std::string_view kSeverities[] = {"info", "warning", "error"};
  insert(
      "INSERT INTO sonde_diagnostic (process_id, time_ns, severity, source, text) "
      "VALUES (?1, ?2, ?3, ?4, ?5)",
      process.id, ns_of(fields.ticks), kSeverities[std::min<size_t>(record.header->flags, 2)],
      label, valid_utf8(record.text));
}

void Ingest::Impl::counter(Process& process, const KnownRing& ring, const wire::Record& record) {
  const auto& fields = record.as<wire::MomentRecord>();
  double value;
  std::memcpy(&value, &fields.value, sizeof value);
  if (std::isnan(value)) {  // SQL has no such number, only NULL
    ++drops[{"counters", "not a number"}];
    return;
  }
  const int64_t name = string_id(process, record.header->id);
  insert(
      "INSERT INTO sonde_counter (process_id, tid, time_ns, name_id, value) "
      "VALUES (?1, ?2, ?3, ?4, ?5)",
      process.id, int64_t{ring.tid}, ns_of(fields.ticks), name != 0 ? name : writer.string(""),
      value);
}

Ingest::Ingest(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Ingest::Ingest(Ingest&&) noexcept = default;
Ingest& Ingest::operator=(Ingest&&) noexcept = default;
Ingest::~Ingest() = default;

Result<Ingest> Ingest::open(Writer& writer, uint64_t session_id, const std::string& session) {
  auto impl = std::make_unique<Impl>(writer);
  SONDE_TRY(impl->claim(session_id, session));
  impl->marker_name_id = writer.string("UserMarker");
  impl->sonde_domain_id = writer.string("sonde");
  SONDE_TRY(impl->restore());
  return Ingest(std::move(impl));
}

void Ingest::set_rank(int rank, int size) {
  impl_->rank = rank;
  impl_->writer.metadata("sonde::rank", std::to_string(rank) + "/" + std::to_string(size));
}

void Ingest::clocks(const wire::ClockReading& reading) {
  auto& impl = *impl_;
  const int64_t now = reading.monotonic_ns;
  for (const auto& [clock, value] : values_of(reading)) {
    impl.host_clock(clock)->add(value, now, kReadingNs);
  }
  impl.now_ns = std::max(impl.now_ns, now);
  impl.now_ticks = reading.ticks_after;
  int64_t& written = impl.snapshot_written_ns[{0, 0}];
  if (written != 0 && now < written + kSnapshotRowsGapNs) return;
  written = now;
  for (const auto& [clock, value] : values_of(reading)) {
    impl.insert(
        "INSERT INTO sonde_clock_snapshot (process_id, clock, value, monotonic_ns, uncertainty_ns) "
        "VALUES (NULL, ?1, ?2, ?3, ?4)",
        kHostClocks[clock], value, now, kReadingNs);
  }
}

void Ingest::opened(const wire::ClockReading& reading) {
  auto& impl = *impl_;
  const int64_t then = reading.monotonic_ns;
  if (impl.ticks.covers(then) || reading.ticks_after < reading.ticks_before) return;
  const uint64_t width = reading.ticks_after - reading.ticks_before;
  const auto uncertainty = static_cast<int64_t>(std::min<uint64_t>(width, 1'000'000'000));
  for (const auto& [clock, value] : values_of(reading)) {
    impl.host_clock(clock)->add(value, then, uncertainty);
  }
}

void Ingest::definition(const wire::ChunkStatus& chunk, const wire::Record& record) {
  impl_->define(impl_->process(chunk.spool, chunk.pid), record);
}

void Ingest::event(const wire::ChunkStatus& chunk, const wire::Record& record) {
  auto& impl = *impl_;
  Process& process = impl.process(chunk.spool, chunk.pid);
  KnownRing& ring = process.rings[chunk.ring];
  // The chunk says it too: the record that told the thread may have been lost.
  if (ring.sequence != chunk.sequence) ring.tid = chunk.tid;
  ring.sequence = chunk.sequence;
  impl.note_alive(process, ticks_of(record));
  switch (record.type()) {
    case wire::RecordType::kCall:
      return impl.call(process, ring, record);
    case wire::RecordType::kRange:
      return impl.range(process, ring, record);
    case wire::RecordType::kMark:
      return impl.mark(process, ring, record);
    case wire::RecordType::kRangeStart:
      return impl.range_start(process, ring, record);
    case wire::RecordType::kRangeStop:
      return impl.range_stop(process, record);
    case wire::RecordType::kOp:
      return impl.op(process, ring, record);
    case wire::RecordType::kOpCounter:
      return impl.op_counter(process, ring, record);
    case wire::RecordType::kThread:
      return impl.thread(process, ring, record);
    case wire::RecordType::kSnapshot:
      return impl.snapshot(process, record);
    case wire::RecordType::kNote:
    case wire::RecordType::kDiagnostic:
      return impl.note(process, record);
    case wire::RecordType::kDropped:
      return drop(impl.text(process, record.header->id), "backend",
                  record.as<wire::MomentRecord>().value);
    case wire::RecordType::kCounter:
      return impl.counter(process, ring, record);
    case wire::RecordType::kCopyRequest:
      return impl.copy_request(process, record);
    case wire::RecordType::kSample:
      return impl.sample(process, ring, record);
    case wire::RecordType::kBlocked:
      return impl.blocked(process, record);
    case wire::RecordType::kLaunchStack:
      return impl.launch_stack(process, ring, record);
    default:
      return drop("records", "of an unknown kind", 1);
  }
}

bool Ingest::has_ended(uint64_t spool) const {
  const Process* process = impl_->find(spool);
  return process != nullptr && process->ended;
}

void Ingest::damaged(std::string_view what) { drop("chunks", what, 1); }

void Ingest::drop(std::string_view source, std::string_view reason, uint64_t count) {
  impl_->drops[{valid_utf8(source), valid_utf8(reason)}] += count;
}

void Ingest::set_drop(std::string_view source, std::string_view reason, uint64_t total) {
  impl_->drops[{std::string(source), std::string(reason)}] = total;
}

void Ingest::diagnostic(std::string_view source, std::string_view text) {
  impl_->diagnose(source, text);
}

void Ingest::Impl::diagnose(std::string_view source, std::string_view text) {
  insert(
      "INSERT INTO sonde_diagnostic (process_id, time_ns, severity, source, text) "
      "VALUES (NULL, ?1, 'warning', ?2, ?3)",
      now_ns, source, text);
}

Ingest::Position Ingest::position(const std::string& chunk_name) const {
  return value_or(impl_->positions, chunk_name);
}

void Ingest::set_position(const std::string& chunk_name, Position position) {
  impl_->positions[chunk_name] = position;
  impl_->changed_positions.insert(chunk_name);
}

void Ingest::forget_position(const std::string& chunk_name) {
  if (impl_->positions.erase(chunk_name) != 0) impl_->changed_positions.insert(chunk_name);
}

uint64_t Ingest::ops() const { return impl_->op_count; }
uint64_t Ingest::apis() const { return impl_->api_count; }

uint64_t Ingest::lost() const {
  uint64_t sum = 0;
  for (const auto& [cause, count] : impl_->drops) sum += count;
  return sum;
}

Status Ingest::commit() {
  SONDE_TRY(impl_->save());
  if (impl_->error) return *impl_->error;
  return impl_->writer.commit();
}

Status Ingest::end_part() {
  auto& impl = *impl_;
  impl.insert("DELETE FROM sonde_drop");
  auto all = impl.earlier_drops;
  for (const auto& [cause, count] : impl.drops) all[cause] += count;
  for (const auto& [cause, count] : all) {
    impl.insert("INSERT INTO sonde_drop (source, reason, count) VALUES (?1, ?2, ?3)", cause.first,
                cause.second, static_cast<int64_t>(count));
  }
  impl.insert("DELETE FROM sonde_ingest");
  if (impl.error) return *impl.error;
  return impl.writer.commit();
}

Status Ingest::finish() {
  SONDE_TRY(end_part());
  return impl_->writer.finish();
}

}  // namespace sonde::store
