// The session directory of a recording: where it is, how large it may grow, what it is for.
#pragma once

#include <string>

#include "base/result.h"
#include "record/options.h"

namespace sonde::record {

// Makes an empty, private directory for a session.
Result<std::string> make_session_dir(const Options& options);
// How many bytes of chunks it may hold.
uint64_t session_limit(const Options& options, const std::string& session);

// The .rpd that the session's records go to, as an absolute path (<session>/output).
Status write_output_name(const std::string& session, const std::string& output);
Result<std::string> read_output_name(const std::string& session);

// Without its control file a directory is no session: that goes last but for what nobody needs, so
// that one whose removal was interrupted can be removed by `sonde recover`.
void remove_session_dir(const std::string& session);

}  // namespace sonde::record
