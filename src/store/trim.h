// trim: a smaller .rpd with what happened in a window of time, and everything that belongs to it.
// Used by `sonde trim`.
//
// Calls, operations and values of monitors stay that overlap the window; counters, arrows and
// samples that lie in it. They stay whole, with their ids, also where they reach beyond the
// window's edges. A row of any other table that refers to a call or an operation stays if that
// does; names, arguments and call stacks stay if something refers to them, and the rest of the file
// (processes, devices, notes, clock readings, losses) stays as it is. Files of every version of the
// schema keep their version.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/reader.h"

namespace sonde::store {

struct TrimWindow {  // [start_ns, end_ns) in the file's own times
  int64_t start_ns = std::numeric_limits<int64_t>::min();
  int64_t end_ns = std::numeric_limits<int64_t>::max();
};

struct TrimReport {
  struct Rows {
    int64_t before = 0, after = 0;
  };
  Rows apis, ops;
  std::vector<std::string> notes;  // what could not be kept
};

// What trim() would keep.
Result<TrimReport> count_trimmed(Reader& reader, const TrimWindow& window);

// Writes `output` in one step: it is there complete or not at all. `replace`: it may be there
// already, also as the reader's own file. `origin` is kept in the file as what it was cut from.
Result<TrimReport> trim(Reader& reader, const std::string& output, const TrimWindow& window,
                        const std::string& origin, bool replace);

}  // namespace sonde::store
