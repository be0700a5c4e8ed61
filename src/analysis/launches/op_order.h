// The order in which the program asked for its operations, where it asked for one: operations of a
// stream begin when those before them in it are over, whichever queues of the hardware they run
// on; and HIP's and CUDA's null stream waits for the other streams of its process and GPU, and they
// for it, except those that the program made non-blocking. Used by critical-path, launches and
// queues.
//
// What a file does not say of streams is taken as it ran: by queue and time.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "trace/trace.h"

namespace sonde::analysis {

struct Stream {
  int32_t process = trace::kNone;
  int64_t gpu = trace::kNone;  // of the null stream: each GPU has one
  int64_t handle = 0;       // as the program names it; 0: the null stream; below 0: a thread's own
  bool joins_null = false;  // waits for the null stream, and it for this
};

struct OpOrder {
  static constexpr uint32_t kUnknown = ~uint32_t{0};
  std::vector<Stream> streams;   // by first launch
  std::vector<uint32_t> stream;  // by operation; kUnknown
  // By operation: of what it had to wait for, that which ended last until it began; kNone: nothing.
  std::vector<trace::Row> after;
  // By operation: what it had to wait for, too, and what by its times ended later: queues begin an
  // operation some ns or us before they end the one before, and times are rounded. As a rule kNone.
  std::vector<trace::Row> running;

  // The stream that a call means by a handle. Of the special ones, 0 and 2 are the thread's own
  // where the call is compiled for such (hipLaunchKernel_spt, cudaLaunchKernel_ptsz).
  int64_t handle_of(const trace::Trace& trace, size_t call, int64_t named) const;
  // The operation that ended last of those that a process launched into a stream before a call; for
  // the null stream, with all that it waits for, one for each GPU. Empty if there is none.
  std::vector<trace::Row> last_before(const trace::Trace& trace, int32_t process, int64_t handle,
                                      trace::Row call) const;
  // The first that was launched into the stream by a call or after it; kNone.
  trace::Row first_from(const trace::Trace& trace, int32_t process, int64_t handle,
                        trace::Row call) const;

  std::set<int32_t> numbered;  // processes that count their streams and have no special ones
  // Operations by launch, and of those until each the one that ended last.
  struct Line {
    std::vector<trace::Row> ops, latest;
  };
  std::vector<Line> lines;                                               // by stream
  std::map<std::pair<int32_t, int64_t>, Line> joint;                     // by process and GPU
  std::map<std::pair<int32_t, int64_t>, std::vector<size_t>> of_handle;  // streams, by process
};

// The calls whose arguments say which streams are non-blocking, and where a graph runs.
bool order_wants_args(std::string_view name);
// What launches and queues are told from.
trace::Request launch_needs();

// Needs `links`, `streams` and these arguments. n log n.
OpOrder order_of_ops(const trace::Trace& trace);

}  // namespace sonde::analysis
