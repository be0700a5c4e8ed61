// Calls and their time, and what every report begins with.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "report/report.h"
#include "trace/trace.h"

namespace sonde::analysis {

struct Total {
  int64_t calls = 0;
  int64_t total_ns = 0;
  int64_t min_ns = std::numeric_limits<int64_t>::max();
  int64_t max_ns = 0;
  int64_t mean_ns() const { return calls == 0 ? 0 : total_ns / calls; }  // rounded down

  void add(int64_t duration_ns) {
    ++calls;
    total_ns += duration_ns;
    min_ns = duration_ns < min_ns ? duration_ns : min_ns;
    max_ns = duration_ns > max_ns ? duration_ns : max_ns;
  }
};

// 100 * part / whole; unknown when the whole is nothing.
report::Value percent_of(int64_t part, int64_t whole);
// part / whole, likewise.
report::Value ratio_of(int64_t part, int64_t whole);

// False for files that say when operations began and not how long they ran: logs. Their times are
// not zero, they are not known.
bool has_op_times(const trace::Trace& trace);
// What a table about the time of operations says when it is empty.
const char* no_op_times(const trace::Trace& trace);

// A note where many operations begin before the calls that launched them, so that what calls and
// operations say of each other cannot be trusted; "" where clocks agree.
std::string clocks_text(const trace::Trace& trace);

// A Report with what all analyses say: file, warnings, clipped events.
report::Report begin_report(const char* name, const trace::Trace& trace);

}  // namespace sonde::analysis
