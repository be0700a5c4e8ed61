// What the kernel tells of a process in /proc/PID/stat and /proc/PID/status, for all that ask.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sonde::monitor {

// /proc/PID/stat without the name, which may have any characters.
struct ProcessStat {
  char state = 'X';         // as ps shows it
  int64_t fields[25] = {};  // numbered as in proc(5): from 4, the parent, to 24, the resident pages
  bool has_ended() const { return state == 'Z' || state == 'X'; }
};
std::optional<ProcessStat> parse_stat(std::string_view text);

// The value in a line "NAME: VALUE", as /proc/PID/status and /proc/meminfo have them; "" if there
// is none.
std::string_view field_of(std::string_view text, std::string_view name);
// The same as a number, without what stands behind it; -1 if there is none.
int64_t number_of(std::string_view text, std::string_view name);

}  // namespace sonde::monitor
