// The file in which processes announce themselves (wire/FORMAT.md): the only trace of a process
// that records nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "wire/chunk.h"
#include "wire/processes.h"

namespace sonde::record {

struct Announcement {
  wire::ChunkStatus header;
  std::vector<std::byte> record;  // a kProcess
};

class Announced {
 public:
  explicit Announced(const std::string& session) : path_(session + "/" + wire::kProcessesFile) {}
  // The announcements since the last call, in order. Damaged ones are skipped.
  std::vector<Announcement> read_new();

 private:
  std::string path_;
  uint64_t offset_ = 0;
};

}  // namespace sonde::record
