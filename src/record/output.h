// The output trace of a recording: its name and the file.
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
  bool created = false;  // by us, rather than added to
};

// A report's name with its keys filled in, and with the rank in a job of several ranks. %p is the
// calling process.
std::string name_in_job(const std::string& name, const std::vector<std::string>& command);

// A new file unless --append: if the name exists, the next free name is taken, or (--overwrite) the
// file is replaced if it is a finished trace. `command` is the pid of the recorded process.
Result<Output> open_output(const Options& options, pid_t command);

}  // namespace sonde::record
