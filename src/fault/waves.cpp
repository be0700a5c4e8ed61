#include "fault/waves.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <tuple>

#include "fault/findings.h"

namespace sonde::fault {

namespace {

constexpr size_t kMostDisassembled = 32;  // limit on places with disassembly

// One program writes these lines, with each key once, so a tree of values is not needed.
std::string_view text_after(std::string_view line, std::string_view key) {
  const std::string quoted = "\"" + std::string(key) + "\": ";
  const size_t at = line.find(quoted);
  return at == std::string_view::npos ? std::string_view() : line.substr(at + quoted.size());
}

std::string text_of_key(std::string_view line, std::string_view key) {
  std::string_view value = text_after(line, key);
  if (value.empty() || value[0] != '"') return {};
  std::string text;
  for (size_t i = 1; i < value.size() && value[i] != '"'; ++i) {
    if (value[i] == '\\' && i + 1 < value.size()) ++i;
    text += value[i];
  }
  return text;
}

uint64_t number_of_key(std::string_view line, std::string_view key) {
  std::string_view value = text_after(line, key);
  if (!value.empty() && value[0] == '"') value.remove_prefix(1);
  return std::strtoull(std::string(value.substr(0, 20)).c_str(), nullptr, 0);
}

std::optional<CheckFinding> read_finding(std::string_view why, const std::string& line) {
  const bool is_one = why == "out_of_bounds" || why == "use_after_free" || why == "race" ||
                      why == "uninitialised_read";
  if (!is_one) return std::nullopt;
  CheckFinding finding;
  finding.kind = why;
  finding.access = text_of_key(line, "access");
  finding.is_local = text_of_key(line, "space") == "lds";
  finding.begin = number_of_key(line, "begin");
  finding.address = number_of_key(line, "address");
  finding.bytes = number_of_key(line, "bytes");
  finding.lane = number_of_key(line, "lane");
  finding.lanes = number_of_key(line, "lanes");
  finding.wave = number_of_key(line, "wave");
  finding.local_bytes = number_of_key(line, "lds_bytes");
  finding.other_pc = number_of_key(line, "other_pc");
  finding.other_wave = number_of_key(line, "other_wave");
  finding.other_lane = number_of_key(line, "other_lane");
  finding.is_scalar = line.find("\"scalar\": true") != line.npos;
  finding.other_is_scalar = line.find("\"other_scalar\": true") != line.npos;
  finding.other_access = text_of_key(line, "other_access");
  finding.kernel_object = number_of_key(line, "kernel_object");
  finding.kernarg = number_of_key(line, "kernarg");
  finding.arguments = text_of_key(line, "arguments");
  return finding;
}

Wave read_wave(const std::string& line) {
  Wave wave;
  wave.pid = static_cast<int64_t>(number_of_key(line, "pid"));
  wave.gpu = static_cast<int>(number_of_key(line, "gpu"));
  wave.time_ns = static_cast<int64_t>(number_of_key(line, "time_ns"));
  wave.group = number_of_key(line, "group");
  wave.number = number_of_key(line, "wave");
  wave.pc = number_of_key(line, "pc");
  wave.offset = number_of_key(line, "offset");
  wave.exec = number_of_key(line, "exec");
  wave.dispatch = number_of_key(line, "dispatch");
  wave.trap = number_of_key(line, "trap");
  wave.why = text_of_key(line, "why");
  wave.kernel = text_of_key(line, "kernel");
  if (wave.kernel.empty()) wave.kernel_object = number_of_key(line, "kernel_object");
  std::string ids(text_after(line, "group_id").substr(0, 80));
  const char* at = ids.c_str() + (ids.empty() ? 0 : 1);
  for (uint64_t& id : wave.group_id) {
    char* end = nullptr;
    id = std::strtoull(at, &end, 10);
    at = *end == ',' ? end + 1 : end;
  }
  wave.finding = read_finding(wave.why, line);
  wave.state = line;
  return wave;
}

// Eight hexadecimal digits per word, as in the file.
std::vector<uint32_t> words_in(std::string_view digits) {
  std::vector<uint32_t> words;
  for (size_t at = 0; at + 8 <= digits.size(); at += 8) {
    words.push_back(static_cast<uint32_t>(
        std::strtoul(std::string(digits.substr(at, 8)).c_str(), nullptr, 16)));
  }
  return words;
}

std::vector<std::vector<uint32_t>> rows_of(std::string_view line, std::string_view key) {
  std::vector<std::vector<uint32_t>> rows;
  std::string_view list = text_after(line, key);
  list = list.substr(0, list.find(']'));
  for (size_t at = 0; (at = list.find('"', at)) != std::string_view::npos;) {
    const size_t end = list.find('"', at + 1);
    if (end == std::string_view::npos) break;
    rows.push_back(words_in(list.substr(at + 1, end - at - 1)));
    at = end + 1;
  }
  return rows;
}

std::vector<uint8_t> bytes_in(std::string_view digits) {
  const auto value = [](char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; };
  std::vector<uint8_t> bytes;
  for (size_t at = 0; at + 2 <= digits.size(); at += 2) {
    bytes.push_back(static_cast<uint8_t>(value(digits[at]) << 4 | value(digits[at + 1])));
  }
  return bytes;
}

const gpu::Operand* address_operand(const gpu::Instruction& instruction) {
  for (size_t i = 0; i < instruction.operand_count; ++i) {
    const gpu::Operand& operand = instruction.operands[i];
    if (operand.field == gpu::Field::kSrc0 && operand.kind == gpu::Operand::Kind::kVector) {
      return &operand;
    }
  }
  return nullptr;
}

// A repeated request may find answers from an earlier one.
void drop_earlier_answers(std::vector<Wave>& waves) {
  std::set<std::tuple<int, uint64_t, uint64_t, uint64_t>> known;
  const auto kept = std::remove_if(waves.rbegin(), waves.rend(), [&known](const Wave& wave) {
    return wave.why == "demand" &&
           !known.emplace(wave.gpu, wave.dispatch, wave.group, wave.number).second;
  });
  waves.erase(waves.begin(), kept.base());
}

}  // namespace

WaveRegisters registers_of(const Wave& wave) {
  const std::string& line = wave.state;
  WaveRegisters registers;
  registers.vcc = number_of_key(line, "vcc");
  registers.m0 = static_cast<uint32_t>(number_of_key(line, "m0"));
  registers.mode = static_cast<uint32_t>(number_of_key(line, "mode"));
  registers.status = static_cast<uint32_t>(number_of_key(line, "status"));
  registers.trapsts = static_cast<uint32_t>(number_of_key(line, "trapsts"));
  registers.scalars = words_in(text_of_key(line, "sgprs"));
  registers.vectors = rows_of(line, "vgprs");
  registers.accumulators = rows_of(line, "agprs");
  registers.lds = bytes_in(text_of_key(line, "lds"));
  return registers;
}

uint32_t wave_scalar(const WaveRegisters& registers, unsigned number) {
  if (number == gpu::kVcc) return static_cast<uint32_t>(registers.vcc);
  if (number == gpu::kVcc + 1) return static_cast<uint32_t>(registers.vcc >> 32);
  return number < registers.scalars.size() ? registers.scalars[number] : 0;
}

uint32_t wave_vector(const WaveRegisters& registers, unsigned number, unsigned lane) {
  return number < registers.vectors.size() && lane < registers.vectors[number].size()
             ? registers.vectors[number][lane]
             : 0;
}

std::vector<Wave> read_waves(const std::string& path, int64_t pid, size_t from, size_t most) {
  std::vector<Wave> waves;
  std::ifstream file(path);
  file.seekg(static_cast<std::streamoff>(from));
  for (std::string line; waves.size() < most && std::getline(file, line);) {
    if (line.rfind("{\"line\": \"state\"", 0) != 0 || line.back() != '}') continue;
    if (static_cast<int64_t>(number_of_key(line, "pid")) == pid) waves.push_back(read_wave(line));
  }
  drop_earlier_answers(waves);
  return waves;
}

void each_sample(const std::string& path, const std::function<void(const PcSample&)>& visit) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (text_of_key(line, "line") != "sample") continue;
    PcSample sample;
    sample.pid = static_cast<int64_t>(number_of_key(line, "pid"));
    sample.gpu = static_cast<int64_t>(number_of_key(line, "gpu"));
    sample.kernel = text_of_key(line, "kernel");
    sample.pc = number_of_key(line, "pc");
    sample.exec = number_of_key(line, "exec");
    visit(sample);
  }
}

// Reads whole lines from `from` on, and moves `from` past them.
template <typename Wanted>
static std::vector<Wave> read_new(const std::string& path, size_t& from, const Wanted& wanted) {
  std::vector<Wave> waves;
  std::ifstream file(path);
  file.seekg(static_cast<std::streamoff>(from));
  for (std::string line; std::getline(file, line) && !file.eof();) {
    from += line.size() + 1;
    if (line.rfind("{\"line\": \"state\"", 0) != 0 || line.back() != '}') continue;
    Wave wave = read_wave(line);
    if (wanted(wave)) waves.push_back(std::move(wave));
  }
  return waves;
}

std::vector<Wave> read_findings(const std::string& path, size_t& from) {
  return read_new(path, from,
                  [](const Wave& wave) { return wave.finding && goes_on(*wave.finding); });
}

std::vector<Wave> read_faulted(const std::string& path, size_t& from) {
  return read_new(path, from, [](const Wave& wave) {
    return wave.finding ? !goes_on(*wave.finding) : wave.why == "memory_fault";
  });
}

std::vector<WaveGroup> group_waves(std::vector<Wave> waves, CodeObjects& code) {
  std::vector<WaveGroup> groups;
  for (Wave& wave : waves) {
    std::optional<size_t> object;
    const gpu::Kernel* kernel =
        wave.kernel_object != 0 ? code.kernel_of(wave.kernel_object, &object) : nullptr;
    if (kernel != nullptr) wave.kernel = kernel->name;
  }
  for (Wave& wave : waves) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const WaveGroup& known) {
      return known.pc == wave.pc && known.why == wave.why && known.kernel == wave.kernel;
    });
    if (group == groups.end()) {
      group = groups.insert(groups.end(), WaveGroup{wave.pc,
                                                    code.entry_of(wave.pc, wave.kernel),
                                                    wave.why,
                                                    wave.kernel,
                                                    code.instruction_at(wave.pc),
                                                    {},
                                                    {},
                                                    {}});
    }
    group->waves.push_back(std::move(wave));
  }
  for (size_t i = 0; i < std::min(groups.size(), kMostDisassembled); ++i) {
    groups[i].function = code.function_of(groups[i].pc);
    groups[i].disassembly = code.disassemble(groups[i].pc);
  }
  return groups;
}

// For FLAT and GLOBAL instructions, whose addresses are in registers.
std::vector<WaveLane> touched_by(const Wave& wave, CodeObjects& code) {
  const auto architecture = code.architecture_at(wave.pc);
  const auto words = code.words_at(wave.pc, 3);
  if (!architecture || words.empty()) return {};
  const auto instruction = gpu::decode(*architecture, words);
  if (!instruction) return {};
  const gpu::Format format = instruction->opcode->format;
  const gpu::Operand* operand = address_operand(*instruction);
  if ((format != gpu::Format::kFlat && format != gpu::Format::kGlobal) || operand == nullptr) {
    return {};
  }
  const WaveRegisters registers = registers_of(wave);
  const auto& modifiers = instruction->modifiers;
  std::vector<WaveLane> lanes;
  for (unsigned lane = 0; lane < 64; ++lane) {
    if ((wave.exec >> lane & 1) == 0) continue;
    uint64_t address = wave_vector(registers, operand->number, lane);
    if (modifiers.scalar_base) {
      address += wave_scalar(registers, *modifiers.scalar_base) |
                 uint64_t{wave_scalar(registers, *modifiers.scalar_base + 1U)} << 32;
    } else {
      address |= uint64_t{wave_vector(registers, operand->number + 1U, lane)} << 32;
    }
    lanes.push_back({lane, address + static_cast<uint64_t>(int64_t{modifiers.offset})});
  }
  return lanes;
}

}  // namespace sonde::fault
