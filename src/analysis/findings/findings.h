// What in a trace deserves attention: rules over the figures of the other analyses, each with its
// evidence, what to try, and an estimate of the time that this could save. Used by `sonde check`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/report.h"
#include "trace/trace.h"

namespace sonde::analysis {

// Where a finding can be seen.
struct Place {
  size_t trace = 0;
  int64_t lane = 0;  // the GPU; of a trace without operations another number
  trace::Interval time;
};

struct Finding {
  std::string id;         // "launch-bound": what --fail-on names
  std::string title;      // one sentence
  std::string evidence;   // the figures behind it
  std::string advice;     // what to try, and the command that shows more
  int64_t cost_ns = 0;    // time of GPUs at stake; of threads in a trace without operations
  int64_t saving_ns = 0;  // what of it could be saved, as the rule estimates it
  int64_t wall_ns = 0;    // of all GPUs or threads: what shares are of
  int64_t own_ns = 0;     // of cost_ns, what no finding before it was about
  Place longest;          // the longest time without a break that it is about
  double saving_percentage() const { return percentage(saving_ns); }
  double own_percentage() const { return percentage(own_ns); }
  bool is_notable = false;  // Claim::is_notable
  // What took most of the time gets a line even if no rule says how to save it.
  bool dominates() const {
    const int64_t least_ns = is_notable ? wall_ns / 10 : wall_ns - wall_ns / 2;
    return own_ns > 0 && own_ns >= least_ns;
  }

 private:
  double percentage(int64_t of_ns) const {
    return wall_ns == 0 ? 0 : 100.0 * static_cast<double>(of_ns) / static_cast<double>(wall_ns);
  }
};

// The ids that there are.
std::vector<std::string> finding_ids();

// The steps that the findings are about. Of several processes, which as ranks of a job work on the
// same steps: those of the process with most, and the time of the slowest.
struct Pace {
  int64_t processes = 0;           // that have steps
  bool as_many = true;             // steps in all of them
  int64_t steps = 0, warm_up = 0;  // the latter are the first ones, which were taken out
  int64_t step_ns = 0;             // of the steps that are left: StepPace::ns
  bool host_runs_ahead = false;    // in a process: StepPace
  void join(const Pace& other);    // all but `whole`
  bool of_device = false;          // told from kernels that repeat, not from markers
  // The whole program, if a part of its operations was taken out.
  struct Whole {
    trace::Interval extent;
    int64_t first_op_ns = 0, busy_ns = 0, gpus = 0;
  };
  std::optional<Whole> whole;
};
// Takes out what warm-up steps launched, of each trace that has steps and no window that chose its
// operations. Ranks of a job wait for each other, so a step that is one's warm-up is taken out of
// all. `traces` are those of one question; the paces are by trace.
std::vector<Pace> leave_out_warm_up(std::span<trace::Trace> traces);
Pace leave_out_warm_up(trace::Trace& trace);  // of one
// Of a trace with operations, before some are taken out.
Pace::Whole whole_of(const trace::Trace& trace);

// The findings of traces, one for each file: those that could save at least `least_percentage` of
// the time, the largest saving first. No time is counted for two findings, so that savings never
// add up to more than the whole.
std::vector<Finding> findings_of(std::span<const trace::Trace> traces, double least_percentage);
// All of them, also those that could save nothing if they dominate.
std::vector<Finding> all_findings_of(std::span<const trace::Trace> traces);
// What `sonde check` lists: puts those that could save less than `least_percentage` and do not
// dominate after the others, and returns how many come before them.
size_t put_small_behind(std::vector<Finding>& findings, double least_percentage);
constexpr double kLeastPercentage = 5;  // where nothing else is asked for

trace::Request findings_needs();
// `paces` by trace; `left_out` are findings that are only listed by name and share.
report::Report findings_report(std::span<const trace::Trace> traces, std::span<const Pace> paces,
                               std::span<const Finding> findings,
                               std::span<const Finding> left_out = {});
std::string findings_definition();

}  // namespace sonde::analysis
