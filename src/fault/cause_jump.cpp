#include <fmt/format.h>

#include <cstdio>

#include "fault/cause_parts.h"
#include "fault/waves.h"

namespace sonde::fault {

bool jump_cause(FaultReport& report) {
  const WaveGroup* stopped = stopped_waves(report);
  if (stopped == nullptr || stopped->waves.empty()) return false;
  // "s_swappc_b64 s[30:31], s[18:19]", "s_setpc_b64 s[18:19]": the last operand is the target.
  const std::string& text = stopped->instruction;
  const bool is_jump = text.starts_with("s_swappc_b64") || text.starts_with("s_setpc_b64");
  const size_t at = text.rfind("s[");
  unsigned number = 0;
  if (!is_jump || at == std::string::npos ||
      std::sscanf(text.c_str() + at, "s[%u:", &number) != 1) {
    return false;
  }
  const WaveRegisters registers = registers_of(stopped->waves.front());
  const uint64_t to = wave_scalar(registers, number) | uint64_t{wave_scalar(registers, number + 1)}
                                                           << 32;
  report.cause = fmt::format("{}: {} calls a function at {:#x}, where there is no code",
                             to == 0 ? "null function pointer" : "wrong function pointer",
                             kernel_text(report), to);
  report.advice =
      "a function table that was not filled, or a function whose address the host has taken: on "
      "the GPU it has another";
  return true;
}

}  // namespace sonde::fault
