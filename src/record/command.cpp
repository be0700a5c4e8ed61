#include "record/command.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>

#include "base/environment_merge.h"
#include "base/strings.h"
#include "monitor/kept_file.h"

namespace sonde::record {

namespace {

enum class FileKind { kNone, kFolder, kNotExecutable, kExecutable };

FileKind kind_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return FileKind::kNone;
  if (S_ISDIR(info.st_mode)) return FileKind::kFolder;
  return S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0 ? FileKind::kExecutable
                                                                    : FileKind::kNotExecutable;
}

}  // namespace

Result<std::string> find_command(const std::string& name) {
  bool found = false;
  if (name.find('/') != std::string::npos) {
    const FileKind kind = kind_of(name);
    if (kind == FileKind::kExecutable) return name;
    if (kind == FileKind::kFolder) {
      return make_error(ErrorCode::kUnsupported, "is a directory", name);
    }
    found = kind == FileKind::kNotExecutable;
  } else {
    const char* path = std::getenv("PATH");
    for (const auto folder : split(path != nullptr ? path : "/usr/bin:/bin", ':')) {
      std::string file = std::string(folder.empty() ? "." : folder) + "/" + name;
      const FileKind kind = kind_of(file);
      if (kind == FileKind::kExecutable) return file;
      found |= kind == FileKind::kNotExecutable;
    }
  }
  if (found) return make_error(ErrorCode::kUnsupported, "is not executable", name);
  return make_error(ErrorCode::kNotFound, "command not found", name);
}

namespace {

constexpr size_t kScriptLine = 256;  // the kernel reads no more than this either

std::string script_interpreter(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line(kScriptLine, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<size_t>(file.gcount()));
  line.resize(std::min(line.find('\n'), line.size()));
  if (line.rfind("#!", 0) != 0) return {};
  const size_t begin = line.find_first_not_of(" \t", 2);
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
}

enum class Loading { kUnknown, kPossible, kStatic, kOtherMachine };

// How a file's libraries are loaded; kUnknown if it is not a complete ELF file.
Loading loading_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return Loading::kUnknown;
  }
  if (header.e_ident[EI_CLASS] == ELFCLASS32) return Loading::kOtherMachine;
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return Loading::kUnknown;
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return Loading::kUnknown;
    if (segment.p_type == PT_INTERP) return Loading::kPossible;
  }
  return Loading::kStatic;
}

}  // namespace

std::vector<std::string> command_of(pid_t pid) {
  const auto text = monitor::read_file("/proc/" + std::to_string(pid) + "/cmdline");
  std::vector<std::string> words;
  if (!text) return words;
  for (const auto word : split(*text, '\0')) words.emplace_back(word);
  while (!words.empty() && words.back().empty()) words.pop_back();
  return words;
}

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
  switch (loading_of(file)) {
    case Loading::kStatic:
      return file + " is statically linked";
    case Loading::kOtherMachine:
      return file + " is a 32-bit program";
    default:
      return {};
  }
}

namespace {

// Replaces "{env:NAME}" by the variable's current value.
void expand_variable(std::string& injection) {
  const size_t at = injection.find("{env:");
  const size_t end = injection.find('}', at);
  if (at == std::string::npos || end == std::string::npos) return;
  const char* value = std::getenv(injection.substr(at + 5, end - at - 5).c_str());
  injection.replace(at, end + 1 - at, value != nullptr ? value : "");
}

}  // namespace

std::string injection_list(const std::vector<const Backend*>& backends, const std::string& session,
                           const std::string& library_folder) {
  std::string list = "SONDE_SESSION=" + session;
  // AddressSanitizer's shared runtime aborts if other libraries are preloaded before it, unless
  // this option is set. Its interceptors work behind ours.
  list +=
      "\x1f"
      "ASAN_OPTIONS+=verify_asan_link_order=0";
  // Several backends may share a library.
  std::set<std::string> known;
  // Preloaded in this order: the agent first, so that backends find it. Lists are prepended to.
  std::vector<std::string> preloads;
  for (const auto* backend : backends) {
    for (std::string injection : backend->injections) {
      for (size_t at; (at = injection.find("{lib}")) != std::string::npos;) {
        injection.replace(at, 5, library_folder);
      }
      expand_variable(injection);
      if (!known.insert(injection).second) continue;
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
  const MergeRoom room = merge_room(environment, injections.c_str());
  std::vector<char*> entries(room.entries);
  std::string text(room.bytes, '\0');
  merge_environment(environment, injections.c_str(), entries.data(), text.data());
  std::vector<std::string> merged;
  for (char** entry = entries.data(); *entry != nullptr; ++entry) merged.emplace_back(*entry);
  return merged;
}

std::vector<std::string> environment_of_command(const Options& options,
                                                const std::string& injections) {
  std::vector<std::string> environment;
  if (injections.empty()) {
    for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  } else {
    environment = merged_environment(environ, injections);
  }
  for (const std::string& added : options.environment) {
    const std::string name = added.substr(0, added.find('=') + 1);
    std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(name); });
    environment.push_back(added);
  }
  return environment;
}

}  // namespace sonde::record
