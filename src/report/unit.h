// The unit in which a column of times is shown to people: one for all its rows, so that they can be
// compared by eye, and each with three significant digits. Machine formats keep nanoseconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sonde::report {

enum class TimeUnit { kNanosecond, kMicrosecond, kMillisecond, kSecond };

const char* name_of(TimeUnit unit);  // "us"

// That of the middle value, unless the largest would have more than six digits before the point.
TimeUnit unit_that_fits(std::vector<int64_t> times_ns);

// "4,160", "52.9", "1.07", "0.0529", "<0.001"
std::string text_in(TimeUnit unit, int64_t ns);

}  // namespace sonde::report
