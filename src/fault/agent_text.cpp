// The layout of AMD's debug agent: queue error or memory fault, then each wave with its registers,
// LDS and surrounding instructions. Scripts that parse that agent's output find its sections here.
#include <fmt/format.h>

#include "base/demangle.h"
#include "fault/text.h"
#include "fault/waves.h"

namespace sonde::fault {

namespace {

constexpr size_t kNameColumns = 16;
constexpr size_t kLineBytes = 16;  // of registers
constexpr size_t kLdsWords = 8;    // per line
const std::string kRule(56, '-');

struct Register {
  std::string name;
  uint64_t value = 0;
  size_t bytes = 4;
};

// "MEMORY_VIOLATION": the names of librocm-dbgapi.
std::string reason_of(const Wave& wave) {
  constexpr uint64_t kAbortTrap = 2, kDebugTrap = 3;
  if (wave.why == "memory_fault") return "MEMORY_VIOLATION";
  if (wave.why == "aperture_violation") return "ADDRESS_ERROR";
  if (wave.why == "illegal_instruction") return "ILLEGAL_INSTRUCTION";
  if (wave.why != "trap") return "NONE";
  return wave.trap == kAbortTrap ? "ASSERT_TRAP" : wave.trap == kDebugTrap ? "DEBUG_TRAP" : "TRAP";
}

void put_registers(std::string& out, const char* name, const std::vector<Register>& registers) {
  out += fmt::format("\n{} registers:\n", name);
  size_t used = 0;
  for (const Register& one : registers) {
    if (used + one.bytes > kLineBytes) {
      out += "\n";
      used = 0;
    }
    out += fmt::format("{:>{}}: {:0{}x}", one.name, kNameColumns, one.value, 2 * one.bytes);
    used += one.bytes;
  }
  if (used != 0) out += "\n";
}

void put_vectors(std::string& out, const char* letter,
                 const std::vector<std::vector<uint32_t>>& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    out += fmt::format("{:>{}}:", fmt::format("{}{}", letter, i), kNameColumns);
    for (size_t lane = 0; lane < rows[i].size(); ++lane) {
      out += fmt::format(" [{}] {:08x}", lane, rows[i][lane]);
    }
    out += "\n";
  }
}

void put_lds(std::string& out, const std::vector<uint8_t>& lds) {
  if (lds.empty()) return;
  out += "\nLocal memory content:";
  for (size_t at = 0; at + 4 <= lds.size(); at += 4) {
    if (at % (4 * kLdsWords) == 0) out += fmt::format("\n    {:#06x}:", at);
    const uint32_t word = static_cast<uint32_t>(lds[at]) | static_cast<uint32_t>(lds[at + 1]) << 8 |
                          static_cast<uint32_t>(lds[at + 2]) << 16 |
                          static_cast<uint32_t>(lds[at + 3]) << 24;
    out += fmt::format(" {:08x}", word);
  }
  out += "\n";
}

void put_state(std::string& out, const Wave& wave) {
  const WaveRegisters registers = registers_of(wave);
  put_registers(out, "system",
                {{"m0", registers.m0},
                 {"status", registers.status},
                 {"trapsts", registers.trapsts},
                 {"mode", registers.mode},
                 {"pc", wave.pc, 8},
                 {"exec", wave.exec, 8},
                 {"vcc", registers.vcc, 8}});
  std::vector<Register> scalars;
  for (size_t i = 0; i < registers.scalars.size(); ++i) {
    scalars.push_back({fmt::format("s{}", i), registers.scalars[i]});
  }
  put_registers(out, "scalar", scalars);
  out += "\nvector registers:\n";
  put_vectors(out, "v", registers.vectors);
  put_vectors(out, "a", registers.accumulators);
  put_lds(out, registers.lds);
}

void put_disassembly(std::string& out, const FaultReport& report, const Wave& wave,
                     const WaveGroup& group) {
  const std::vector<DisassemblyLine>& lines = group.disassembly;
  if (lines.empty()) {
    out += fmt::format("\nCannot access memory at address {:#x}\n", wave.pc);
    return;
  }
  out += fmt::format("\nDisassembly for function {}:\n",
                     demangle(group.function.empty() ? wave.kernel : group.function));
  for (const CodeObject& object : report.code_objects) {
    if (wave.pc - object.base >= object.loaded_bytes) continue;
    out += fmt::format("    code object: {}\n    loaded at: [{:#x}-{:#x}]\n", object.uri,
                       object.base, object.base + object.loaded_bytes);
  }
  out += "    ...\n";
  const DisassemblyLine* previous = nullptr;
  for (const DisassemblyLine& line : lines) {
    const bool new_file = previous == nullptr || previous->file != line.file;
    const bool new_line = new_file || previous->line != line.line;
    if (line.line != 0 && new_file) out += line.file + ":\n";
    if (line.line != 0 && new_line) out += fmt::format("{:<8}{}\n", line.line, line.source);
    out += fmt::format("{}{:#x} <+{}>:    {}\n", line.is_pc ? " => " : "    ", line.address,
                       line.offset, line.text);
    previous = &line;
  }
  out += "    ...\nEnd of disassembly.\n";
}

}  // namespace

std::string agent_text_of(const FaultReport& report, const TextOptions& options) {
  std::string out;
  if (report.kind == "queue error") {
    out += fmt::format("Queue error ({})\n", report.reason);
  } else if (report.kind == "memory fault") {
    out += fmt::format("System event (HSA_AMD_GPU_MEMORY_FAULT_EVENT: {})\nFaulting page: {:#x}\n",
                       report.reason, report.address & ~uint64_t{0xfff});
  }
  size_t number = 0;
  for (const WaveGroup& group : report.waves) {
    for (const Wave& wave : group.waves) {
      const bool runs = wave.why == "demand";
      if (runs && !options.all && report.kind != "state") continue;
      const std::string entry = group.entry == 0
                                    ? std::string("not available")
                                    : fmt::format("{:#x} <{}>", group.entry, demangle(wave.kernel));
      out += fmt::format("{}{}\nwave_{}: pc={:#x} (kernel_code_entry={}) ({})\n",
                         number == 0 ? "" : "\n", kRule, number + 1, wave.pc, entry,
                         runs ? "running" : "stopped, reason: " + reason_of(wave));
      ++number;
      put_state(out, wave);
      put_disassembly(out, report, wave, group);
    }
  }
  if (number != 0 && !report.no_waves.empty()) out += "\n" + report.no_waves + "\n";
  return out;
}

}  // namespace sonde::fault
