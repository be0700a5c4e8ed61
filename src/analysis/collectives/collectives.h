// Collective operations of one or several ranks. Used by `sonde collectives`.
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
  size_t member = 0;  // index into Collectives::members
  size_t file = 0;    // of `row`
  int32_t process = trace::kNone;
  trace::Row row = trace::kNone;  // of Trace::ops; kNone: a call of the host
  int64_t gpu = trace::kNone;     // kNone: a call of the host
  std::string group;         // the communicator, by a name that all its ranks share; "": unknown
  std::string communicator;  // its handle in this process, if a call of RCCL told it
  std::string op;            // "allreduce"; the name itself, if it is unknown
  int64_t start_ns = 0, end_ns = 0;
  int64_t bytes = -1;      // the message; -1 = not known
  int64_t group_size = 0;  // 0 = not known
  int64_t sequence = -1;   // number in the group; -1 = not known
  int64_t duration_ns() const { return end_ns - start_ns; }
};

// Who took part: a process, or each of its GPUs where it communicates on several. One that was
// recorded in several files is one member (analysis/recorded_ranks.h).
struct Member {
  size_t file = 0;  // the first
  int32_t process = trace::kNone;
  int64_t rank = 0;            // the file's, or the number of the member
  int64_t gpu = trace::kNone;  // kNone: the process as a whole
};
std::string name_of(const Member& member);  // "rank 0", "rank 0 (GPU 1)"

struct Collectives {
  std::vector<Member> members;   // by rank and GPU
  std::vector<Collective> list;  // by member and start
};
// Kernels of communication libraries; of processes that have none, the calls of gloo, MPI and UCC.
Collectives find_collectives(std::span<const trace::Trace> traces);

// "nccl:all_reduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL" -> "allreduce"; "" if none is known.
std::string collective_op(std::string_view name);
// A call of a CPU that is a collective: of gloo, MPI, UCC.
bool is_collective_call(std::string_view name);
// Bus bandwidth / algorithm bandwidth of n ranks; nullopt where no such factor is defined.
std::optional<double> bus_factor(std::string_view op, int64_t n);
// No rank can leave these before all have arrived. The root of a broadcast may be done long before
// the others arrive, a sender before its receiver, and any rank of an unknown operation.
bool leaves_together(const Collective& one);
// Bytes of one element of a type of torch ("BFloat16"); 0 = not known.
int64_t bytes_of_type(std::string_view type);

constexpr size_t kNobody = ~size_t{0};

// The same collective of all ranks of a group, on one clock.
struct Instance {
  std::vector<size_t> parts;       // of Collectives::list, by member
  bool is_compared = false;        // two parts or more, on one clock
  std::vector<int64_t> waited_ns;  // of each part: from its start to the last one until its end
  int64_t all_waited_ns() const {
    return std::accumulate(waited_ns.begin(), waited_ns.end(), int64_t{0});
  }
  int64_t latency_ns = 0;      // the shortest duration: who came last did not wait
  int64_t skew_ns = 0;         // last start - first start; 0 if not compared
  int64_t span_ns = 0;         // last end - first start; if not compared, the longest duration
  int64_t uncertainty_ns = 0;  // begins nearer together than this are a tie
  // The member that began last; kNobody: a tie, or not all waited for it.
  size_t last = kNobody;
  int64_t late_ns = 0;  // last start - the one before it; 0 in a tie
};

// Members that share collectives which none leaves before all have arrived, directly or through
// others: only they have a common clock.
struct ClockGroup {
  std::vector<size_t> members;  // the first has the clock that the others are compared with
  int64_t instances = 0;
  int64_t residual_ns = 0;     // the median distance of ends on the common clock
  int64_t uncertainty_ns = 0;  // 90 % of the ends lie no further apart
};

struct Matched {
  std::vector<Instance> instances;
  std::vector<ClockGroup> clocks;
  std::vector<size_t> clock_of;       // by member: index into clocks
  std::vector<int64_t> offset_ns;     // by member: what its clock is ahead of the first one's there
  std::vector<std::string> refused;   // which groups could not be matched, and why
  std::vector<std::string> left_out;  // collectives that not all ranks of a group have
  // Rows of Collectives::list that are such, of groups of which the rest is matched.
  std::vector<size_t> unmatched;
};
// By group, number and operation. Where numbers are not known, the longest common run of operations
// and sizes says how far apart clocks are, and what ends together belongs together
// (align.cpp).
Matched match_collectives(const Collectives& collectives);

// The rows of `b` that are the same collectives as those of `a`: pairs of places in both,
// ascending. Ends of a collective coincide up to a constant difference of the clocks. Linear, times
// the shifts that are tried.
std::vector<std::pair<size_t, size_t>> align_rows(const Collectives& all, std::span<const size_t> a,
                                                  std::span<const size_t> b);

// Solves offset_ns, clocks and what follows from them (clocks.cpp). Needs parts.
void put_on_one_clock(const Collectives& all, Matched& matched);

// By process of a trace: how far its clock is ahead of that of the first rank with which it shares
// collectives; 0 if that is less than can be known. Clocks of different machines do not agree.
std::vector<int64_t> clock_offsets(const trace::Trace& trace);

// By collective: whether part of its time may be an unknown wait for others, because the other
// ranks are missing, not matched, or not on one clock.
std::vector<bool> may_hide_waits(const Collectives& all, const Matched& matched);

// How late a member came to the collectives of one group.
struct LatenessInGroup {
  size_t worst_group = kNobody;             // an instance of it
  int64_t in_group = 0, last_in_group = 0;  // how many collectives; to how many it alone came last
  int64_t late_in_group_ns = 0;             // sum of Instance::late_ns of these
  int64_t least_ns = 0, most_ns = 0;        // the least and the most of it
  int64_t caused_in_group_ns = 0;           // what the others waited in these
  int64_t waits_in_group_ns = 0;            // what all waited in all
  bool is_often_last = false, is_late = false;
};

// What a member cost those that waited for it, and what it waited itself. Of its groups the one
// that counts is the one in which it is late and the others waited longest for it.
struct Lateness : LatenessInGroup {
  size_t member = 0;
  int64_t collectives = 0;      // that it took part in, compared with others
  int64_t last = 0;             // in which it alone came last
  int64_t late_ns = 0;          // sum of Instance::late_ns of these: what being in time would save
  int64_t caused_ns = 0;        // what the others waited in these, all of them together
  int64_t waited_ns = 0;        // what it waited for others
  int64_t maybe_waited_ns = 0;  // of late_ns, what it may have waited in what may_hide_waits()
};
std::vector<Lateness> lateness(const Collectives& all, const Matched& matched);  // by member
// In its worst group: "1.50 ms late on average, from 150 us to 2.85 ms", the range only where it is
// wide, as of a rank that becomes slower; and that others "waited 48.0 ms for it", or also ",
// of 50.0 ms in the group", if it is not often last there, and ", and 64.0 ms in all its groups".
std::string lateness_text(const Lateness& one);
std::string waited_text(const Lateness& one);

// The members that others wait for, the costliest first: in one of their groups they come last in
// at least 60 % of the collectives, or others wait for them for most of the time that is waited
// there, by more than chance explains; and they come late by more than they wait for others
// themselves, or may have waited (a member that is late because it waited for a third does not
// count). Empty if none is late.
std::vector<Lateness> stragglers(const Collectives& all, const Matched& matched);
// Those that are late likewise, but may themselves have waited.
std::vector<Lateness> unproven_stragglers(const Collectives& all, const Matched& matched);

// What the member that came last to an instance had itself waited for others since all of the
// instance's members last left a collective together. Nothing if that is less than three quarters
// of its lateness, if nobody came last, or if they have left none together before.
struct EarlierWait {
  int64_t waited_ns = 0;               // 0: nothing
  int64_t most_ns = 0;                 // for one member; may overlap with other waits
  size_t member = kNobody;             // that member; kNobody: several that came together
  const Instance* instance = nullptr;  // the last one in which it waited for that member
};
EarlierWait wait_before(const Collectives& all, const Matched& matched, const Instance& instance);
// "", or ", after it had waited 1.60 ms for rank 5, which had waited 2.00 ms for rank 7".
std::string causes_text(const Collectives& all, const Matched& matched, const Instance& instance);

// What the time of collectives is, summed over the ranks (rate.cpp). The parts add up
// to total_ns. `sonde check` uses it to tell "it waits" from "the link is slow" and "overlap it".
struct CommunicationTime {
  int64_t total_ns = 0;
  int64_t waiting_ns = 0;   // before the last rank of the group came
  int64_t slow_ns = 0;      // transfers at less than half the usual rate: beyond the usual time
  int64_t held_ns = 0;      // the same where the other ranks are not known: waiting, or a slow link
  int64_t unknown_ns = 0;   // the rest where the other ranks are not known: waiting, or a transfer
  int64_t transfer_ns = 0;  // all else: what can only be hidden behind computation
  // The largest of the five, by these names: "waiting", "slow link", "waiting or a slow link",
  // "waiting or transfer", "transfer"; nullptr without any time.
  const char* verdict() const;
};
CommunicationTime communication_time(const Collectives& all, const Matched& matched);

// Bytes a nanosecond on the bus (GB/s), by Instance; 0 = not known. The usual rate of its class,
// which is its group, operation, number of ranks and size (by powers of two), is the median of
// those of four instances or more, else 0.
struct Rates {
  std::vector<double> bus, usual, peak;
  bool is_slow(size_t instance) const { return bus[instance] * 2 < usual[instance]; }
};
Rates bus_rates(const Collectives& all, const Matched& matched);
int64_t ranks_of(const Collectives& all, const Instance& instance);  // told, or seen

}  // namespace sonde::analysis
