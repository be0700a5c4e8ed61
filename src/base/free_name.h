// The name for a new file: nothing is overwritten silently.
#pragma once

#include <string>
#include <string_view>

namespace sonde {

// `path` if nothing is there, else the first free one of stem-2.ext, stem-3.ext ... `extension` is
// the part of the path that stays at the end (".json.gz"); by default from the last dot on.
std::string free_name(const std::string& path, std::string_view extension = {});

}  // namespace sonde
