// Variables of the environment, as the tool reads them.
#pragma once

#include <cstdlib>
#include <string>

namespace sonde {

// "" where the variable is not set.
inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// ~/.cache/sonde/NAME, or where XDG_CACHE_HOME says; "" where neither is known.
inline std::string cache_folder(const char* name) {
  if (const std::string cache = environment("XDG_CACHE_HOME"); cache.starts_with('/')) {
    return cache + "/sonde/" + name;
  }
  const std::string home = environment("HOME");
  return home.starts_with('/') ? home + "/.cache/sonde/" + name : "";
}

}  // namespace sonde
