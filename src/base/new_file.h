// Where a command writes to: a new file, or what takes bytes as they come. And why a file could not
// be made, with what to do about it.
#pragma once

#include <string>

#include "base/result.h"

namespace sonde {

// "-", which is standard output, or what is there and is neither file nor folder: a pipe, a device.
bool is_stream(const std::string& path);

// Of an output that must be a file, such as a database: `path` is no stream.
Status require_file_name(const std::string& path);

// The error of a file (or folder: `what`) that could not be made: which folder is missing, or may
// not be written to.
Error not_created(const std::string& what, const std::string& path, int error_number);

}  // namespace sonde
