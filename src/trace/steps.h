// Steps: the iterations of a program, as windows that figures can be given for. Found by markers
// or, without markers, by kernels that repeat.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/trace.h"

namespace sonde::trace {

struct Step {
  std::string name;  // "ProfilerStep#6"
  Interval time;
  int32_t process = kNone;  // index into Trace::processes: of operations of this process only
  int32_t thread = kNone;   // index into Trace::threads: whose marker it is
};

struct Steps {
  std::vector<Step> steps;  // by process and start; those of one process do not overlap
  std::string source;       // how they were found, as a sentence; "" = not at all
  bool of_device = false;   // their times are those of kernels, not of code that launched them
  // Threads whose markers are steps, also where these are left out.
  std::set<uint32_t> threads;
};

// The ranges of markers whose label matches `pattern`, an extended regular expression; ranges that
// overlap the step before are not steps, and `source` counts those of other threads. "" takes
// ProfilerStep#N, else the markers of inference servers (execute_..., step[...]; only if most of
// the GPUs' time was launched in them, which needs `links` to be known), else the period that is
// detected in the kernels of each process, or without operations the ranges "step 7" or
// "iteration_7" that the main thread goes through one after the other. Needs `nesting`, and `ops`
// for the period.
Result<Steps> find_steps(const Trace& trace, const std::string& pattern);

// What a range such as "train step 7" or "iteration_7" has before its number; "": it is none.
std::string_view iteration_stem(std::string_view name);

// To which step each operation belongs, whenever it ran: the one of its process in which the call
// that launched it began, or, with `of_device`, in which it began itself. What a thread with steps
// of its own launches belongs to no other thread's. By row of Trace::ops, an
// index into steps or kNone. Needs `links`.
std::vector<Row> step_of_ops(const Trace& trace, const Steps& steps);

// The period of a sequence: the smallest p for which seq[i] == seq[i + p] holds for nearly all i
// of its second half; 0 if there is none.
size_t period_of(std::span<const NameId> sequence);

}  // namespace sonde::trace
