#include "driver/debug_state.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/kfd_ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

namespace softgpu {
namespace {

std::string folder_of(const std::string& tree) { return tree + "/debug"; }
std::string file_of(const std::string& tree, pid_t pid) {
  return folder_of(tree) + "/" + std::to_string(pid);
}

// The process that traces `pid`; 0: none.
pid_t tracer_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string word;
  while (status >> word) {
    if (word == "TracerPid:" && status >> word) return std::atoi(word.c_str());
  }
  return 0;
}

bool is_there(pid_t pid) { return ::access(("/proc/" + std::to_string(pid)).c_str(), F_OK) == 0; }

// Whether it cannot answer: its tracer or a signal has stopped it, or it is gone.
bool is_stopped(pid_t pid, pid_t thread) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread) + "/stat");
  std::string text;
  if (!std::getline(stat, text)) return true;
  const size_t name_end = text.rfind(") ");
  return name_end == std::string::npos || text[name_end + 2] == 't' || text[name_end + 2] == 'T';
}

}  // namespace

bool traces(pid_t pid) {
  const pid_t tracer = tracer_of(pid);
  // Or a thread of this process.
  return tracer != 0 && ::access(("/proc/self/task/" + std::to_string(tracer)).c_str(), F_OK) == 0;
}

std::unique_ptr<DebugState> DebugState::map(const std::string& file, bool make) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC | (make ? O_CREAT : 0), 0600);
  if (fd < 0) return nullptr;
  void* at = MAP_FAILED;
  if (ftruncate(fd, sizeof(DebugLayout)) == 0) {
    at = ::mmap(nullptr, sizeof(DebugLayout), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  ::close(fd);
  if (at == MAP_FAILED) return nullptr;
  return std::unique_ptr<DebugState>(new DebugState(static_cast<DebugLayout*>(at)));
}

std::unique_ptr<DebugState> DebugState::own(const std::string& tree) {
  std::error_code ignored;
  std::filesystem::create_directory(folder_of(tree), ignored);
  const std::string file = file_of(tree, getpid());
  auto state = map(file, true);
  if (state && state->is_debugged() && state->shared_->debugger != getpid() &&
      tracer_of(getpid()) != 0) {
    return state;  // the debugger came first
  }
  state.reset();
  ::unlink(file.c_str());  // of an earlier process with this pid
  return map(file, true);
}

std::unique_ptr<DebugState> DebugState::of(const std::string& tree, pid_t pid, bool make) {
  if (!is_there(pid)) return nullptr;
  std::error_code ignored;
  if (make) std::filesystem::create_directory(folder_of(tree), ignored);
  return map(file_of(tree, pid), make);
}

DebugState::~DebugState() { munmap(shared_, sizeof(DebugLayout)); }

void DebugState::add_queue(uint32_t id, const kfd_ioctl_create_queue_args& request) {
  DebuggedQueue& queue = shared_->queues[id];
  queue.ring = request.ring_base_address;
  queue.write_pointer = request.write_pointer_address;
  queue.read_pointer = request.read_pointer_address;
  queue.save_area = request.ctx_save_restore_address;
  queue.gpu_id = request.gpu_id;
  queue.ring_bytes = request.ring_size;
  queue.type = request.queue_type;
  queue.save_area_bytes = request.ctx_save_restore_size;
  queue.control_stack_bytes = request.ctl_stack_size;
  queue.suspended = 0;
  queue.waves = WavesAre::kRunning;
  queue.exceptions = kfd::mask_of(kfd::Exception::kQueueNew);
  queue.exists = 1;
}

void DebugState::raise(kfd::Exception exception) {
  shared_->exceptions |= kfd::mask_of(exception);
  if (is_debugged() && (shared_->reported & kfd::mask_of(exception)) != 0) notify();
}

bool DebugState::raise_queue(uint32_t id, uint64_t exceptions) {
  if (!is_debugged() || (shared_->reported & exceptions) == 0) return false;
  shared_->queues[id].exceptions |= exceptions;
  notify();
  return true;
}

void DebugState::notify() {
  const std::string notifier = "/proc/" + std::to_string(shared_->debugger.load()) + "/fd/" +
                               std::to_string(shared_->notifier.load());
  const int fd = ::open(notifier.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  (void)!::write(fd, ".", 1);
  ::close(fd);
}

void DebugState::wait_for_debugger() {
  const uint32_t before = shared_->runtime_may_go_on;
  raise(kfd::Exception::kProcessRuntime);
  while (is_debugged() && shared_->runtime_may_go_on == before &&
         is_there(shared_->debugger.load())) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

bool DebugState::lost_debugger() {
  if (!is_debugged() || is_there(shared_->debugger.load())) return false;
  for (DebuggedQueue& queue : shared_->queues) queue.suspended = 0;
  shared_->reported = 0;
  shared_->launch_mode = 0;
  shared_->debugger = 0;
  return true;
}

bool DebugState::wait_for_waves(const DebuggedQueue& queue, pid_t process) {
  constexpr int kLookEveryMs = 50, kLongestMs = 10'000;
  for (int waited_ms = 0; waited_ms < kLongestMs; waited_ms += kLookEveryMs) {
    const uint32_t seen = shared_->answers;
    const WavesAre waves = queue.waves;
    if (queue.exists == 0) return false;
    if ((queue.suspended != 0) == (waves != WavesAre::kRunning))
      return waves != WavesAre::kNotSaved;
    const pid_t thread = shared_->answering;
    if (!is_there(process) || (thread != 0 && is_stopped(process, thread))) return false;
    wait_for_change(shared_->answers, seen, kLookEveryMs);
  }
  return false;
}

void DebugState::tell(std::atomic<uint32_t>& count) {
  ++count;
  syscall(SYS_futex, &count, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

void DebugState::wait_for_change(std::atomic<uint32_t>& count, uint32_t seen,
                                 std::optional<int> limit_ms) {
  timespec limit{};
  if (limit_ms) limit = {*limit_ms / 1000, *limit_ms % 1000 * 1'000'000L};
  syscall(SYS_futex, &count, FUTEX_WAIT, seen, limit_ms ? &limit : nullptr, nullptr, 0);
}

}  // namespace softgpu
