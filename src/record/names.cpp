#include "record/names.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <filesystem>

#include "base/strings.h"

namespace sonde::record {

std::optional<Rank> detect_rank(const std::function<const char*(const char*)>& variable) {
  // The launcher closest to the program takes precedence: torchrun inside an srun task, for
  // example.
  static constexpr struct {
    const char *rank, *size;
  } kPairs[] = {{"RANK", "WORLD_SIZE"},
                {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                {"PMIX_RANK", "PMIX_SIZE"},
                {"PMI_RANK", "PMI_SIZE"},
                {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                {"SLURM_PROCID", "SLURM_NTASKS"},
                {"SLURM_PROCID", "SLURM_NPROCS"}};
  const auto number = [&](const char* name) -> std::optional<int64_t> {
    const char* text = variable(name);
    return text != nullptr ? parse_int(text) : std::nullopt;
  };
  for (const auto& pair : kPairs) {
    const auto rank = number(pair.rank);
    const auto size = number(pair.size);
    if (!rank || !size || *rank < 0 || *size < 1 || *rank >= *size) continue;
    return Rank{static_cast<int>(*rank), static_cast<int>(*size)};
  }
  return std::nullopt;
}

namespace {

using GetVariable = std::function<const char*(const char*)>;

std::string first_of(const GetVariable& variable, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = variable(name);
    if (value != nullptr && *value != 0) return value;
  }
  return "0";
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, "_"));
}

std::string launch_time(int64_t seconds) {
  const time_t time = seconds;
  struct tm local {};
  char text[32];
  ::localtime_r(&time, &local);
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d_%H.%M.%S", &local));
}

// nullopt: not a key.
std::optional<std::string> value_of(std::string_view key, const NameFacts& facts,
                                    const GetVariable& variable) {
  const auto tag = [&] {
    if (facts.command.empty()) return std::string();
    return std::filesystem::path(facts.command[0]).filename().string();
  };
  if (key == "pid" || key == "p") return std::to_string(facts.pid);
  if (key == "ppid") return std::to_string(facts.parent_pid);
  if (key == "hostname" || key == "h") return facts.host;
  if (key == "rank" || key == "r") return std::to_string(facts.rank ? facts.rank->rank : 0);
  if (key == "size" || key == "s") return std::to_string(facts.rank ? facts.rank->size : 1);
  if (key == "nid") return first_of(variable, {"SLURM_NODEID", "OMPI_COMM_WORLD_NODE_RANK"});
  if (key == "job" || key == "j") {
    return first_of(variable, {"SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"});
  }
  if (key == "tag") return tag();
  if (key == "launch_time") return launch_time(facts.launch_s);
  std::vector<std::string> words = facts.command;
  if (key == "argv") return joined(words);
  if (!words.empty()) words[0] = tag();
  if (key == "argt") return joined(words);
  if (!words.empty()) words.erase(words.begin());
  if (key == "args") return joined(words);
  return std::nullopt;
}

bool is_letter(std::string_view text, size_t at) {
  return at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) != 0;
}

// The key at the beginning of `text`: its length and its value.
struct Key {
  size_t length = 0;  // 0 = none
  std::string value;
  bool is_rank = false;
};

Key key_at(std::string_view text, const NameFacts& facts, const GetVariable& variable) {
  if (starts_with_any(text, {"%%"})) return {2, "%"};
  const bool long_variable = starts_with_any(text, {"%env{"});
  if (long_variable || starts_with_any(text, {"$env{"})) {
    const std::string_view end = long_variable ? "}%" : "}";
    const size_t close = text.find(end);
    if (close == text.npos) return {};
    const char* value = variable(std::string(text.substr(5, close - 5)).c_str());
    return {close + end.size(), value == nullptr ? "" : value};
  }
  if (text.empty() || text[0] != '%') return {};
  Key key;
  std::string_view name;
  const size_t close = text.find('%', 1);
  std::optional<std::string> value;
  if (close != text.npos && close > 2) {
    name = text.substr(1, close - 1);
    value = value_of(name, facts, variable);
    key.length = close + 1;
  }
  if (!value && is_letter(text, 1) && !is_letter(text, 2)) {
    name = text.substr(1, 1);
    value = value_of(name, facts, variable);
    key.length = 2;
  }
  if (!value) return {};
  key.value = *value;
  std::replace(key.value.begin(), key.value.end(), '/', '_');
  key.is_rank = name == "rank" || name == "r";
  return key;
}

}  // namespace

FilledName fill_name(const std::string& name, const NameFacts& facts,
                     const std::function<const char*(const char*)>& variable) {
  FilledName filled;
  for (size_t at = 0; at < name.size();) {
    const Key key = key_at(std::string_view(name).substr(at), facts, variable);
    if (key.length == 0) {
      filled.name += name[at++];
      continue;
    }
    filled.name += key.value;
    filled.has_keys = true;
    filled.has_rank |= key.is_rank;
    at += key.length;
  }
  return filled;
}

std::string output_of(const std::string& name, const std::optional<Rank>& rank) {
  if (!rank || rank->size <= 1) return name;
  std::filesystem::path path(name);
  const std::string part = fmt::format("rank{}", rank->rank);
  if (path.filename().string().find(part) != std::string::npos) return name;
  path.replace_filename(path.stem().string() + "." + part + path.extension().string());
  return path.string();
}

}  // namespace sonde::record
