// Calls and their time, and what every report begins with.
#pragma once

#include <cstdint>
#include <limits>

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

// A Report with what all analyses say: file, warnings, clipped events.
report::Report begin_report(const char* name, const trace::Trace& trace);

}  // namespace sonde::analysis
