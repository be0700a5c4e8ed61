// What threads of the program did when: by the innermost call that was recorded, or by the nearest
// one around it that has a purpose of its own, such as a data loader. Used by idle.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/time/work_launchers.h"
#include "trace/host_work.h"
#include "trace/trace.h"

namespace sonde::analysis {

// Something that a thread did, and for how long.
struct HostDeed {
  trace::HostWork work = trace::HostWork::kNothing;
  trace::NameId label = 0;  // of the call; that of "" if there was none
  int64_t time_ns = 0;
  int64_t longest_ns = 0;    // without an interruption by another call; all, if operators compute
  bool with_others = false;  // of several calls with this purpose; `label` is the longest's
};

// "data loading: enumerate(DataLoader)#...", "freeing or allocating: cudaFree and others"
std::string text_of(const trace::Trace& trace, const HostDeed& deed);

class HostTime {
 public:
  // Needs `nesting`, and looks at `links` and `blocks` where they are there. Linear.
  explicit HostTime(const trace::Trace& trace);

  // What a thread did in a time, without order; the lengths add up to that of the time.
  std::vector<HostDeed> deeds_in(uint32_t thread, trace::Interval time) const;
  // The same between two operations, of the thread that launched the second, or what that was made
  // ahead for (WorkLaunchers). If it did nothing or was blocked for half of the time, and another
  // that launched the second or the first did something for half of it, of that one: a backward
  // pass has its own thread, which begins when the other has prepared it. An operation may be
  // kNone; one with an unknown launch counts as none. `launch`: the call that launches the second,
  // where that is none.
  std::vector<HostDeed> deeds_between(trace::Row first, trace::Row second, trace::Interval time,
                                      trace::Row launch = trace::kNone) const;
  // The longest of these. Calls that share a purpose, such as freeing and allocating, count as one.
  // If that is less than half of the time, the function of Python in which the launching thread
  // was for half of it or more, with all that it called; of several the one that it was in least.
  // A function that goes on until the launch does not count: it is the loop around all this. Where
  // there is none, or the longest are operators, all operators that compute on the host count as
  // one, if they take half of the time: they run for 50 us or more without an interruption, and end
  // before the launch.
  HostDeed main_deed_between(trace::Row first, trace::Row second, trace::Interval time,
                             trace::Row launch = trace::kNone) const;
  const WorkLaunchers& launchers() const { return launchers_; }
  // The times in which a thread was in calls that wait for a device; normalised.
  const trace::IntervalSet& waits_of(uint32_t thread) const { return waits_[thread]; }

 private:
  struct Part {
    trace::Interval time;
    trace::Row api;
  };
  static std::vector<Part>::const_iterator first_part_after(const std::vector<Part>& parts,
                                                            int64_t time_ns);
  trace::Row launch_of(trace::Row op) const;
  HostDeed longest_of(const std::vector<HostDeed>& all) const;
  std::map<trace::Row, int64_t> times_before(trace::Row launch, trace::Interval time) const;
  HostDeed function_of_half(trace::Row launch, trace::Interval time) const;
  HostDeed operators_of_half(trace::Row launch, trace::Interval time) const;
  void find_purposes();
  void find_waits();
  bool is_of_process(trace::Row thread, trace::Row of) const;

  const trace::Trace& trace_;
  WorkLaunchers launchers_;
  std::vector<trace::HostWork> work_;     // by call
  std::vector<trace::Row> named_;         // by call: the call whose name says what it does
  std::vector<trace::Row> parent_;        // by call: the innermost that it lies in, or kNone
  std::vector<std::vector<Part>> parts_;  // by thread and time
  std::vector<trace::IntervalSet> waits_;
};

}  // namespace sonde::analysis
