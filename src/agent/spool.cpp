#include "agent/spool.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/announce.h"
#include "agent/definitions.h"
#include "agent/memory_calls.h"
#include "agent/window.h"
#include "base/uncancelled.h"

namespace sonde::agent {

State g_state;
Paths g_paths;
constinit thread_local ThreadState t_state;

namespace {

constexpr uint64_t kSealedBytes = 64 * wire::kChunkBytes;  // sealed chunks that a ring keeps mapped
// A chunk that was filled in fewer ticks per 256 KiB than this is followed by a larger one.
constexpr uint64_t kHotTicks = 200'000'000;
constexpr uint32_t kSpareChunks = 4;  // drained chunks that a ring keeps for its next burst
constexpr uint32_t kSealedSlots = sizeof(Ring::sealed) / sizeof(Ring::sealed[0]);
constexpr int64_t kRetryNs = 10000000;

pthread_key_t g_exit_key;
bool g_exit_key_made = false;

// Blocks the program's signal handlers, and cancellation, while a chunk is made: a handler that
// forks would leave its child with a half-made chunk.
class WithoutSignals : Pinned {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
  const Uncancelled uncancelled_;
};

uint32_t thread_id() { return static_cast<uint32_t>(syscall(SYS_gettid)); }

// The time (in ticks) from which a failed attempt may be repeated.
uint64_t retry_time() {
  // The tick rate is not known here; 10 ms at 1 GHz is as good as 3 ms at 3 GHz.
  return ticks() + static_cast<uint64_t>(kRetryNs);
}

using ThreadName = char[16];

// Records the thread's name; `flags` as in a kThread. False: no space.
bool write_name(Ring* ring, uint8_t flags, uint32_t tid, const ThreadName& name) {
  struct {
    wire::EventRecord event;
    wire::ContinuationRecord text;
    ThreadName name;
  } record = {};
  record.event = {{wire::RecordType::kThread, flags, 2, tid}, ticks()};
  const auto length = static_cast<uint32_t>(strnlen(name, sizeof name));
  record.text = {{wire::RecordType::kText, 0, 3, length}};
  memcpy(record.name, name, length);
  char* room = reserve(ring, sizeof record);
  if (room == nullptr) return false;
  memcpy(room, &record, sizeof record);
  commit(ring, sizeof record);
  return true;
}

// Reads this thread's name without a file, and so without a descriptor; and without prctl(), which
// sandbox.cpp interposes, since this may run in a signal handler.
void read_own_name(ThreadName& name) {
  memset(name, 0, sizeof name);
  syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
}

void write_thread_record(Ring* ring, uint8_t flags = 0) {
  read_own_name(ring->name);
  // If this fails, the next chunk records the name.
  if (!write_name(ring, flags, ring->tid, ring->name)) memset(ring->name, 0, sizeof ring->name);
}

// Records the thread's name if it has changed.
void note_new_name(Ring* ring) {
  ThreadName name;
  read_own_name(name);
  if (memcmp(name, ring->name, sizeof name) != 0) write_thread_record(ring, wire::kRenamed);
}

Ring* take_parked() {
  Ring* ring = nullptr;
  if (g_state.parked_lock.acquire()) {
    ring = g_state.parked;
    if (ring != nullptr) g_state.parked = ring->next_parked;
    g_state.parked_lock.release();
  }
  return ring;
}

Ring* make_ring() {
  auto* ring = static_cast<Ring*>(map_memory(sizeof(Ring)));
  if (ring == nullptr) {
    store(g_state.out_because, wire::DropReason::kMemory);
    return nullptr;
  }
  kernel::advise(ring, sizeof(Ring), MADV_WIPEONFORK);
  ring->index = __atomic_fetch_add(&g_state.next_ring, 1, __ATOMIC_RELAXED);
  ring->next_made = load(g_state.rings);
  while (!__atomic_compare_exchange_n(&g_state.rings, &ring->next_made, ring, false,
                                      __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
  return ring;
}

void unmap(wire::ChunkHeader* chunk) { kernel::unmap(chunk, chunk->chunk_bytes); }

// Forgets the first `count` sealed chunks.
void remove_sealed(Ring* ring, uint32_t count) {
  ring->sealed_count -= count;
  memmove(ring->sealed, ring->sealed + count, ring->sealed_count * sizeof(ring->sealed[0]));
}

// Leaves the oldest sealed chunk to the consumer.
void abandon_oldest(Ring* ring) {
  wire::ChunkHeader* oldest = ring->sealed[0];
  const uint64_t bytes = oldest->chunk_bytes;
  auto expected = wire::ChunkState::kSealed;
  if (std::atomic_ref(oldest->state)
          .compare_exchange_strong(expected, wire::ChunkState::kAbandoned,
                                   std::memory_order_acq_rel)) {
    kernel::unmap(oldest, bytes);
  } else {
    drop_chunk(oldest);
  }
  remove_sealed(ring, 1);
}

// Moves the ring's current chunk to the sealed ones.
void retire_current(Ring* ring) {
  seal_chunk(ring->chunk);
  uint64_t mapped = ring->chunk->chunk_bytes;
  for (uint32_t i = 0; i < ring->sealed_count; ++i) mapped += ring->sealed[i]->chunk_bytes;
  while (ring->sealed_count > 0 && (ring->sealed_count == kSealedSlots || mapped > kSealedBytes)) {
    mapped -= ring->sealed[0]->chunk_bytes;
    abandon_oldest(ring);
  }
  ring->sealed[ring->sealed_count++] = ring->chunk;
}

uint32_t drained_count(const Ring* ring) {
  uint32_t count = 0;
  while (count < ring->sealed_count &&
         load_acquire(ring->sealed[count]->state) == wire::ChunkState::kDrained) {
    ++count;
  }
  return count;
}

// How large the next new chunk should be: at most a small part of the session's limit.
uint64_t wanted_bytes(const Ring* ring) {
  if (ring->chunk == nullptr) return wire::kChunkBytes;
  const uint64_t bytes = ring->chunk->chunk_bytes;
  const uint64_t taken = ticks() - ring->chunk->opened.ticks_before;
  const bool hot = taken / (bytes / wire::kChunkBytes) < kHotTicks;
  uint64_t most = load(g_state.control->limit_bytes) / 64;
  if (most > wire::kMaxChunkBytes) most = wire::kMaxChunkBytes;
  uint64_t wanted = hot ? bytes * 4 : bytes / 4;
  while (wanted > most) wanted /= 4;
  return wanted > wire::kChunkBytes ? wanted : wire::kChunkBytes;
}

// A drained chunk of this ring to reuse, or a new one. `ready`: payload bytes whose pages need no
// more preparation.
wire::ChunkHeader* next_chunk(Ring* ring, uint64_t& ready) {
  // Chunks are not reused either once the recorder has finished.
  uint32_t drained = load(g_state.control->closed) == 0 ? drained_count(ring) : 0;
  if (drained == 0) {
    auto* chunk = make_chunk(ring->index, ring->next_file, ring->next_sequence, ring->tid,
                             wanted_bytes(ring), &ring->out_because);
    if (chunk == nullptr) return nullptr;
    ++ring->next_file;
    ++ring->next_sequence;
    ready = wire::kPayloadBytes;
    return chunk;
  }
  wire::ChunkHeader* chunk = ring->sealed[0];
  uint32_t taken = 1;
  for (; drained > kSpareChunks; --drained) drop_chunk(ring->sealed[taken++]);
  remove_sealed(ring, taken);
  start_chunk(chunk, ring->index, chunk->file, ring->next_sequence++, ring->tid);
  ready = wire::payload_bytes(*chunk);
  return chunk;
}

// Prepares the next part of the current chunk. A record is smaller than such a part.
void prepare_more(Ring* ring) {
  prepare_pages(ring->chunk, wire::kHeaderBytes + ring->limit, wire::kChunkBytes);
  ring->limit += wire::kChunkBytes;
}

// Open ranges and calls move along, so that the newest chunk always says what the thread is doing.
void move_open(wire::ChunkHeader* to, const wire::ChunkHeader* from) {
  if (from->open_ranges != 0) {
    memcpy(to->ranges, from->ranges, sizeof to->ranges[0] * from->open_ranges);
    memcpy(to->open_text, from->open_text, sizeof to->open_text);
  }
  memcpy(to->calls, from->calls, sizeof to->calls[0] * from->open_calls);
  store(to->open_ranges, from->open_ranges);
  store_release(to->open_calls, from->open_calls);
}

bool may_retry(const Ring* ring) {
  return ticks() >= ring->retry_at || (ring->sealed_count > 0 && drained_count(ring) > 0);
}

}  // namespace

void count_drop(wire::DropSource source, wire::DropReason reason, uint64_t count) {
  if (g_state.control == nullptr) return;
  auto& cell = g_state.control->drops[static_cast<uint32_t>(source)][static_cast<uint32_t>(reason)];
  __atomic_fetch_add(&cell, count, __ATOMIC_RELAXED);
}

wire::DropReason drop_reason() {
  return t_state.ring != nullptr ? t_state.ring->out_because : load(g_state.out_because);
}

Ring* slow_ring() {
  ErrnoKeeper keep;
  if (is_new_child() && !notice_fork()) return nullptr;  // made by clone() or _Fork()
  Ring* ring = t_state.ring;
  if (ring != nullptr && ring->index == 0) ring = t_state.ring = nullptr;  // the parent's, wiped
  if (ring == nullptr) {
    if (g_state.control == nullptr || ticks() < load(g_state.retry_at)) return nullptr;
    const WithoutSignals without_signals;
    if (!ensure_spool() || ((ring = take_parked()) == nullptr && (ring = make_ring()) == nullptr)) {
      store(g_state.retry_at, retry_time());
      return nullptr;
    }
    ring->tid = thread_id();
    t_state.ring = ring;
    if (g_exit_key_made) pthread_setspecific(g_exit_key, ring);
    if (ring->chunk != nullptr) {
      write_thread_record(ring);
      return ring;
    }
  }
  if (!may_retry(ring)) return nullptr;
  const WithoutSignals without_signals;
  ring->chunk = next_chunk(ring, ring->limit);
  if (ring->chunk == nullptr) {
    note_alive();
    ring->retry_at = retry_time();
    return nullptr;
  }
  ring->used = 0;
  write_thread_record(ring);
  return ring;
}

char* slow_reserve(Ring* ring, uint64_t bytes) {
  ErrnoKeeper keep;
  if (bytes > wire::kMaxRecordBytes) return nullptr;
  if (ring->limit == 0 && !may_retry(ring)) return nullptr;
  const WithoutSignals without_signals;
  if (ring->index == 0) return nullptr;  // in a child that was forked meanwhile: see fork.cpp
  wire::ChunkHeader* full = ring->chunk;
  if (ring->limit != 0 && ring->used + bytes <= wire::payload_bytes(*full)) {
    prepare_more(ring);
    return payload(full) + ring->used;
  }
  uint64_t ready = 0;
  wire::ChunkHeader* fresh = next_chunk(ring, ready);
  if (fresh == nullptr) {
    // The full chunk stays: its header holds the open ranges. Only its payload is closed.
    ring->limit = 0;
    note_alive();
    ring->retry_at = retry_time();
    return nullptr;
  }
  move_open(fresh, full);
  retire_current(ring);
  ring->chunk = fresh;
  ring->used = 0;
  ring->limit = ready;
  note_new_name(ring);
  return payload(fresh) + ring->used;
}

void park_ring(void* memory) {
  ErrnoKeeper keep;
  const Uncancelled uncancelled;
  const Inside inside;  // a sample taken now would wait for the lock that this thread holds
  auto* ring = static_cast<Ring*>(memory);
  t_state.ring = nullptr;
  if (ring->index == 0) return;
  if (ring->chunk != nullptr) {
    end_windows_of(ring);
    store(ring->chunk->open_ranges, 0u);
    store_release(ring->chunk->open_calls, 0u);
    memset(ring->too_deep, 0, sizeof ring->too_deep);
    ring->too_deep_ranges = 0;
    note_new_name(ring);
  }
  store(ring->tid, 0u);
  if (g_state.parked_lock.acquire()) {
    ring->next_parked = g_state.parked;
    g_state.parked = ring;
    g_state.parked_lock.release();
  }
}

// Other threads cannot write any more, or are not asked to: this thread writes their names.
void write_last_names() {
  if (load(g_state.silent) != 0) return;
  ErrnoKeeper keep;
  const Uncancelled uncancelled;
  const Inside inside;
  Ring* const own = t_state.ring;
  if (!inside || own == nullptr || own->chunk == nullptr || own->index == 0) return;
  note_new_name(own);
  for (Ring* ring = load_acquire(g_state.rings); ring != nullptr; ring = ring->next_made) {
    const uint32_t tid = load(ring->tid);
    if (ring == own || tid == 0) continue;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%u/comm", tid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    ThreadName name = {};
    const ssize_t length = read(fd, name, sizeof name);
    close(fd);
    if (length <= 0) continue;
    name[length - 1] = '\0';  // the end of the line
    if (memcmp(name, ring->name, sizeof name) != 0) {
      write_name(own, wire::kOtherThread | wire::kRenamed, tid, name);
    }
  }
}

namespace {

bool write_process_record() { return begin_definitions(&describe().record.header); }

// Keeps the same folder until ring 0 is complete.
bool make_folder() {
  if (definitions_have_begun()) return true;
  if (g_state.announced == 0) name_spool();
  const int length =
      snprintf(g_paths.folder, sizeof g_paths.folder, "%s/p%u-%llx%s", g_paths.session, g_state.pid,
               static_cast<unsigned long long>(g_state.spool),
               in_other_namespace() ? wire::kOtherNamespaceSuffix : "");
  if (length <= 0 || static_cast<size_t>(length) >= sizeof g_paths.folder) return false;
  // Private whatever the program's umask is, and accessible to the recorder.
  if (mkdir(g_paths.folder, 0700) == 0 && chmod(g_paths.folder, 0700) == 0) return true;
  store(g_state.out_because, reason_of(errno));
  return false;
}

bool make_spool() {
  if (!make_folder()) return false;
  if (write_process_record()) return true;
  if (!definitions_have_begun()) rmdir(g_paths.folder);
  return false;
}

}  // namespace

bool ensure_spool() {
  if (is_new_child() && !notice_fork()) return false;
  if (load_acquire(g_state.has_spool) != 0) return true;
  if (ticks() < load(g_state.retry_at)) return false;
  // Another thread may be making it. It may wait for the definitions, whose lock this one holds if
  // it forks.
  const bool may_wait = !holds_definitions();
  if (!(may_wait ? g_state.spool_lock.acquire() : g_state.spool_lock.try_acquire())) {
    store(g_state.out_because, wire::DropReason::kBusy);
    return false;
  }
  bool good = load(g_state.has_spool) != 0;
  if (!good) {
    const WithoutSignals without_signals;
    good = make_spool();
    if (!good) store(g_state.retry_at, retry_time());
    // Published only now: ring 0 must begin with this process and the definitions it inherited,
    // before those of other threads.
    store_release(g_state.has_spool, good ? 1u : 0u);
  }
  g_state.spool_lock.release();
  return good;
}

bool attach(const char* session) {
  if (strlen(session) + 64 >= sizeof g_paths.session) return false;
  char* const path = g_paths.control;
  snprintf(path, sizeof g_paths.control, "%s/control", session);
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat info;
  void* memory = MAP_FAILED;
  if (file_status(fd, "", info) &&
      info.st_size >= static_cast<off_t>(sizeof(wire::SessionControl))) {
    memory = mmap(nullptr, sizeof(wire::SessionControl), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  if (memory == MAP_FAILED) return false;
  auto* control = static_cast<wire::SessionControl*>(memory);
  if (control->magic != wire::kControlMagic || control->version != wire::kWireVersion) {
    if (control->magic == wire::kControlMagic && control->version >= wire::kFirstThatCounts) {
      __atomic_fetch_add(&control->refused, 1, __ATOMIC_RELAXED);
    }
    munmap(memory, sizeof(wire::SessionControl));
    return false;
  }
  strcpy(g_paths.session, session);
  watch_for_forks();
  g_state.clock = control->clock;
  g_state.balance = control->autostart != 0 ? 1 : 0;
  g_state.start_ticks = ticks();
  if (!g_exit_key_made) g_exit_key_made = pthread_key_create(&g_exit_key, park_ring) == 0;
  g_state.control = control;
  store(g_state.left, 0u);
  return true;
}

// Wiped as by a fork: a thread that still has a pointer to one treats it like its parent's.
void wipe_rings(Ring* rings) {
  while (rings != nullptr) {
    Ring* const next = rings->next_made;
    for (uint32_t i = 0; i < rings->sealed_count; ++i) unmap(rings->sealed[i]);
    if (rings->chunk != nullptr) unmap(rings->chunk);
    kernel::advise(rings, sizeof(Ring), MADV_DONTNEED);
    rings = next;
  }
}

void forget_ring() {
  if (g_exit_key_made) pthread_setspecific(g_exit_key, nullptr);
}

}  // namespace sonde::agent
