// What changed between two traces. Used by `sonde diff`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/report.h"
#include "trace/trace.h"

namespace sonde::analysis {

extern const char* const kDiffDefinition;
trace::Request diff_needs();
report::Report diff_report(const trace::Trace& a, const trace::Trace& b);

// The wall time of a trace, cut into parts that add up to it (wall.cpp). Linear, but each thread
// costs a pass over all idle time.
struct WallParts {
  int64_t wall_ns = 0;
  std::map<std::string, int64_t> busy_ns;  // by operation: a GPU worked
  std::map<std::string, int64_t> idle_ns;  // by call: no GPU worked, and a thread was in this call
  int64_t nothing_ns = 0;                  // neither
};
WallParts wall_parts(const trace::Trace& trace);

constexpr size_t kFewestSteps = 3;  // that have a median

// Steps of the process that has most; nullopt for fewer than kFewestSteps.
struct StepTimes {
  int64_t count = 0, first_ns = 0;
  int64_t step_ns = 0;           // StepPace::ns
  bool host_runs_ahead = false;  // StepPace
  double mean_ns = 0;            // of those after a warm-up
  bool has_warm_up = false;      // the first ones take far longer, and hardly any other
  bool of_device = false;
};
std::optional<StepTimes> step_times(const trace::Trace& trace);

// A kernel that A has and B has not, and one the other way round, that stand at the same place: the
// same kernels before and after them on their queue, and as many calls a step; only where one such
// pair is possible.
struct Renamed {
  std::string a, b;
  int64_t calls_a = 0, calls_b = 0, a_ns = 0, b_ns = 0;
};
std::vector<Renamed> renamed_kernels(const trace::Trace& a, const trace::Trace& b, int64_t steps_a,
                                     int64_t steps_b);

// Operators and markers by the path of those around them; node 0 is the root (tree.cpp).
struct PathTree {
  struct Node {
    std::string name;
    std::vector<size_t> children;  // by first call
    int64_t calls = 0;
    int64_t ops = 0, gpu_ns = 0;  // operations that belong to the node itself, and not to a child
  };
  std::vector<Node> nodes = {Node{}};
};
PathTree path_tree(const trace::Trace& trace);

struct AlignedNode {
  static constexpr size_t kNone = ~size_t{0};
  size_t a = kNone, b = kNone;  // nodes of the two trees; kNone: only in the other
  size_t parent = kNone;        // in the list
};
// Parents come before their children; the roots are first. Children of an aligned pair are aligned
// if their names are equal, else if the names share a word and no alignment in the same order has
// more pairs.
std::vector<AlignedNode> align(const PathTree& a, const PathTree& b);

// "ProfilerStep#12" -> "ProfilerStep#": what is only a number of an iteration is no difference.
std::string without_number(const std::string& name);

}  // namespace sonde::analysis
