// Text for HTML, SVG and other XML: the characters that have a meaning there are escaped, control
// characters that XML does not allow become U+FFFD. For element text and for values in double
// quotes.
#pragma once

#include <string>
#include <string_view>

namespace sonde::report {

std::string markup_text(std::string_view text);

}  // namespace sonde::report
