// Collective operations of one or several ranks. Used by `sonde collectives`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"
#include "trace/trace.h"

namespace sonde::analysis {

extern const char* const kCollectivesDefinition;
trace::Request collectives_needs();
bool collectives_want_args(std::string_view name);  // calls that say what a collective is
// One trace for each file; ranks of the same file are told by their processes.
report::Report collectives_report(std::span<const trace::Trace> traces);

// One collective as one rank saw it.
struct Collective {
  size_t member = 0;           // index into Collectives::members
  int32_t gpu = trace::kNone;  // kNone: a call of the host
  std::string group;           // the communicator, as the file names it; "" if it does not
  std::string op;              // "allreduce"; the name as it is, if it is none that is known
  int64_t start_ns = 0, end_ns = 0;
  int64_t bytes = -1;      // the message; -1 = not known
  int64_t group_size = 0;  // 0 = not known
  int64_t sequence = -1;   // number in the group; -1 = not known
  int64_t duration_ns() const { return end_ns - start_ns; }
};

// A process that took part.
struct Member {
  size_t file = 0;
  int32_t process = trace::kNone;
  int64_t rank = 0;  // the file's, or the number of the member
};

struct Collectives {
  std::vector<Member> members;   // by rank
  std::vector<Collective> list;  // by member and start
};
// Kernels of communication libraries; where there are none, the calls of gloo, MPI and UCC.
Collectives find_collectives(std::span<const trace::Trace> traces);

// "nccl:all_reduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL" -> "allreduce"; "" if none is known.
std::string collective_op(std::string_view name);
// Bus bandwidth / algorithm bandwidth of n ranks; nullopt where no such factor is defined.
std::optional<double> bus_factor(std::string_view op, int64_t n);
// Bytes of one element of a type of torch ("BFloat16"); 0 = not known.
int64_t bytes_of_type(std::string_view type);

// The same collective of all ranks, on one clock.
struct Instance {
  std::vector<size_t> parts;  // of Collectives::list, by member
  int64_t latency_ns = 0;     // the shortest duration: who came last did not wait
  int64_t skew_ns = 0;        // last begin - first begin
  int64_t span_ns = 0;        // last end - first begin
  size_t last = 0;            // member that began last
};

struct Matched {
  std::vector<Instance> instances;
  std::vector<int64_t> offset_ns;    // by member: what its clock is ahead of that of member 0
  int64_t residual_ns = 0;           // the median distance of ends on the common clock
  std::vector<std::string> refused;  // which groups could not be matched, and why
};
// By group, number and operation; where numbers are not known by order, if all ranks of a group
// have the same operations with the same sizes.
Matched match_collectives(const Collectives& collectives);

}  // namespace sonde::analysis
