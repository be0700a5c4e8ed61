// Makes the index of an .rpd: one pass over its rows, which go into a file without a name, are
// sorted there and become columns. So it takes little memory, whatever the size of the trace: about
// 80 bytes an event of disk while it runs, and about 30 afterwards. Used by src/serve in a thread
// of its own.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/reader.h"
#include "timeline/index.h"

namespace sonde::timeline {

// Progress, for display; and whether to go on.
struct Progress {
  std::atomic<const char*> what{"opening"};
  std::atomic<double> done{0};  // 0 to 1
  std::atomic<bool> stop{false};
};

using Names = std::vector<std::string>;

// Writes the index to `fd`, an empty file in `folder`, where there must be room. Reads in short
// queries, so that a process which writes the trace meanwhile does not wait; what is added after
// the start may be in it or not. Names of an earlier index of the trace keep their numbers if they
// are given as `known`.
Status build_index(store::Reader& reader, const FileKey& key, int fd, const std::string& folder,
                   Progress& progress, Names known = {});

}  // namespace sonde::timeline
