// When a process ended: as the recorder saw it, or by the last sign of life that it has left.
#include <algorithm>

#include "store/ingest/state.h"

namespace sonde::store {

namespace {

// Of CLOCK_BOOTTIME against CLOCK_MONOTONIC: the two are read one after the other.
constexpr int64_t kPauseNs = 1'000'000;

}  // namespace

int64_t Ingest::Impl::last_alive_ns(const Process& process) const {
  if (process.alive_ticks == 0) return process.alive_ns;
  return std::max(process.alive_ns, ns_of(process.alive_ticks));
}

void Ingest::alive_at_ticks(uint64_t spool, uint64_t ticks) {
  if (Process* process = impl_->find(spool)) impl_->note_alive(*process, ticks);
}

void Ingest::alive_at(uint64_t spool, int64_t monotonic_ns) {
  Process* process = impl_->find(spool);
  if (process != nullptr) process->alive_ns = std::max(process->alive_ns, monotonic_ns);
}

std::optional<int64_t> Ingest::end_by_last_sign(uint64_t spool, int64_t latest_ns) {
  Process* process = impl_->find(spool);
  const int64_t alive_ns = process != nullptr ? impl_->last_alive_ns(*process) : 0;
  if (alive_ns == 0) return std::nullopt;
  return process->end_ns = std::min(alive_ns, latest_ns);
}

bool Ingest::follows(const wire::ClockReading& reading) const {
  const auto last = impl_->boottime.newest(1);
  if (last.empty()) return true;
  const int64_t slept_before = last[0].value - last[0].monotonic_ns;
  const int64_t slept = reading.boottime_ns - reading.monotonic_ns;
  return reading.monotonic_ns >= last[0].monotonic_ns && slept - slept_before < kPauseNs &&
         slept_before - slept < kPauseNs;
}

std::optional<int64_t> Ingest::monotonic_of_realtime(int64_t realtime_ns) const {
  const auto last = impl_->realtime.newest(1);
  if (last.empty()) return std::nullopt;
  return last[0].monotonic_ns + (realtime_ns - last[0].value);
}

void Ingest::ended(uint64_t spool, std::optional<int64_t> end_ns, std::string_view how) {
  Process* const found = impl_->find(spool);
  if (found == nullptr || found->ended) return;
  Process& process = *found;
  // A range that was started and never stopped lasted until the end.
  const std::map<uint64_t, StartedRange> started(process.started.begin(), process.started.end());
  for (const auto& [id, range] : started) {
    impl_->insert("INSERT OR IGNORE INTO sonde_unfinished (api_id) VALUES (?1)",
                  impl_->add_marker(process, range.text, range.tid, range.start_ns,
                                    std::max(range.start_ns, end_ns.value_or(range.start_ns))));
  }
  process.started.clear();
  process.stopped.clear();
  process.calls.clear();
  process.waiting.clear();
  process.rings.clear();
  process.ended = process.changed = true;
  if (!end_ns) {
    return impl_->insert("UPDATE sonde_process SET end_ns = NULL, exit = ?2 WHERE id = ?1",
                         process.id, how);
  }
  // By other readings of the clocks, the start may be converted to a nanosecond more.
  impl_->insert(
      "UPDATE sonde_process SET end_ns = max(?2, ifnull(start_ns, ?2)), exit = ?3 WHERE id = ?1",
      process.id, *end_ns, how);
}

}  // namespace sonde::store
