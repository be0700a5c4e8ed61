// Whether the processes that are recorded still run. A process is known by a descriptor of it; one
// of another pid namespace, whose pid means nothing here, by the chunks that it has mapped.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "base/unique_fd.h"
#include "record/drain.h"

namespace sonde::record {

// A process image that is being traced.
struct TracedProcess {
  uint32_t pid = 0;
  bool other_namespace = false;
  int64_t seen_ns = 0;  // first
  UniqueFd handle;
  int denied = 0;  // errno: descriptors of processes are not to be had here
};
TracedProcess open_process(const Drain::Live& live);

class Liveness {
 public:
  // True once the process is known to be gone.
  bool has_ended(uint64_t spool, const TracedProcess& process);
  // The same for the last time: by what is so now, without waiting for certainty.
  bool has_ended_by_now(uint64_t spool, const TracedProcess& process);
  // Whether some process has the spool's chunks mapped; nullopt: not every process shows that.
  std::optional<bool> is_mapped(uint64_t spool);

 private:
  void look_at_maps();

  std::set<uint64_t> mapped_;  // spools whose chunks some process has mapped
  bool all_seen_ = false;      // no process' maps were closed to us
  int64_t looked_ns_ = 0;
};

}  // namespace sonde::record
