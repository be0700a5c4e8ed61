#include "driver/debug_state.h"

#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
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

}  // namespace

bool traces(pid_t pid) {
  const pid_t tracer = tracer_of(pid);
  // A thread of this process will do.
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
  ::unlink(file.c_str());  // of an earlier process of this number
  return map(file, true);
}

std::unique_ptr<DebugState> DebugState::of(const std::string& tree, pid_t pid, bool make) {
  if (::access(("/proc/" + std::to_string(pid)).c_str(), F_OK) != 0) return nullptr;
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
  queue.exceptions = kfd::mask_of(kfd::Exception::kQueueNew);
  queue.exists = 1;
}

void DebugState::raise(kfd::Exception exception) {
  shared_->exceptions |= kfd::mask_of(exception);
  const pid_t debugger = shared_->debugger;
  if (debugger == 0 || (shared_->reported & kfd::mask_of(exception)) == 0) return;
  const std::string notifier =
      "/proc/" + std::to_string(debugger) + "/fd/" + std::to_string(shared_->notifier.load());
  const int fd = ::open(notifier.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  (void)!::write(fd, ".", 1);
  ::close(fd);
}

void DebugState::wait_for_debugger() {
  const uint32_t before = shared_->runtime_may_go_on;
  raise(kfd::Exception::kProcessRuntime);
  while (is_debugged() && shared_->runtime_may_go_on == before &&
         ::access(("/proc/" + std::to_string(shared_->debugger.load())).c_str(), F_OK) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace softgpu
