// What the two ways to a Trace share, from an .rpd (load.cpp) and from another tool's file
// (other_tools.cpp): tables of places while rows are read, and the one function that makes a Trace
// of the rows, so that both give the same figures.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "base/numbered.h"
#include "trace/trace.h"

namespace sonde::trace {

// The launch shapes of a trace; index 0 is the unknown one.
class ShapeTable {
 public:
  explicit ShapeTable(Trace& trace);
  uint32_t index(const LaunchShape& shape);

 private:
  struct Hash {
    size_t operator()(const LaunchShape& shape) const;
  };
  std::vector<LaunchShape>* shapes_;
  std::unordered_map<LaunchShape, uint32_t, Hash> index_of_;
};

// Trace::queues, in the order in which they are seen.
class QueueTable {
 public:
  explicit QueueTable(Trace& trace) : queues_(&trace.queues) {}
  uint32_t index(Queue queue) {
    if (!queues_->empty() && queue == last_) return last_index_;
    last_ = queue;
    return last_index_ = numbered(index_of_, *queues_, queue);
  }

 private:
  std::vector<Queue>* queues_;
  std::map<Queue, uint32_t> index_of_;
  Queue last_;
  uint32_t last_index_ = 0;
};

// Trace::threads; processes are given by their index.
class ThreadTable {
 public:
  explicit ThreadTable(Trace& trace) : threads_(&trace.threads) {}
  uint32_t index(int32_t process, int64_t tid) {
    if (!threads_->empty() && process == last_process_ && tid == last_tid_) return last_index_;
    last_process_ = process;
    last_tid_ = tid;
    return last_index_ = numbered(index_of_, *threads_, {process, tid}, Thread{process, tid});
  }

 private:
  std::vector<Thread>* threads_;
  std::map<std::pair<int32_t, int64_t>, uint32_t> index_of_;
  int32_t last_process_ = kNone;
  int64_t last_tid_ = 0;
  uint32_t last_index_ = 0;
};

// What the loaders know only when all is read; not part of the Trace.
struct Raw {
  std::vector<NameId> api_category;  // by row of apis, if `nesting`; then taken into Apis::kind
  std::set<int64_t> gpus;            // that have operations, if Request::gpu chooses one
  // First start and last end of the rows that were read, chosen or not.
  int64_t first_ns = std::numeric_limits<int64_t>::max();
  int64_t last_ns = std::numeric_limits<int64_t>::min();
  uint64_t impossible = 0;  // rows at times that no clock shows (base/possible_span.h); left out
};

// Whether operations of a GPU are loaded: those of a rank's other GPUs are, too, since they show
// how long its program took; arrange() leaves them out.
inline bool wants_gpu(const Request& request, int64_t gpu) {
  return !request.gpu || *request.gpu == gpu || (request.program && request.rank);
}

// Allocations are shown with their time as --from counts it, so from the first operation.
inline bool needs_first_op(const Request& request) {
  return !request.ops && (request.args_of & bit_of(ApiKind::kMemory)) != 0;
}

// Trace::program, not cut: `raw` has the tables that `wanted` names, the others are looked at.
Result<std::optional<Interval>> program_of(store::Reader& reader, const Request& wanted,
                                           const Raw& raw);
// From the start of the first process of a rank to the end of the last, where the file says so.
Result<std::optional<Interval>> lifetime_of_rank(store::Reader& reader, int64_t rank);

// Adds a device, or the name of one that is known without.
void describe_device(Trace& trace, int64_t gpu, std::string_view name, int64_t compute_units);

// The request with all that it implies.
Request completed(const Request& request);

// The rows as they were read become a Trace: domains and classes of names, kinds of calls, links to
// processes; bad rows repaired, rows outside of the window or unwanted taken out, the rest clipped
// and sorted. Shapes are numbered by first use.
void arrange(const Request& request, const Window& window, const Raw& raw, Trace& trace);

}  // namespace sonde::trace
