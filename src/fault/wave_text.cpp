// A wave's registers for people, eight words a line: the widest line has 80 columns.
#include <fmt/format.h>

#include <algorithm>

#include "fault/waves.h"

namespace sonde::fault {

namespace {

constexpr size_t kWords = 8;  // per line

// `label` returns the text in front of the line that begins with word `at`.
template <typename Label>
void put_words(std::string& out, const std::vector<uint32_t>& words, Label label) {
  for (size_t at = 0; at < words.size(); at += kWords) {
    out += fmt::format("    {:<4}", label(at));
    for (size_t i = at; i < std::min(at + kWords, words.size()); ++i) {
      out += fmt::format(" {:08x}", words[i]);
    }
    out += "\n";
  }
}

void put_vectors(std::string& out, const char* title, char letter,
                 const std::vector<std::vector<uint32_t>>& rows) {
  if (!rows.empty()) out += fmt::format("    {}, eight lanes a line\n", title);
  for (size_t number = 0; number < rows.size(); ++number) {
    put_words(out, rows[number], [&](size_t lane) {
      return lane == 0 ? fmt::format("{}{}", letter, number) : fmt::format("[{}]", lane);
    });
  }
}

std::vector<uint32_t> words_of(const std::vector<uint8_t>& bytes) {
  std::vector<uint32_t> words((bytes.size() + 3) / 4);
  for (size_t i = 0; i < bytes.size(); ++i) words[i / 4] |= uint32_t{bytes[i]} << 8 * (i % 4);
  return words;
}

}  // namespace

std::string registers_text(const Wave& wave) {
  const WaveRegisters registers = registers_of(wave);
  std::string out =
      fmt::format("    m0 {:08x}  mode {:08x}  status {:08x}  trapsts {:08x}\n    vcc {:016x}\n",
                  registers.m0, registers.mode, registers.status, registers.trapsts, registers.vcc);
  if (!registers.scalars.empty()) out += "    scalar registers\n";
  put_words(out, registers.scalars, [](size_t number) { return fmt::format("s{}", number); });
  put_vectors(out, "vector registers", 'v', registers.vectors);
  put_vectors(out, "accumulators", 'a', registers.accumulators);
  if (!registers.lds.empty()) out += "    LDS of the group, by offset\n";
  put_words(out, words_of(registers.lds), [](size_t at) { return fmt::format("{:x}", 4 * at); });
  return out;
}

}  // namespace sonde::fault
