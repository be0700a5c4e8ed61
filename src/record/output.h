// The trace that a recording goes to: its name, and the file.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "record/options.h"
#include "store/writer.h"

namespace sonde::record {

struct Output {
  store::Writer writer;
  std::string path;
  bool created = false;  // by us, not added to
};

// A name of a report, with its keys filled in, and with the rank in a job of several ranks. %p is
// the calling process.
std::string name_in_job(const std::string& name, const std::vector<std::string>& command);

// New unless --append: an existing file keeps its name and the next free one is taken, or is
// replaced
// (--overwrite) if it is a trace that is finished. `command` is the number of the recorded process.
Result<Output> open_output(const Options& options, pid_t command);

}  // namespace sonde::record
