// Where a command writes its output: a new file or a stream. And the error, with a hint, for a file
// that could not be made.
#pragma once

#include <string>

#include "base/result.h"

namespace sonde {

// "-", which is standard output, or an existing path that is neither a file nor a folder: a pipe, a
// device.
bool is_stream(const std::string& path);

// For output that must be a file, such as a database: an error if `path` is a stream.
Status require_file_name(const std::string& path);

// The error for a file (or folder: `what`) that could not be made; says which folder is missing or
// not writable.
Error not_created(const std::string& what, const std::string& path, int error_number);

}  // namespace sonde
