// One field of a CSV file, quoted only where RFC 4180 needs it. Text that a spreadsheet would run
// gets a quote before it, and what would drive a terminal is taken out (base/printable.h).
#pragma once

#include <string>
#include <string_view>

namespace sonde::report {
std::string csv_field(std::string_view text);
}  // namespace sonde::report
