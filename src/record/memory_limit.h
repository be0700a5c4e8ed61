// How much memory a session directory on tmpfs may take, where pending records take memory away
// from the program that makes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sonde::record {

// Whether files in this folder are kept in memory (tmpfs, ramfs).
bool is_in_memory(const std::string& folder);

// Bytes that can still be used without swapping: on this machine, and in each of this process'
// control groups (version 2, or the memory controller of version 1). nullopt: unknown.
std::optional<uint64_t> available_memory(const std::string& proc = "/proc",
                                         const std::string& cgroup = "/sys/fs/cgroup");

}  // namespace sonde::record
