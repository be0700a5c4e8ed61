// Access to chunk files whose producers may be writing to them. Used by the drain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "wire/chunk.h"

namespace sonde::record {

// All `size` bytes; what is read later is not older than these.
bool read_at(int fd, void* to, size_t size, uint64_t offset);
bool read_status(const std::string& path, wire::ChunkStatus& header);
// Moves a sealed chunk to the drained state. False if its producer has abandoned it: then it is to
// be deleted.
bool return_chunk(const std::string& path);

}  // namespace sonde::record
