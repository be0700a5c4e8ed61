// The end of a process: what it was in the middle of, and when it was last alive.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <limits>

#include "base/time.h"
#include "base/unique_fd.h"
#include "record/chunk_access.h"
#include "record/drain.h"

namespace sonde::record {

// Reads the whole header of a chunk for the last time, and counts a damaged one. False if it
// contains nothing.
bool Drain::read_header(const Spool& spool, const Chunk& chunk, wire::ChunkHeader& header) {
  UniqueFd fd(::open(chunk.file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT) {
    // Deleted by its producer: it was drained, or there was no space for it.
    const bool unmade = chunk.sequence == 0 && chunk.offset == 0 && is_newest(spool, chunk);
    if (chunk.drained || unmade) return false;
  }
  struct stat info {};
  const bool known = fd.valid() && ::fstat(fd.get(), &info) == 0;
  if ((!known || info.st_size < static_cast<off_t>(wire::kChunkBytes)) && is_newest(spool, chunk)) {
    // A producer that is killed while it makes a chunk leaves an empty file, or one of zeros; one
    // that finds no space deletes it again.
    uint64_t magic = 0;
    if (!known || info.st_size == 0 || (read_at(fd.get(), &magic, sizeof magic, 0) && magic == 0)) {
      return false;
    }
  }
  if (!known || !read_at(fd.get(), &header, sizeof header, 0)) {
    ingest_->drop("chunks", "cut short", 1);
    return false;
  }
  const auto verdict = judge(spool, chunk, header);
  if (verdict == wire::HeaderVerdict::kGood) return true;
  if (verdict != wire::HeaderVerdict::kUnfinished) ingest_->drop("chunks", "damaged header", 1);
  return false;
}

bool Drain::is_newest(const Spool& spool, const Chunk& chunk) {
  return std::none_of(spool.chunks.begin(), spool.chunks.end(), [&](const auto& item) {
    return item.second.file.ring == chunk.file.ring && item.second.file.file > chunk.file.file;
  });
}

// The newest chunk of each ring says what its thread was in the middle of. A newest chunk without
// records may have been made just before the end, before the open entries were copied to it.
std::vector<wire::ChunkHeader> Drain::newest_of_rings(Spool& spool) {
  std::map<uint32_t, wire::ChunkHeader> newest;
  bool defined = false;
  for (const auto& [name, chunk] : spool.chunks) {
    wire::ChunkHeader header;
    if (!read_header(spool, chunk, header)) continue;
    ingest_->alive_at_ticks(header.spool, header.opened.ticks_after);
    if (header.ring == 0) {
      ingest_->alive_at_ticks(header.spool, header.alive);
      defined = true;
      continue;
    }
    auto [found, fresh] = newest.try_emplace(header.ring, header);
    const auto age = [](const wire::ChunkHeader& h) {
      return std::pair(h.committed != 0 || h.open_ranges != 0 || h.open_calls != 0, h.sequence);
    };
    if (!fresh && age(found->second) < age(header)) found->second = header;
  }
  if (!defined && !newest.empty()) ingest_->drop("chunks", "no definitions: names are missing", 1);
  std::vector<wire::ChunkHeader> headers;
  for (auto& [ring, header] : newest) {
    header.open_ranges = std::min(header.open_ranges, wire::kMaxOpenRanges);
    header.open_calls = std::min(header.open_calls, wire::kMaxOpenCalls);
    headers.push_back(header);
  }
  return headers;
}

// Not the times of files: a store into a mapped file changes them once in a while, a copy at once.
std::optional<int64_t> Drain::last_sign(const Spool& spool,
                                        std::span<const wire::ChunkHeader> newest) {
  const uint64_t id = spool.folder.spool;
  const auto began_ns = static_cast<int64_t>(id >> 1);  // what its number is made from
  const int64_t watched_ns = __atomic_load_n(&(*control_)->watched_ns, __ATOMIC_RELAXED);
  for (const wire::ChunkHeader& header : newest) {
    const std::span ranges(header.ranges, header.open_ranges);
    const std::span calls(header.calls, header.open_calls);
    for (const wire::OpenRange& range : ranges) ingest_->alive_at_ticks(id, range.begin);
    for (const wire::OpenCall& call : calls) ingest_->alive_at_ticks(id, call.begin);
  }
  ingest_->alive_at(id, began_ns);
  ingest_->alive_at(id, spool.told_end_ns);
  // An image that did not exit and has a successor of its number was replaced by an exec.
  const auto next =
      std::find_if(spools_.upper_bound(id), spools_.end(), [&spool](const auto& other) {
        return !other.second.folder.other_namespace && other.second.folder.pid == spool.folder.pid;
      });
  if (spool.told_end_ns == 0 && !spool.folder.other_namespace && next != spools_.end()) {
    ingest_->alive_at(id, static_cast<int64_t>(next->first >> 1));
  }
  if (began_ns <= watched_ns) ingest_->alive_at(id, watched_ns);
  // This moment, on the clock of the recording.
  const auto now_ns = wire::is_of_this_boot(**control_)
                          ? std::optional(monotonic_now_ns())
                          : ingest_->monotonic_of_realtime(clock_ns(CLOCK_REALTIME));
  return ingest_->end_by_last_sign(id, now_ns.value_or(std::numeric_limits<int64_t>::max()));
}

Status Drain::finish_process(uint64_t spool_id, std::string_view how, End end) {
  list_new();
  const auto found = spools_.find(spool_id);
  if (found == spools_.end() || found->second.finished) return ok_status();
  Spool& spool = found->second;
  Spool* const one[] = {&spool};
  while (!stopped_ && read_some(one) != 0) SONDE_TRY(commit(false));
  if (stopped_) return make_error(ErrorCode::kIo, "stopped before everything was read", session_);
  const auto newest = newest_of_rings(spool);
  const auto end_ns =
      end == End::kLastSign ? last_sign(spool, newest) : std::optional(monotonic_now_ns());
  for (const wire::ChunkHeader& header : newest) {
    const std::span ranges(header.ranges, header.open_ranges);
    const std::span calls(header.calls, header.open_calls);
    for (const wire::OpenRange& range : ranges) ingest_->unfinished(header, range);
    for (const wire::OpenCall& call : calls) ingest_->unfinished(header, call);
  }
  ingest_->ended(spool_id, end_ns, how);
  spool.finished = true;
  ++uncommitted_bytes_;  // its end justifies a commit, which also deletes its folder
  return ok_status();
}

}  // namespace sonde::record
