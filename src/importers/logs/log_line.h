// LogLine: one line of the log that HIP writes with AMD_LOG_LEVEL set, taken apart. Read by the
// amd_log importer; the formats are those of ROCm 5 and 6.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sonde::importers {

struct LogLine {
  int level = 0;
  std::string_view file;
  int64_t time_us = 0;
  int64_t pid = 0;           // 0 = the line does not say
  int64_t tid = 0;           // as the log has it: a pthread's address
  std::string_view message;  // without colour codes
};

// nullopt for a line that does not begin as a log line does.
std::optional<LogLine> parse_log_line(std::string_view line);

// "name ( arguments )", as a call is logged when it begins.
struct LoggedCall {
  std::string_view name, arguments;
};
std::optional<LoggedCall> parse_call(std::string_view message);

// "name: Returned hipSuccess : value: duration: 12 us"
struct LoggedReturn {
  std::string_view name, code, value;
  std::optional<int64_t> duration_us;
};
std::optional<LoggedReturn> parse_return(std::string_view message);

// The value after `key` ("grid=", "HWq=") up to one of `ends`, without blanks around it; "" if the
// key is not there.
std::string_view value_after(std::string_view message, std::string_view key,
                             std::string_view ends = ", )");
// "[1048576, 1, 1]" after `key`; false if it is not there.
bool parse_axes(std::string_view message, std::string_view key, int64_t (&axes)[3]);

}  // namespace sonde::importers
