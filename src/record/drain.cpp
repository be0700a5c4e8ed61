#include "record/drain.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/time.h"
#include "base/unique_fd.h"

namespace sonde::record {

namespace {

constexpr uint64_t kBytesPerPoll = 16 << 20;
constexpr uint64_t kCommitBytes = 64 << 20;
constexpr int64_t kCommitEveryNs = 500'000'000;
constexpr int64_t kListEveryNs = 100'000'000;  // while there is a known backlog

bool read_at(int fd, void* to, size_t size, uint64_t offset) {
  auto* at = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t got = ::pread(fd, at, size, static_cast<off_t>(offset));
    if (got <= 0) return false;
    at += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<size_t>(got);
  }
  // Later reads must not be older than this one.
  std::atomic_thread_fence(std::memory_order_acquire);
  return true;
}

// Moves a sealed chunk to the drained state. False if its producer has abandoned it: then we delete
// it.
bool return_chunk(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.valid()) return true;
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return true;
  auto* header = static_cast<wire::ChunkHeader*>(memory);
  auto expected = wire::ChunkState::kSealed;
  const bool returned =
      std::atomic_ref(header->state)
          .compare_exchange_strong(expected, wire::ChunkState::kDrained, std::memory_order_acq_rel);
  ::munmap(memory, 4096);
  return returned || expected != wire::ChunkState::kAbandoned;
}

bool read_status(const std::string& path, wire::ChunkStatus& header) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd.valid() && read_at(fd.get(), &header, sizeof header, 0);
}

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
    if (!spool.finished) to_tell_.push_back(std::move(item));
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
  ingest_->clocks(wire::read_clocks_exactly((*control_)->clock));
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

Status Drain::commit(bool force) {
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
    if (!spool.finished) live.push_back({id, spool.folder.pid, spool.folder.other_namespace});
  }
  return live;
}

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
void Drain::note_open(Spool& spool) {
  std::map<uint32_t, wire::ChunkHeader> newest;
  bool defined = false;
  for (const auto& [name, chunk] : spool.chunks) {
    wire::ChunkHeader header;
    if (!read_header(spool, chunk, header)) continue;
    if (header.ring == 0) {
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
  for (const auto& [ring, header] : newest) {
    const uint32_t ranges = std::min(header.open_ranges, wire::kMaxOpenRanges);
    for (uint32_t i = 0; i < ranges; ++i) ingest_->unfinished(header, header.ranges[i]);
    const uint32_t calls = std::min(header.open_calls, wire::kMaxOpenCalls);
    for (uint32_t i = 0; i < calls; ++i) ingest_->unfinished(header, header.calls[i]);
  }
}

Status Drain::finish_process(uint64_t spool_id, std::string_view how) {
  list_new();
  const auto found = spools_.find(spool_id);
  if (found == spools_.end() || found->second.finished) return ok_status();
  Spool& spool = found->second;
  Spool* const one[] = {&spool};
  while (!stopped_ && read_some(one) != 0) SONDE_TRY(commit(false));
  if (stopped_) return make_error(ErrorCode::kIo, "stopped before everything was read", session_);
  note_open(spool);
  ingest_->ended(spool_id, monotonic_now_ns(), how);
  spool.finished = true;
  ++uncommitted_bytes_;  // its end justifies a commit, which also deletes its folder
  return ok_status();
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
