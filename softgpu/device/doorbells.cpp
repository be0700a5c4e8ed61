#include "device/doorbells.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

// Since Linux 5.19; absent from older headers.
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

namespace softgpu {
namespace {

// A doorbell that was rung past the protection (through another mapping) is noticed after this
// time.
constexpr int64_t kLongestSleepNs = 100'000'000;
// Without protection: short naps after work, then longer ones. Each costs some 10 us of CPU.
constexpr int64_t kShortNapNs = 50'000, kNapNs = 150'000, kLongNapNs = 1'000'000;

int open_userfaultfd() {
  int fd = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
  if (fd < 0) return -1;
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
  if (ioctl(fd, UFFDIO_API, &api) == 0) return fd;
  close(fd);
  return -1;
}

int64_t nap_ns(int64_t idle_ns) {
  if (idle_ns < 10'000'000) return kShortNapNs;
  return idle_ns < 1'000'000'000 ? kNapNs : kLongNapNs;
}

}  // namespace

Doorbells::Doorbells(Mode mode) : wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (mode == Mode::kAuto) fault_fd_ = open_userfaultfd();
}

Doorbells::~Doorbells() {
  disarm();
  if (fault_fd_ >= 0) close(fault_fd_);
  if (wake_fd_ >= 0) close(wake_fd_);
}

void Doorbells::watch(uint32_t gpu, uint64_t address, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (fault_fd_ < 0) return;
  uffdio_register range{};
  range.range = {address, bytes};
  range.mode = UFFDIO_REGISTER_MODE_WP;
  if (ioctl(fault_fd_, UFFDIO_REGISTER, &range) == 0) ranges_.push_back({gpu, address, bytes});
}

void Doorbells::gpu_in_use(uint32_t gpu) {
  std::lock_guard lock(mutex_);
  if (std::find(gpus_.begin(), gpus_.end(), gpu) == gpus_.end()) gpus_.push_back(gpu);
}

// Whether every store to a doorbell will be noticed.
bool Doorbells::complete() {
  std::lock_guard lock(mutex_);
  return !ranges_.empty() && std::all_of(gpus_.begin(), gpus_.end(), [this](uint32_t gpu) {
    return std::any_of(ranges_.begin(), ranges_.end(),
                       [gpu](const Range& range) { return range.gpu == gpu; });
  });
}

bool Doorbells::protect(bool on) {
  std::lock_guard lock(mutex_);
  auto failed = [&](const Range& range) {
    uffdio_writeprotect change{};
    change.range = {range.address, range.bytes};
    change.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0;
    int result = 0;
    do {
      result = ioctl(fault_fd_, UFFDIO_WRITEPROTECT, &change);
    } while (result < 0 && errno == EAGAIN);
    return result < 0;
  };
  // Protecting a range that the process has unmapped fails; it no longer needs watching.
  ranges_.erase(std::remove_if(ranges_.begin(), ranges_.end(), failed), ranges_.end());
  return !ranges_.empty();
}

void Doorbells::arm() {
  if (fault_fd_ >= 0) protect(true);
  armed_ = true;
  sleeping_.store(true, std::memory_order_seq_cst);
}

void Doorbells::disarm() {
  if (!armed_) return;
  armed_ = false;
  sleeping_.store(false, std::memory_order_seq_cst);
  if (fault_fd_ >= 0) protect(false);
  uint64_t count = 0;
  if (read(wake_fd_, &count, sizeof count) < 0) return;  // wake() has not been called
}

bool Doorbells::wait(int64_t timeout_ns, int64_t idle_ns) {
  bool watched = fault_fd_ >= 0 && complete();
  int64_t limit = watched ? kLongestSleepNs : nap_ns(idle_ns);
  timeout_ns = std::clamp<int64_t>(timeout_ns, 0, limit);
  // Otherwise a sleep of 50 us takes twice as long. The timer slack is a property of the thread.
  thread_local bool precise = prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0) == 0;
  static_cast<void>(precise);
  pollfd fds[] = {{wake_fd_, POLLIN, 0}, {fault_fd_, POLLIN, 0}};
  timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  return ppoll(fds, fault_fd_ >= 0 ? 2 : 1, &timeout, nullptr) > 0;
}

void Doorbells::wake() {
  if (!sleeping_.load(std::memory_order_seq_cst)) return;
  uint64_t one = 1;
  if (write(wake_fd_, &one, sizeof one) < 0) return;  // full: it is awake already
}

}  // namespace softgpu
