// The logs that a recorded program is asked to write (--hip-log, --miopen-log), and how they get
// into its trace.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/temporary_directory.h"
#include "cli/command.h"
#include "record/options.h"

namespace sonde::cli {

class ProgramLogs {
 public:
  // Adds to `options` what makes the program write them.
  static Result<ProgramLogs> prepare(const Arguments& arguments, record::Options& options);
  // Brings them into the finished trace, and says how many entries there were.
  void append_to(const record::Outcome& outcome, bool quiet) const;

 private:
  std::optional<TemporaryDirectory> folder_;
  bool hip_ = false, miopen_ = false;
};

}  // namespace sonde::cli
