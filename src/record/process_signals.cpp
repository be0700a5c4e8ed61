#include "record/process_signals.h"

#include <cstdlib>
#include <string>

#include "monitor/kept_file.h"
#include "monitor/process_text.h"

namespace sonde::record {

// "SigCgt:\t0000000180014a07": bit N - 1 is signal N.
bool has_signal(pid_t pid, const char* set, int number) {
  const std::string status = monitor::read_text("/proc/" + std::to_string(pid) + "/status");
  const std::string bits(monitor::field_of(status, set));
  return (std::strtoull(bits.c_str(), nullptr, 16) >> (number - 1) & 1) != 0;
}

}  // namespace sonde::record
