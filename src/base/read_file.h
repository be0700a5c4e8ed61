// read_file(): a whole file that should be small, of /proc and /sys too, where files have no size.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace sonde {

// What is in an open file from its beginning on, up to 8 MiB, into the beginning of `buffer`, which
// grows and keeps its room. 0 or an errno.
int read_all(int fd, std::string& buffer, size_t& size);

// nullopt, and why: an errno.
std::optional<std::string> read_file(const std::string& path, int* error = nullptr);

}  // namespace sonde
