// One field of a CSV file, quoted only where RFC 4180 needs it.
#pragma once

#include <string>
#include <string_view>

namespace sonde::report {
std::string csv_field(std::string_view text);
}  // namespace sonde::report
