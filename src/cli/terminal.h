// What goes to stdout and stderr. A reader that has gone away (sonde top x.rpd | head) ends the
// command quietly; any other failure to write is an error.
#pragma once

#include <string_view>

#include "base/result.h"

namespace sonde::cli {

// Writes all of it and flushes; what would drive a terminal, save our own colours, is taken out
// (base/printable.h). When the reader is gone, exits with status 0 at once.
Status write_stdout(std::string_view text);

// One line "sonde: TEXT", newlines and control characters taken out.
void print_error_line(std::string_view text);

// The exit status of wrong usage, after saying what was wrong.
int usage_error(std::string_view command, const Error& error);

}  // namespace sonde::cli
