#include "record/command.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>

#include "base/environment_merge.h"
#include "base/strings.h"

namespace sonde::record {

Result<std::string> find_command(const std::string& name) {
  const auto judge = [&name](const std::string& path) -> int {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return 0;
    if (!S_ISREG(info.st_mode)) return name.find('/') != std::string::npos ? 1 : 0;
    return ::access(path.c_str(), X_OK) == 0 ? 2 : 1;
  };
  bool found = false;
  if (name.find('/') != std::string::npos) {
    if (const int verdict = judge(name); verdict == 2) {
      return name;
    } else {
      found = verdict == 1;
    }
  } else {
    const char* path = std::getenv("PATH");
    for (const auto folder : split(path != nullptr ? path : "/usr/bin:/bin", ':')) {
      std::string file = std::string(folder.empty() ? "." : folder) + "/" + name;
      if (const int verdict = judge(file); verdict == 2)
        return file;
      else if (verdict == 1)
        found = true;
    }
  }
  struct stat info {};
  const bool folder = ::stat(name.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  if (found) {
    return make_error(ErrorCode::kUnsupported, folder ? "is a directory" : "is not executable", name);
  }
  return make_error(ErrorCode::kNotFound, "command not found", name);
}

namespace {

std::string script_interpreter(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || line.rfind("#!", 0) != 0) return {};
  const size_t begin = line.find_first_not_of(" \t", 2);
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
}

// Whether an ELF file asks for a dynamic loader; nullopt if it is no 64-bit ELF file.
std::optional<bool> has_loader(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return std::nullopt;
  }
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) break;
    if (segment.p_type == PT_INTERP) return true;
  }
  return false;
}

}  // namespace

std::string untraceable_reason(const std::string& path) {
  std::string file = path;
  for (int depth = 0; depth < 4; ++depth) {
    const std::string interpreter = script_interpreter(file);
    if (interpreter.empty()) break;
    file = interpreter;
  }
  struct stat info {};
  if (::stat(file.c_str(), &info) == 0) {
    const bool changes_user = (info.st_mode & S_ISUID) != 0 && info.st_uid != ::geteuid();
    const bool changes_group = (info.st_mode & S_ISGID) != 0 && info.st_gid != ::getegid();
    if (changes_user || changes_group) return file + " is a setuid or setgid program";
  }
  const auto loader = has_loader(file);
  if (loader && !*loader) return file + " is statically linked";
  return {};
}

std::string injection_list(const std::vector<const Backend*>& backends, const std::string& session,
                           const std::string& library_folder) {
  std::string list = "SONDE_SESSION=" + session;
  // Preloaded in this order: the agent first, so that a backend finds it. Lists grow at the front.
  std::vector<std::string> preloads;
  for (const auto* backend : backends) {
    for (std::string injection : backend->injections) {
      for (size_t at; (at = injection.find("{lib}")) != std::string::npos;) {
        injection.replace(at, 5, library_folder);
      }
      constexpr std::string_view kPreload = "LD_PRELOAD+=";
      if (injection.rfind(kPreload, 0) == 0) {
        preloads.push_back(injection.substr(kPreload.size()));
      } else {
        list += '\x1f' + injection;
      }
    }
  }
  std::string preload = library_folder + "/libsonde-agent.so";
  for (const auto& library : preloads) preload += ":" + library;
  return list + "\x1fLD_PRELOAD+=" + preload;
}

std::vector<std::string> merged_environment(char* const* environment,
                                            const std::string& injections) {
  std::vector<std::string> entries;
  for (; *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, "SONDE_INJECT=", 13) != 0) entries.emplace_back(*environment);
  }
  const char* cursor = injections.c_str();
  InjectItem item;
  while (next_inject_item(&cursor, &item)) {
    const std::string name(item.name, item.name_length);
    const std::string value(item.value, item.value_length);
    bool found = false;
    for (auto& entry : entries) {
      const char* old = value_of(entry.c_str(), item);
      if (old == nullptr) continue;
      found = true;
      if (item.mode == '=') {
        entry = name + "=" + value;
      } else if (item.mode == '+') {
        entry = name + "=" + value + (*old != '\0' ? ":" + std::string(old) : "");
      }
    }
    if (!found) entries.push_back(name + "=" + value);
  }
  entries.push_back("SONDE_INJECT=" + injections);
  return entries;
}

}  // namespace sonde::record
