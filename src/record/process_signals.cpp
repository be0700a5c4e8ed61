#include "record/process_signals.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

namespace sonde::record {

// "SigCgt:\t0000000180014a07": bit N - 1 is signal N.
bool has_signal(pid_t pid, const char* set, int number) {
  const std::string head = std::string(set) + ':';
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(head)) continue;
    return (std::strtoull(line.c_str() + head.size(), nullptr, 16) >> (number - 1) & 1) != 0;
  }
  return false;
}

}  // namespace sonde::record
