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

// The .rpd that the session's records go to, as an absolute path (<session>/output).
Status write_output_name(const std::string& session, const std::string& output);
Result<std::string> read_output_name(const std::string& session);

// Everything of the session is in its trace. The directory gets another name first and loses its
// control file almost last, so that what an interrupted removal leaves is told from a session.
void remove_session_dir(const std::string& session);
// What an interrupted removal has left.
bool is_finished_session(const std::string& path);

}  // namespace sonde::record
