// ViewerNumbers: the numbers of processes and threads in formats for viewers. Perfetto keeps pids
// and tids as small positive numbers: what does not fit (a trace of another tool may have any)
// becomes 0 there, and a thread 0 becomes its process's main thread, whose name it takes. Such
// numbers are moved to free ones. Used by the Chrome JSON and the Perfetto exporter, which write
// the real number beside each that was moved.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "export/events/events.h"

namespace sonde::exporting {

class ViewerNumbers {
 public:
  // Numbers that are not a real process's begin here. Linux gives out at most 2^22.
  static constexpr int64_t kFirstFree = 1'000'000'000;

  explicit ViewerNumbers(const Events& events);

  // `pid` and `tid` are those of the file.
  int64_t pid(int64_t pid);
  int64_t tid(int64_t pid, int64_t tid);
  // A number that no process has, or no thread of the process.
  int64_t free_pid();
  int64_t free_tid(int64_t pid);

 private:
  struct Tids {
    std::set<int64_t> taken;
    std::map<int64_t, int64_t> moved;
    int64_t next = kFirstFree;
  };

  std::set<int64_t> taken_pids_;
  std::map<int64_t, int64_t> moved_pids_;
  int64_t next_pid_ = kFirstFree;
  std::map<int64_t, Tids> tids_;  // by pid of the file
};

}  // namespace sonde::exporting
