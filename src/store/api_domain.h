// Which API a function belongs to, for files that do not record it (RPD before schema 3). Used by
// the analyses and by the exporters.
#pragma once

#include <string_view>

namespace sonde::store {

// "hip", "hsa", "opencl" ... from the function's name; "" if it is not an API's name.
std::string_view domain_of_api(std::string_view function);

}  // namespace sonde::store
