#include "record/drain.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/time.h"
#include "base/unique_fd.h"
#include "record/chunk_access.h"

namespace sonde::record {

namespace {

constexpr uint64_t kBytesPerPoll = 16 << 20;
constexpr uint64_t kCommitBytes = 64 << 20;
constexpr int64_t kCommitEveryNs = 500'000'000;
constexpr int64_t kListEveryNs = 100'000'000;  // while there is a known backlog

}  // namespace

Drain::Drain(std::string session, wire::Control& control, store::Ingest& ingest)
    : session_(std::move(session)),
      control_(&control),
      ingest_(&ingest),
      announced_(session_),
      buffer_(wire::kMaxChunkBytes - wire::kHeaderBytes),
      last_commit_ns_(monotonic_now_ns()) {}

void Drain::go_on_with(store::Ingest& ingest) {
  ingest_ = &ingest;
  for (auto& [id, spool] : spools_) {
    for (auto& [name, chunk] : spool.chunks) {
      if (chunk.file.ring != 0) continue;
      chunk.offset = 0;
      chunk.drained = chunk.read_out = false;
      chunk.waiting.reset();
    }
  }
}

// A process has its spool's name from the start, and the folder once it records something.
void Drain::list_announced() {
  for (auto& item : announced_.read_new()) {
    const wire::ChunkStatus& header = item.header;
    Spool& spool = spools_[header.spool];
    if (spool.folder.path.empty()) {
      char name[64];
      std::snprintf(name, sizeof name, "/p%u-%llx", header.pid,
                    static_cast<unsigned long long>(header.spool));
      spool.folder = {session_ + name, header.pid, header.spool, false};
    }
    if (ingest_->has_ended(header.spool)) spool.finished = true;
    if (item.record.empty()) {  // it is about to end
      spool.told_end_ns = header.opened.monotonic_ns;
    } else if (!spool.finished) {
      to_tell_.push_back(std::move(item));
    }
  }
}

// Called when the clocks have been read.
void Drain::tell_announced() {
  for (const auto& item : to_tell_) {
    wire::Decoder decoder(item.record);
    if (const auto record = decoder.next()) ingest_->definition(item.header, *record);
    ++uncommitted_bytes_;
  }
  to_tell_.clear();
}

void Drain::list_new() {
  list_announced();
  for (auto& folder : wire::list_spools(session_)) {
    Spool& spool = spools_[folder.spool];
    if (spool.folder.path.empty()) spool.folder = folder;
    if (!spool.finished && ingest_->has_ended(folder.spool)) spool.finished = true;
    if (spool.finished) continue;
    for (auto& file : wire::list_chunks(folder.path)) add_chunk(spool, std::move(file));
  }
  last_list_ns_ = monotonic_now_ns();
}

// Adds definition files made since the folder was listed; events counted since may refer to them.
void Drain::list_new_definitions(Spool& spool) {
  for (;;) {
    const uint64_t number = spool.definition_files;
    std::string path = spool.folder.path + "/r0-" + std::to_string(number);
    if (::access(path.c_str(), F_OK) != 0) return;
    add_chunk(spool, {std::move(path), 0, number});
  }
}

void Drain::add_chunk(Spool& spool, wire::ChunkFile file) {
  const std::filesystem::path path(file.path);
  std::string name = path.parent_path().filename().string() + "/" + path.filename().string();
  auto [found, fresh] = spool.chunks.try_emplace(name);
  if (!fresh) return;
  Chunk& chunk = found->second;
  chunk.file = std::move(file);
  chunk.name = std::move(name);
  // Definitions are always read from the start: everything else depends on them.
  if (chunk.file.ring == 0) {
    spool.definition_files = std::max(spool.definition_files, chunk.file.file + 1);
    return;
  }
  const auto position = ingest_->position(chunk.name);
  chunk.sequence = position.sequence;
  chunk.offset = position.offset;
}

// A valid header of another ring counts as damaged, too.
wire::HeaderVerdict Drain::judge(const Spool& spool, const Chunk& chunk,
                                 const wire::ChunkStatus& header) {
  const auto verdict = wire::judge_header(header);
  const bool own = header.spool == spool.folder.spool && header.ring == chunk.file.ring &&
                   header.file == chunk.file.file;
  return verdict == wire::HeaderVerdict::kGood && !own ? wire::HeaderVerdict::kOtherRing : verdict;
}

// Finds the chunks of the spool that have something new.
void Drain::collect(Spool& spool, bool definitions, std::vector<Pending>& pending) {
  for (auto next = spool.chunks.begin(); next != spool.chunks.end();) {
    const auto current = next++;
    Chunk& chunk = current->second;
    if ((chunk.file.ring == 0) != definitions) continue;
    if (chunk.read_out && !chunk.drained) continue;
    if (chunk.waiting) {
      pending.push_back({&chunk, *chunk.waiting});
      continue;
    }
    Pending item{&chunk, {}};
    UniqueFd fd(::open(chunk.file.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid() && errno == ENOENT && chunk.drained) {
      // The producer had enough chunks and deleted a drained one.
      ingest_->forget_position(chunk.name);
      spool.chunks.erase(current);
      continue;
    }
    if (!fd.valid() || !read_at(fd.get(), &item.header, sizeof item.header, 0)) continue;
    // An inconsistent header is just being rewritten, or is damaged: see finish_process.
    if (judge(spool, chunk, item.header) != wire::HeaderVerdict::kGood) continue;
    chunk.bytes = item.header.chunk_bytes;
    if (item.header.sequence == chunk.sequence && chunk.drained) continue;
    if (item.header.sequence != chunk.sequence) {
      if (item.header.sequence < chunk.sequence) continue;
      // The producer may have been reusing it during that read: only data read after the new
      // sequence was seen certainly belongs to it.
      const uint64_t sequence = item.header.sequence;
      if (!read_status(chunk.file.path, item.header) ||
          judge(spool, chunk, item.header) != wire::HeaderVerdict::kGood ||
          item.header.sequence != sequence) {
        continue;
      }
      chunk.sequence = item.header.sequence;  // the producer reused it
      chunk.offset = 0;
      chunk.drained = chunk.read_out = false;
    }
    const bool sealed = item.header.state != wire::ChunkState::kActive;
    // A single read may have copied the other fields before the state: only a second read shows
    // what the producer has sealed.
    if (sealed && (!read_status(chunk.file.path, item.header) ||
                   judge(spool, chunk, item.header) != wire::HeaderVerdict::kGood ||
                   item.header.sequence != chunk.sequence)) {
      continue;
    }
    if (item.header.committed > chunk.offset || (sealed && !chunk.read_out && !chunk.drained)) {
      if (sealed) chunk.waiting = item.header;
      pending.push_back(item);
    }
  }
}

void Drain::read_chunk(const Pending& pending) {
  Chunk& chunk = *pending.chunk;
  chunk.waiting.reset();
  const wire::ChunkStatus& header = pending.header;
  const uint64_t from = chunk.offset;
  const uint64_t bytes = header.committed > from ? header.committed - from : 0;
  const bool sealed = header.state != wire::ChunkState::kActive;
  UniqueFd fd(::open(chunk.file.path.c_str(), O_RDONLY | O_CLOEXEC));
  // All of a sealed chunk, for its checksum; otherwise only what is new.
  const uint64_t skip = sealed ? 0 : from;
  if (!fd.valid() || !read_at(fd.get(), buffer_.data() + skip, header.committed - skip,
                              wire::kHeaderBytes + skip)) {
    ingest_->damaged("cut short");
    chunk.offset = header.committed;
    chunk.read_out = sealed;
    return;
  }
  chunk.offset = header.committed;
  chunk.read_out = sealed;
  uncommitted_bytes_ += bytes;
  if (header.ring != 0) ingest_->set_position(chunk.name, {chunk.sequence, chunk.offset});
  if (sealed && wire::checksum(buffer_.data(), header.committed) != header.payload_sum) {
    ingest_->damaged("checksum does not match: the rest of the chunk was left out");
    return;
  }
  wire::Decoder decoder({buffer_.data() + from, bytes});
  while (const auto record = decoder.next()) {
    ++events_;
    if (header.ring == 0) {
      ingest_->definition(header, *record);
    } else if (discard_reason_.empty() || record->type() == wire::RecordType::kThread) {
      ingest_->event(header, *record);
    } else {
      ingest_->drop("records", discard_reason_, 1);
    }
  }
  if (decoder.malformed()) ingest_->damaged("malformed record: the rest was left out");
}

uint64_t Drain::poll() {
  polled_ns_ = monotonic_now_ns();
  // A large backlog has many files, and listing them takes as long as reading some.
  if (!backlog_ || monotonic_now_ns() - last_list_ns_ >= kListEveryNs) list_new();
  std::vector<Spool*> spools;
  for (auto& [id, spool] : spools_) {
    if (!spool.finished) spools.push_back(&spool);
  }
  return read_some(spools);
}

// The order matters: what an event refers to was defined before the event was committed, so
// definitions are read after events were counted; and the clocks are read last, so that every event
// lies before the newest reading.
uint64_t Drain::read_some(std::span<Spool* const> spools) {
  std::vector<Pending> events, definitions;
  for (Spool* spool : spools) collect(*spool, false, events);
  for (Spool* spool : spools) {
    list_new_definitions(*spool);
    collect(*spool, true, definitions);
  }
  if (reads_clocks_) ingest_->clocks(wire::read_clocks_exactly((*control_)->clock));
  for (const auto* list : {&definitions, &events}) {
    for (const auto& pending : *list) ingest_->opened(pending.header.opened);
  }
  for (const auto& item : to_tell_) ingest_->opened(item.header.opened);
  tell_announced();
  // A ring's chunks in order; all rings advance at the same rate.
  const auto before = [](const Pending& a, const Pending& b) {
    return a.header.sequence < b.header.sequence;
  };
  std::stable_sort(definitions.begin(), definitions.end(), before);
  for (const auto& pending : definitions) read_chunk(pending);
  std::stable_sort(events.begin(), events.end(), before);
  uint64_t bytes = 0;
  uint64_t fresh = 0;  // bytes that were not read before
  backlog_ = false;
  for (const auto& pending : events) {
    if (stopped_) break;
    backlog_ = fresh >= kBytesPerPoll;
    if (backlog_) break;
    fresh += pending.header.committed - std::min(pending.header.committed, pending.chunk->offset);
    bytes += pending.header.committed;
    read_chunk(pending);
    progress_();
  }
  return bytes;
}

// The recorder finishes processes that have ended between poll() and commit(): those that are left
// ran at the poll. Not while an end is not in the file yet, and not in a recovery.
void Drain::note_watched() {
  if (__atomic_load_n(&(*control_)->closed, __ATOMIC_RELAXED) != 0) return;
  const bool waits = std::any_of(spools_.begin(), spools_.end(), [](const auto& item) {
    return item.second.finished && !item.second.removed;
  });
  if (!waits) __atomic_store_n(&(*control_)->watched_ns, polled_ns_, __ATOMIC_RELAXED);
}

Status Drain::commit(bool force) {
  note_watched();
  const int64_t now = monotonic_now_ns();
  const bool due = uncommitted_bytes_ >= kCommitBytes ||
                   (uncommitted_bytes_ > 0 && now - last_commit_ns_ >= kCommitEveryNs);
  if (!force && !due) return ok_status();
  if (auto committed = ingest_->commit(); !committed) {
    // A reader keeps the database locked: the rows wait, and so do their chunks.
    if (!force && store::is_busy(committed.error())) return ok_status();
    return committed;
  }
  last_commit_ns_ = now;
  uncommitted_bytes_ = 0;
  give_back();
  return ok_status();
}

void Drain::give_back() {
  for (auto& [id, spool] : spools_) {
    if (spool.finished) {
      remove_spool(spool);
      continue;
    }
    for (auto item = spool.chunks.begin(); item != spool.chunks.end();) {
      Chunk& chunk = item->second;
      const bool ready = chunk.read_out && !chunk.drained && chunk.file.ring != 0;
      if (ready) chunk.drained = true;
      if (ready && !return_chunk(chunk.file.path)) {
        ::unlink(chunk.file.path.c_str());
        __atomic_fetch_sub(&(*control_)->allocated_bytes, chunk.bytes, __ATOMIC_RELAXED);
        ingest_->forget_position(chunk.name);
        item = spool.chunks.erase(item);
      } else {
        ++item;
      }
    }
  }
}

// Called when everything of a finished process is in the file.
void Drain::remove_spool(Spool& spool) {
  if (spool.removed) return;
  std::error_code error;
  uint64_t bytes = 0;
  for (const auto& file : wire::list_chunks(spool.folder.path)) {
    const auto size = std::filesystem::file_size(file.path, error);
    if (!error) bytes += size;
  }
  std::filesystem::remove_all(spool.folder.path, error);
  __atomic_fetch_sub(&(*control_)->allocated_bytes, bytes, __ATOMIC_RELAXED);
  for (const auto& [name, chunk] : spool.chunks) ingest_->forget_position(name);
  spool.chunks.clear();
  spool.removed = true;
}

std::vector<Drain::Live> Drain::live() const {
  std::vector<Live> live;
  for (const auto& [id, spool] : spools_) {
    if (!spool.finished) {
      live.push_back({id, spool.folder.pid, spool.folder.other_namespace, !spool.chunks.empty()});
    }
  }
  return live;
}

Status Drain::finish() {
  for (uint32_t source = 0; source < wire::kDropSources; ++source) {
    for (uint32_t reason = 0; reason < wire::kDropReasons; ++reason) {
      const uint64_t count = __atomic_load_n(&(*control_)->drops[source][reason], __ATOMIC_RELAXED);
      if (count == 0) continue;
      std::string name = wire::kDropReasonNames[reason];
      if (static_cast<wire::DropReason>(reason) == wire::DropReason::kSystem) {
        name += fmt::format(" ({})", std::strerror(static_cast<int>((*control_)->system_error)));
      }
      ingest_->set_drop(wire::kDropSourceNames[source], name, count);
    }
  }
  const uint32_t refused = __atomic_load_n(&(*control_)->refused, __ATOMIC_RELAXED);
  if (refused != 0) {
    ingest_->diagnostic(
        "agent", fmt::format("{} processes were not recorded: the libsonde-agent.so in them is of "
                             "another version of Sonde",
                             refused));
  }
  SONDE_TRY(commit(true));
  return ingest_->finish();
}

uint64_t Drain::spool_bytes() const {
  return __atomic_load_n(&(*control_)->allocated_bytes, __ATOMIC_RELAXED);
}

}  // namespace sonde::record
