#include "backends/opencl/pending.h"

#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include "backends/opencl/board.h"
#include "backends/opencl/launch.h"

namespace sonde::opencl {
namespace {

constexpr size_t kChunkBytes = 64 * 1024;
constexpr uint32_t kMaxChunks = 4096;  // 256 MiB of unfinished ops
constexpr unsigned kScanAhead = 64;    // unfinished ops to look past in an out-of-order queue
constexpr int kHeldTries = 1000;
constexpr pthread_t kNobody = 0;

std::atomic<uint32_t> g_chunks;

// False if this thread is already recording this queue's ops (the runtime called the program back),
// or if another thread takes too long to do so: the program must never wait for us for long.
bool lock_reaper(Queue* queue) {
  const pthread_t self = pthread_self();
  if (queue->reaper.load(std::memory_order_relaxed) == self) return false;
  if (pthread_mutex_trylock(&queue->reap_lock) != 0) {
    timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    if (pthread_mutex_timedlock(&queue->reap_lock, &until) != 0) return false;
  }
  queue->reaper.store(self, std::memory_order_relaxed);
  return true;
}

void unlock_reaper(Queue* queue) {
  queue->reaper.store(kNobody, std::memory_order_relaxed);
  pthread_mutex_unlock(&queue->reap_lock);
}

// The caller holds list_lock.
PendingOp* take_free(Queue* queue) {
  if (PendingOp* op = queue->free_ops) {
    queue->free_ops = op->next;
    return op;
  }
  if (queue->fresh == queue->fresh_end) {
    if (g_chunks.fetch_add(1, std::memory_order_relaxed) >= kMaxChunks) {
      g_chunks.fetch_sub(1, std::memory_order_relaxed);
      return nullptr;
    }
    void* chunk =
        mmap(nullptr, kChunkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk == MAP_FAILED) return nullptr;
    queue->fresh = static_cast<char*>(chunk);
    queue->fresh_end = queue->fresh + kChunkBytes / sizeof(PendingOp) * sizeof(PendingOp);
  }
  PendingOp* op = reinterpret_cast<PendingOp*>(queue->fresh);
  queue->fresh += sizeof(PendingOp);
  return op;
}

uint64_t time_of(cl_event event, cl_profiling_info which) {
  cl_ulong value = 0;
  if (next().clGetEventProfilingInfo(event, which, sizeof value, &value, nullptr) != CL_SUCCESS) {
    return 0;
  }
  return value;
}

PendingList detach_list(Queue* queue) {
  pthread_mutex_lock(&queue->list_lock);
  const PendingList list = queue->list;
  queue->list = {};
  pthread_mutex_unlock(&queue->list_lock);
  return list;
}

// Puts unfinished ops back in front of those enqueued meanwhile.
void attach_list(Queue* queue, const PendingList& list) {
  if (list.head == nullptr) return;
  pthread_mutex_lock(&queue->list_lock);
  list.tail->next = queue->list.head;
  queue->list.head = list.head;
  if (queue->list.tail == nullptr) queue->list.tail = list.tail;
  pthread_mutex_unlock(&queue->list_lock);
}

// Without locks: releasing the last reference may call back into the program.
void release_ops(Queue* queue, PendingOp* done) {
  PendingOp* last = nullptr;
  for (PendingOp* op = done; op != nullptr; op = op->next) {
    next().clReleaseEvent(op->event);
    last = op;
  }
  pthread_mutex_lock(&queue->list_lock);
  last->next = queue->free_ops;
  queue->free_ops = done;
  pthread_mutex_unlock(&queue->list_lock);
}

}  // namespace

void PendingList::append(PendingOp* op) {
  op->next = nullptr;
  (tail != nullptr ? tail->next : head) = op;
  tail = op;
}

bool add_pending(Queue* queue, const PendingOp& op) {
  pthread_mutex_lock(&queue->list_lock);
  PendingOp* copy = take_free(queue);
  if (copy != nullptr) {
    *copy = op;
    queue->list.append(copy);
    queue->pending.fetch_add(1);
  }
  pthread_mutex_unlock(&queue->list_lock);
  return copy != nullptr;
}

bool record_if_finished(const PendingOp& pending) {
  cl_int status = CL_QUEUED;
  const cl_int code = next().clGetEventInfo(pending.event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                            sizeof status, &status, nullptr);
  if (code != CL_SUCCESS) status = code;
  if (status > CL_COMPLETE) return false;
  note_launch_over(pending.noted);
  sonde_op op = pending.op;
  op.status = status;
  op.queued = time_of(pending.event, CL_PROFILING_COMMAND_QUEUED);
  op.submitted = time_of(pending.event, CL_PROFILING_COMMAND_SUBMIT);
  op.start = time_of(pending.event, CL_PROFILING_COMMAND_START);
  op.end = time_of(pending.event, CL_PROFILING_COMMAND_END);
  agent().op(&op);
  if (pending.device != nullptr && op.queued != 0) {
    snapshot_clock(pending.device, op.end > op.queued ? op.end : op.queued, op.queued,
                   pending.before, pending.after);
  }
  return true;
}

void reap(Queue* queue, cl_event event, bool all) {
  if (queue->pending.load() == 0 || !lock_reaper(queue)) return;
  const PendingList list = detach_list(queue);
  PendingList done, kept;
  unsigned unfinished = 0;
  PendingOp* op = list.head;
  while (op != nullptr) {
    const bool ahead = queue->in_order ? unfinished == 0 : all || unfinished < kScanAhead;
    if (!ahead && (queue->in_order || event == nullptr)) break;
    PendingOp* following = op->next;
    if ((ahead || op->event == event) && record_if_finished(*op)) {
      done.append(op);
      queue->pending.fetch_sub(1);
    } else {
      kept.append(op);
      ++unfinished;
    }
    op = following;
  }
  if (op != nullptr) {  // the rest was not examined
    (kept.tail != nullptr ? kept.tail->next : kept.head) = op;
    kept.tail = list.tail;
  }
  attach_list(queue, kept);
  queue->releasing.fetch_add(1);
  unlock_reaper(queue);
  if (done.head != nullptr) {
    release_ops(queue, done.head);
    queue->releases.fetch_add(1);
  }
  queue->releasing.fetch_sub(1);
}

void reap_everything() {
  for (Queue* queue = first_queue(); queue != nullptr;
       queue = queue->next_of_all.load(std::memory_order_relaxed)) {
    reap(queue, nullptr, true);
  }
}

HeldEvents held_events(Queue* queue, cl_event event) {
  HeldEvents result = {0, 0};
  for (int i = 0; i < kHeldTries && queue->releasing.load() != 0; ++i) sched_yield();
  result.releases = queue->releases.load();
  if (queue->pending.load() == 0 || !lock_reaper(queue)) return result;
  pthread_mutex_lock(&queue->list_lock);
  for (const PendingOp* op = queue->list.head; op != nullptr; op = op->next) {
    if (op->event == event) ++result.held;
  }
  pthread_mutex_unlock(&queue->list_lock);
  unlock_reaper(queue);
  return result;
}

bool unchanged(const Queue* queue, const HeldEvents& held) {
  return queue->releasing.load() == 0 && queue->releases.load() == held.releases;
}

void forget_pending(Queue* queue) {
  queue->list_lock = PTHREAD_MUTEX_INITIALIZER;
  queue->reap_lock = PTHREAD_MUTEX_INITIALIZER;
  queue->reaper.store(kNobody);
  queue->list = {};
  queue->free_ops = nullptr;
  queue->fresh = nullptr;
  queue->fresh_end = nullptr;
  queue->pending.store(0);
  queue->releasing.store(0);
}

void launch_commit(Launch* launch, cl_event own, const cl_event* user) {
  Queue* queue = launch->queue != nullptr ? launch->queue : find_queue(launch->handle);
  PendingOp pending = {};
  pending.event = user != nullptr ? *user : own;
  if (queue == nullptr || pending.event == nullptr) {
    agent().dropped("opencl", 1);
    return;
  }
  // The queue existed before we attached: it has no profiling.
  if (g_attached && !queue->forced && !queue->asked.load(std::memory_order_relaxed)) {
    if (own != nullptr) next().clReleaseEvent(own);
    return;
  }
  pending.device = queue->device;
  pending.before = launch->before;
  pending.after = launch->after;
  pending.noted = launch->noted;
  pending.op = launch->op;
  pending.op.queue = queue->id;
  if (queue->device != nullptr) pending.op.clock = queue->device->clock.load();
  const bool blocking = (pending.op.flags & 1) != 0;
  if (blocking && queue->in_order) reap(queue, nullptr, false);
  if (blocking && record_if_finished(pending)) {
    if (own != nullptr) next().clReleaseEvent(own);
    return;
  }
  if (user != nullptr) next().clRetainEvent(pending.event);
  if (!add_pending(queue, pending)) {
    agent().dropped("opencl", 1);
    next().clReleaseEvent(pending.event);
    return;
  }
  wake_collector();
}

}  // namespace sonde::opencl
