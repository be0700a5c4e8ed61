// Session: what processes that share a tree know about each other: who uses a GPU, how much memory
// they hold, how busy they keep it. A file in the tree, mapped by all.
//
// A process' entry is valid as long as the process holds a lock on its byte of the file, which the
// kernel releases however the process ends. So no cleanup is needed after a kill.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/pinned.h"
#include "config/config_json.h"
#include "tree/live.h"

namespace softgpu {

class Session : sonde::Pinned {
 public:
  // Without a usable file the session is empty, and only this process' own use counts.
  explicit Session(const std::string& file);
  ~Session();

  // Makes an entry for this process. The descriptor `lock_fd()` must stay open then.
  bool join();
  int lock_fd() const { return fd_; }

  // Adds to this process' use of VRAM, unless the total of all processes would exceed `limit`.
  bool charge_vram(uint32_t gpu, uint64_t bytes, uint64_t limit);
  void release_vram(uint32_t gpu, uint64_t bytes);
  void add_gtt(uint32_t gpu, int64_t bytes);
  void set_busy(uint32_t gpu, double busy, double memory_busy);

  GpuLoad load(uint32_t gpu) const;  // of all processes
  struct Process {
    pid_t pid = 0;
    uint64_t vram_bytes[kMaxGpus] = {};
  };
  std::vector<Process> processes() const;

 private:
  struct Use {
    std::atomic<uint64_t> vram_bytes, gtt_bytes;
    std::atomic<uint32_t> busy_permille, memory_busy_permille;
    std::atomic<int64_t> updated_ns;
  };
  struct Entry {
    std::atomic<int32_t> pid;
    int32_t pad;
    Use gpus[kMaxGpus];
  };
  static constexpr int kMost = 512;
  struct Layout {
    Entry entries[kMost];
  };

  bool alive(int entry) const;

  int fd_ = -1;
  Layout* shared_ = nullptr;
  Entry* own_ = nullptr;
  Entry private_{};  // used if there is no file, or it is full
};

}  // namespace softgpu
