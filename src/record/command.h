// The command to record: where it is, whether it can be traced, and its environment.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "record/backend.h"
#include "record/options.h"

namespace sonde::record {

// The file that execvp would run. Error codes correspond to the shell's: kNotFound (127),
// kUnsupported (found but not executable, 126).
Result<std::string> find_command(const std::string& name);

// The command line of a running process; empty if it has ended or may not be read.
std::vector<std::string> command_of(pid_t pid);

// Why nothing can be loaded into this file ("it is statically linked"), or "" if it can. For a
// script, this refers to its interpreter.
std::string untraceable_reason(const std::string& path);

// The SONDE_INJECT value for these backends.
std::string injection_list(const std::vector<const Backend*>& backends, const std::string& session,
                           const std::string& library_folder);

// `environment` ("NAME=VALUE" entries) with the injections merged in.
std::vector<std::string> merged_environment(char* const* environment,
                                            const std::string& injections);

// The command's environment: ours with the injections, and what the options add.
std::vector<std::string> environment_of_command(const Options& options,
                                                const std::string& injections);

}  // namespace sonde::record
