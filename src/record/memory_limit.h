// How much memory a session directory may take that lies in memory: on tmpfs, where records that
// wait take it away from the program that makes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sonde::record {

// Whether files in this folder are kept in memory (tmpfs, ramfs).
bool is_in_memory(const std::string& folder);

// Bytes that may still be used without swapping: by this machine, and by each of this process'
// control groups (version 2, or the memory controller of version 1). nullopt: not known.
std::optional<uint64_t> available_memory(const std::string& proc = "/proc",
                                         const std::string& cgroup = "/sys/fs/cgroup");

}  // namespace sonde::record
