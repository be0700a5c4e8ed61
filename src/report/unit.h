// Numbers as people read them: with three significant digits. A column of times has one unit for
// all its rows, so that they can be compared by eye. Machine formats have every digit, and keep
// nanoseconds.
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

// "5,300", "12.9", "0.0432", "1.2e-09"; a whole number has no decimals: "64".
std::string text_of_real(double value);

}  // namespace sonde::report
