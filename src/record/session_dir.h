// The session directory of a recording: its place, its size limit, its output.
#pragma once

#include <string>

#include "base/result.h"
#include "record/options.h"

namespace sonde::record {

// Makes an empty, private directory for a session.
Result<std::string> make_session_dir(const Options& options);
// The limit on all of its chunks, in bytes.
uint64_t session_limit(const Options& options, const std::string& session);

// The .rpd that the session's records go to, as an absolute path: <session>/output or, when all
// else is removed, the end of the control file.
Status write_output_name(const std::string& session, const std::string& output);
Result<std::string> read_output_name(const std::string& session);

// The control file, which makes a directory a session, is removed last, and the name of the trace
// with it, so that `sonde recover` can remove a session whose removal was interrupted. Its owner
// may have put a link in its place, which is not followed.
void remove_session_dir(const std::string& session);

}  // namespace sonde::record
