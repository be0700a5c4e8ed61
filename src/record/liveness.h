// Whether the recorded processes are still running. A process is identified by a pidfd; one in
// another pid namespace, whose pid means nothing here, by the chunks that it has mapped.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "base/unique_fd.h"
#include "record/drain.h"

namespace sonde::record {

// A process image that is being traced.
struct TracedProcess {
  uint32_t pid = 0;
  bool other_namespace = false;
  int64_t seen_ns = 0;  // when it was first seen
  UniqueFd handle;
  int denied = 0;          // errno if pidfds are not available here
  bool by_number = false;  // there is no handle: they are not, or too many files are open
};
TracedProcess open_process(const Drain::Live& live);

class Liveness {
 public:
  // True once the process is known to have ended.
  bool has_ended(uint64_t spool, const TracedProcess& process);
  // The same for the last time: by the current state, without waiting for certainty.
  bool has_ended_by_now(uint64_t spool, const TracedProcess& process);
  // Whether one of these, by spool, is not known to have ended; `by_now`: by the current state.
  bool any_runs(const std::map<uint64_t, TracedProcess>& processes, bool by_now);
  // Whether the process image, which nobody has watched, still runs. `pids_are_ours`: its number is
  // one of this pid namespace.
  bool runs(const Drain::Live& live, bool pids_are_ours);
  // Whether any process has the spool's chunks mapped; nullopt if not all processes can be
  // inspected.
  std::optional<bool> is_mapped(uint64_t spool);

 private:
  void look_at_maps();

  std::set<uint64_t> mapped_;  // spools that some process has mapped
  bool all_seen_ = false;      // all processes' maps were readable
  int64_t looked_ns_ = 0;
};

}  // namespace sonde::record
