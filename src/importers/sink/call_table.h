// CallTable: the calls of a file by process and correlation number, so that operations of GPUs find
// the one that launched them. A number is one process's own: a file of several ranks has each of
// them several times. Files that do not say which process an operation is of show it on a track (a
// GPU as the file draws it), and a track belongs to one process as a rule: who_launched() finds it.
// Used by the importers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sonde::importers {

class CallTable {
 public:
  struct Call {
    int64_t process = 0;      // whatever distinguishes the file's processes
    int64_t correlation = 0;  // of one process
    int64_t start_ns = 0, end_ns = 0;
    int64_t id = 0;  // what find() returns
  };

  // Calls inside of one with the same number are part of it, and are not kept.
  void add(const Call& call);
  bool empty() const { return calls_.empty(); }
  // In the order in which they come.
  const std::vector<int64_t>& processes() const { return processes_; }

  // The call with this number that launched what a GPU began at `start_ns`: of several the last
  // that had begun by then. 0 or nullptr if the process has none.
  int64_t find(int64_t process, int64_t correlation, int64_t start_ns) const;
  const Call* call(int64_t process, int64_t correlation, int64_t start_ns) const;

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Kept {
    Call call;
    uint32_t more = kNone;  // index into more_, of the first of several with its numbers
  };

  // Where the first call of these is in `slots_`, or the free slot where it belongs.
  size_t slot_of(int64_t process, int64_t correlation) const;
  void grow();

  std::vector<Kept> calls_;
  // The other calls with the same process and correlation number, as indices into calls_. Each
  // begins after the one before has ended.
  std::vector<std::vector<uint32_t>> more_;
  // Indices into calls_, or kNone: open addressing, at most half full, so a power of two. A table
  // of nodes was a tenth of reading a file.
  std::vector<uint32_t> slots_;
  size_t used_slots_ = 0;
  std::vector<int64_t> processes_;
};

// An operation of a file with several processes that does not say which one it is of.
struct TrackedOp {
  uint32_t track = 0;
  int64_t correlation = 0, start_ns = 0;
};

struct Launchers {
  std::vector<const CallTable::Call*> calls;  // of each operation, or nullptr
  uint64_t guessed_tracks = 0;  // that may be of several processes: taken in the order of the file
};

// `track_labels` and `process_labels` are what the file calls them; the latter in the order of
// CallTable::processes(). A track goes to the process that it shares a word with that not all have
// ("[TP01] 0" and "[TP01] 4242"); else to one that made the calls before the operations began, and
// not long before, so that every process that launched has a track where there are enough; else by
// order. On a track of
// several processes each operation goes to the nearest call before it.
Launchers who_launched(const CallTable& calls, std::span<const TrackedOp> ops,
                       std::span<const std::string> track_labels,
                       std::span<const std::string> process_labels);

}  // namespace sonde::importers
