// The files of the page, which are in the binary: page/README.md says how they are made. A path is
// looked up in a table, so none leads to other files.
#pragma once

#include <optional>
#include <string_view>

#include "http/server.h"

namespace sonde::serve {

// nullopt: the page has no such file.
std::optional<http::Answer> page_file(const http::Request& request);

}  // namespace sonde::serve
