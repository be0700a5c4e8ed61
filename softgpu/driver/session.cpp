#include "driver/session.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/time.h"

namespace softgpu {
namespace {

constexpr int64_t kStaleNs = 2'000'000'000;  // a stopped process does not count as load

struct flock byte_lock(int entry) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = entry;
  lock.l_len = 1;
  return lock;
}

uint32_t permille(double share) {
  return static_cast<uint32_t>(std::lround(std::clamp(share, 0.0, 1.0) * 1000));
}

}  // namespace

Session::Session(const std::string& file) {
  own_ = &private_;
  private_.pid = getpid();
  fd_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) return;
  // Extending the file to the same size by several processes is harmless.
  if (ftruncate(fd_, sizeof(Layout)) != 0) return;
  void* at = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (at != MAP_FAILED) shared_ = static_cast<Layout*>(at);
}

Session::~Session() {
  if (shared_ != nullptr) munmap(shared_, sizeof(Layout));
  if (fd_ >= 0) ::close(fd_);
}

bool Session::alive(int entry) const {
  const Entry& candidate = shared_->entries[entry];
  if (candidate.pid.load(std::memory_order_acquire) == 0) return false;
  if (&candidate == own_) return true;
  struct flock lock = byte_lock(entry);
  return fcntl(fd_, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool Session::join() {
  if (shared_ == nullptr) return false;
  for (int i = 0; i < kMost; ++i) {
    struct flock lock = byte_lock(i);
    if (fcntl(fd_, F_OFD_SETLK, &lock) != 0) continue;
    Entry& entry = shared_->entries[i];
    for (Use& use : entry.gpus) {
      use.vram_bytes = use.gtt_bytes = 0;
      use.busy_permille = use.memory_busy_permille = 0;
    }
    own_ = &entry;
    entry.pid.store(getpid(), std::memory_order_release);
    return true;
  }
  return false;
}

bool Session::charge_vram(uint32_t gpu, uint64_t bytes, uint64_t limit) {
  // Adds first and checks afterwards: of two processes, both may be refused the last piece, but
  // they can never both get it.
  own_->gpus[gpu].vram_bytes += bytes;
  if (load(gpu).vram_used_bytes <= limit) return true;
  own_->gpus[gpu].vram_bytes -= bytes;
  return false;
}

void Session::release_vram(uint32_t gpu, uint64_t bytes) { own_->gpus[gpu].vram_bytes -= bytes; }

void Session::add_gtt(uint32_t gpu, int64_t bytes) {
  own_->gpus[gpu].gtt_bytes += static_cast<uint64_t>(bytes);
}

void Session::set_busy(uint32_t gpu, double busy, double memory_busy) {
  Use& use = own_->gpus[gpu];
  use.busy_permille = permille(busy);
  use.memory_busy_permille = permille(memory_busy);
  use.updated_ns = sonde::monotonic_now_ns();
}

GpuLoad Session::load(uint32_t gpu) const {
  GpuLoad sum;
  const int64_t oldest_ns = sonde::monotonic_now_ns() - kStaleNs;
  const auto add = [&](const Use& use) {
    sum.vram_used_bytes += use.vram_bytes;
    sum.gtt_used_bytes += use.gtt_bytes;
    if (use.updated_ns < oldest_ns) return;
    sum.busy += use.busy_permille / 1000.0;
    sum.memory_busy += use.memory_busy_permille / 1000.0;
  };
  if (own_ == &private_) add(private_.gpus[gpu]);
  for (int i = 0; shared_ != nullptr && i < kMost; ++i) {
    if (alive(i)) add(shared_->entries[i].gpus[gpu]);
  }
  sum.busy = std::min(sum.busy, 1.0);
  sum.memory_busy = std::min(sum.memory_busy, 1.0);
  return sum;
}

std::vector<Session::Process> Session::processes() const {
  std::vector<Process> list;
  for (int i = 0; shared_ != nullptr && i < kMost; ++i) {
    if (!alive(i)) continue;
    Process process{.pid = shared_->entries[i].pid};
    for (int gpu = 0; gpu < kMaxGpus; ++gpu) {
      process.vram_bytes[gpu] = shared_->entries[i].gpus[gpu].vram_bytes;
    }
    list.push_back(process);
  }
  return list;
}

}  // namespace softgpu
