#include "backends/rocm/hsa/board.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "agent/platform.h"
#include "backends/rocm/hsa/queues.h"

namespace sonde::hsa {
namespace {

using wire::Board;

constexpr size_t kMostPath = 512;
constexpr uint32_t kArgumentsAnyway = 256;  // for a kernarg segment of unknown size

Board* g_board;
bool g_keeps_launches, g_holds;
pid_t g_pid;

// With a limit on file sizes, a write could raise SIGXFSZ in the program.
bool may_write() {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

Board* make_board(const char* path) {
  const int fd = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return nullptr;
  void* memory = MAP_FAILED;
  // Allocate first: storing to a page for which a full disk has no block would kill the program.
  if (fallocate(fd, 0, 0, sizeof(Board)) == 0) {
    memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  if (memory == MAP_FAILED) unlink(path);
  close(fd);
  return memory != MAP_FAILED ? static_cast<Board*>(memory) : nullptr;
}

// Reads the kernarg segment through a file descriptor, so that a bad address is an error, not a
// fault.
void read_arguments(int fd, const wire::BoardDispatch& dispatch, wire::BoardArguments* arguments) {
  uint32_t bytes = kernel_argument_bytes(dispatch.kernel_object);
  if (bytes == 0) bytes = kArgumentsAnyway;
  if (bytes > wire::kBoardArgumentBytes) bytes = wire::kBoardArgumentBytes;
  arguments->number = dispatch.number;
  arguments->bytes = 0;
  arguments->error = 0;
  const ssize_t read = pread(fd, arguments->data, bytes, static_cast<off_t>(dispatch.kernarg));
  if (read < 0) {
    arguments->error = static_cast<uint32_t>(errno);
  } else {
    arguments->bytes = static_cast<uint32_t>(read);
  }
}

// Saves the arguments of unfinished dispatches, the oldest first.
void note_arguments() {
  const int fd = ::open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const uint64_t end = __atomic_load_n(&g_board->next_dispatch, __ATOMIC_ACQUIRE);
  uint64_t number = end > wire::kBoardDispatches ? end - wire::kBoardDispatches : 0;
  uint32_t taken = 0;
  for (; number < end && taken < wire::kBoardArguments; ++number) {
    const wire::BoardDispatch& dispatch = g_board->dispatches[number % wire::kBoardDispatches];
    const bool is_over = wire::ended_ns(*g_board, number % wire::kBoardDispatches) != 0;
    if (dispatch.number != number + 1 || is_over) continue;
    read_arguments(fd, dispatch, &g_board->arguments[taken++]);
  }
  close(fd);
}

// Whether the process has memory mapped there. Device memory is usually not mapped.
bool is_mapped(uint64_t address) {
  constexpr uint64_t kPage = 4096;
  unsigned char resident = 0;
  return address != 0 &&
         mincore(reinterpret_cast<void*>(address / kPage * kPage), kPage, &resident) == 0;
}

void note_launch(uint64_t number) {
  wire::BoardLaunch& launch = g_board->launches[number % wire::kBoardDispatches];
  launch.number = 0;
  __atomic_thread_fence(__ATOMIC_RELEASE);
  take_stack(&launch.stack);
  __atomic_store_n(&launch.number, number + 1, __ATOMIC_RELEASE);
}

// Bounded: the reader may be gone, or slow.
void wait_for_report() {
  constexpr int kLooks = 1000;
  constexpr timespec kPause = {0, 5'000'000};
  for (int i = 0; i < kLooks && __atomic_load_n(&g_board->reported, __ATOMIC_ACQUIRE) == 0; ++i) {
    nanosleep(&kPause, nullptr);
  }
}

}  // namespace

bool is_watched() { return g_holds && board() != nullptr; }

wire::Board* board() { return g_board != nullptr && g_pid == getpid() ? g_board : nullptr; }

int64_t board_now_ns() { return clock_ns(CLOCK_MONOTONIC); }

void open_board() {
  const char* session = getenv("SONDE_SESSION");
  if (session == nullptr || board() != nullptr || !may_write()) return;
  char path[kMostPath];
  const int64_t begun_ns = board_now_ns();
  const int used = snprintf(path, sizeof path, "%s/boards/%d-%lx", session, getpid(), begun_ns);
  if (used < 0 || static_cast<size_t>(used) + 8 > sizeof path) return;
  Board* made = make_board(path);
  if (made == nullptr) return;
  memcpy(path + used, ".log", 5);
  open_log(path);
  made->bytes = sizeof(Board);
  made->pid = static_cast<uint32_t>(getpid());
  made->begun_ns = begun_ns;
  made->gpu_count = static_cast<uint32_t>(gpu_count());
  for (int gpu = 0; gpu < gpu_count() && gpu < static_cast<int>(wire::kBoardGpus); ++gpu) {
    snprintf(made->architectures[gpu], sizeof made->architectures[gpu], "%s", architecture_of(gpu));
  }
  const ssize_t length = readlink("/proc/self/exe", made->program, sizeof made->program);
  if (length < 0 || static_cast<size_t>(length) == sizeof made->program) made->program[0] = '\0';
  __atomic_store_n(&made->magic, wire::kBoardMagic, __ATOMIC_RELEASE);
  g_pid = getpid();
  g_keeps_launches = getenv(wire::kBoardLaunches) != nullptr;
  g_holds = getenv(wire::kBoardHolds) != nullptr;
  g_board = made;
}

void prepare_pages() {
  if (board() == nullptr) return;
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, since Linux 5.14
  constexpr uint64_t kPage = 4096;
  const uint64_t begin = rocm::word(g_board->dispatches) / kPage * kPage;
  const uint64_t end = rocm::word(g_board->barriers);
  madvise(reinterpret_cast<void*>(begin), end - begin, kPopulateWrite);
}

void note_queue(Queue* queue, const QueueMemory* handle) {
  queue->place = wire::kBoardQueues;
  if (g_board == nullptr) return;
  const uint32_t place = __atomic_fetch_add(&g_board->queue_count, 1, __ATOMIC_RELAXED);
  wire::BoardQueue& entry = g_board->queues[place % wire::kBoardQueues];
  queue->place = place % wire::kBoardQueues;
  entry.id = handle->id;
  entry.made_ns = board_now_ns();
  entry.gone_ns = 0;
  entry.consumed = 0;
  entry.gpu = queue->device->gpu_id;
  entry.packets = handle->size;
  __atomic_store_n(&entry.handle, rocm::word(handle), __ATOMIC_RELEASE);
}

void note_queue_end(const Queue& queue) {
  if (g_board == nullptr || queue.place >= wire::kBoardQueues) return;
  g_board->queues[queue.place].gone_ns = board_now_ns();
}

uint64_t note_dispatch(const Queue& queue, const DispatchPacket& packet) {
  if (g_board == nullptr) return 0;
  const uint64_t number = __atomic_fetch_add(&g_board->next_dispatch, 1, __ATOMIC_RELAXED);
  wire::BoardDispatch& entry = g_board->dispatches[number % wire::kBoardDispatches];
  __atomic_store_n(&entry.number, 0, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  entry.launched_ns = tick_ns();
  entry.kernel_object = packet.kernel_object;
  entry.kernarg = packet.kernarg;
  entry.packet = static_cast<uint32_t>(queue.written.load(std::memory_order_relaxed));
  entry.queue = static_cast<uint8_t>(queue.place);
  memcpy(entry.grid, packet.grid, sizeof entry.grid);
  memcpy(entry.group, packet.group, sizeof entry.group);
  entry.dimensions = static_cast<uint8_t>(packet.setup & 3);
  entry.group_bytes = packet.group_segment_bytes;
  entry.private_bytes = packet.private_segment_bytes;
  g_board->completions[number % wire::kBoardDispatches] = packet.completion.handle;
  // The dispatches do not fit into a fast cache, and the next one will come soon.
  __builtin_prefetch(&g_board->dispatches[(number + 2) % wire::kBoardDispatches], 1);
  if (g_keeps_launches) note_launch(number);
  if (g_holds) see_thread();
  __atomic_store_n(&entry.number, number + 1, __ATOMIC_RELEASE);
  return number + 1;
}

void note_end(uint64_t number_plus_1, int64_t now_ns) {
  if (number_plus_1 == 0 || g_board == nullptr) return;
  wire::BoardEnd& end = g_board->ends[(number_plus_1 - 1) % wire::kBoardDispatches];
  if (end.number >= number_plus_1) return;  // the slot was reused, and the newer dispatch has ended
  end.time_ns = now_ns;
  __atomic_store_n(&end.number, number_plus_1, __ATOMIC_RELEASE);
}

void note_barrier(const Queue& queue, const BarrierPacket& packet) {
  if (g_board == nullptr) return;
  const uint64_t number = __atomic_fetch_add(&g_board->next_barrier, 1, __ATOMIC_RELAXED);
  wire::BoardBarrier& entry = g_board->barriers[number % wire::kBoardBarriers];
  __atomic_store_n(&entry.number, 0, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  entry.dispatches = __atomic_load_n(&g_board->next_dispatch, __ATOMIC_RELAXED);
  for (int i = 0; i < 5; ++i) entry.depends_on[i] = packet.depends_on[i].handle;
  entry.completion = packet.completion.handle;
  entry.packet = static_cast<uint32_t>(queue.written.load(std::memory_order_relaxed));
  entry.queue = static_cast<uint8_t>(queue.place);
  entry.any = (packet.header & 0xff) == kBarrierOrPacket ? 1 : 0;
  __atomic_store_n(&entry.number, number + 1, __ATOMIC_RELEASE);
}

void note_consumed(const Queue& queue, uint64_t consumed) {
  if (g_board == nullptr || queue.place >= wire::kBoardQueues) return;
  __atomic_store_n(&g_board->queues[queue.place].consumed, consumed, __ATOMIC_RELAXED);
}

void note_fault(const Fault& fault) {
  if (board() == nullptr) return;
  const uint32_t place = __atomic_fetch_add(&g_board->fault_count, 1, __ATOMIC_RELAXED);
  if (place >= wire::kBoardFaults) return;
  wire::BoardFault& entry = g_board->faults[place];
  if (place == 0) note_arguments();
  entry.gpu = fault.gpu;
  entry.queue = fault.queue != nullptr ? fault.queue->place : wire::kBoardQueues;
  entry.status = fault.status;
  entry.reasons = fault.reasons;
  entry.tid = static_cast<uint32_t>(syscall(SYS_gettid));
  entry.address = fault.address;
  entry.host_mapped = is_mapped(fault.address) ? 1 : 0;
  entry.time_ns = board_now_ns();
  entry.dispatches = __atomic_load_n(&g_board->next_dispatch, __ATOMIC_RELAXED);
  snprintf(entry.text, sizeof entry.text, "%s", fault.text);
  __atomic_store_n(&entry.kind, fault.kind, __ATOMIC_RELEASE);
  if (g_holds) wait_for_report();
}

}  // namespace sonde::hsa
