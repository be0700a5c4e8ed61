// --split-size: one trace as several files, none larger than a viewer takes. The parts follow each
// other in time, and each event is in the part in which it begins.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "export/exporter.h"

namespace sonde::exporting {

struct Part {
  std::string path;
  uint64_t bytes = 0;
  Counts counts;
};

// Writes the window of `options` to `path`, or, where that gets larger than `most_bytes`, to
// trace.part1.pftrace, trace.part2.pftrace ... beside it. A part that holds a single moment may
// still be larger. Not for formats that are folders.
Result<std::vector<Part>> write_split(const Exporter& exporter, store::Reader& reader,
                                      const std::string& path, const Options& options,
                                      uint64_t most_bytes);

}  // namespace sonde::exporting
