// Recording: starts a command with the agent in it, drains its spools while it runs, and finishes
// the .rpd.
#pragma once

#include "base/result.h"
#include "record/options.h"

namespace sonde::record {

// Runs the whole recording. A failure of the command is an Outcome, not an Error; an Error means
// that the command was not started.
Result<Outcome> run(Options options);

// Finishes the session in `session`, whose recorder or program was killed. The rows that the
// recorder had committed are in the file named by the session, or in `trace` if that was moved;
// with `output` they are copied there first. Without the file that has them, nothing is changed
// unless `output` is given. Removes the session directory when everything is in the .rpd. If
// nothing is left to recover, as where that removal was interrupted at its end, the outcome has no
// path.
Result<Outcome> recover(const std::string& session, const std::string& output,
                        const std::string& trace = "");

}  // namespace sonde::record
