#include "record/attachable.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "base/strings.h"
#include "base/unique_fd.h"
#include "monitor/kept_file.h"
#include "monitor/process_text.h"
#include "record/process_signals.h"

namespace sonde::record {

namespace {

namespace fs = std::filesystem;

// "" if the process has ended or may not be read.
std::string text_of(pid_t pid, const char* file) {
  return monitor::read_text(fmt::format("/proc/{}/{}", pid, file));
}

// 0 if it is not there, as in an older kernel.
int64_t number_of(const std::string& status, std::string_view name) {
  return parse_int(monitor::field_of(status, name)).value_or(0);
}

Error refusal(pid_t pid, const std::string& what, const std::string& hint = "") {
  return make_error(ErrorCode::kUnsupported, what, std::to_string(pid), hint);
}

bool is_of_the_kernel(const monitor::ProcessStat& stat) {
  constexpr int kFlags = 9;
  constexpr int64_t kKernelThread = 0x00200000;  // PF_KTHREAD
  return (stat.fields[kFlags] & kKernelThread) != 0;
}

// Whether it has another architecture than this program.
bool is_foreign(pid_t pid) {
  const UniqueFd file(::open(fmt::format("/proc/{}/exe", pid).c_str(), O_RDONLY | O_CLOEXEC));
  Elf64_Ehdr header = {};
  if (!file.valid() || ::read(file.get(), &header, sizeof header) < EI_NIDENT + 4) return false;
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64);
}

// The number of its seccomp filters; before Linux 5.9 only whether there is one.
int64_t filters_of(const std::string& status) {
  const bool counted = !monitor::field_of(status, "Seccomp_filters").empty();
  return number_of(status, counted ? "Seccomp_filters" : "Seccomp");
}

// The first process of the container that the process is in; 0 if it is not in a container, or if
// that process is not visible.
pid_t first_of_container(pid_t pid) {
  std::error_code error;
  const auto space = fs::read_symlink(fmt::format("/proc/{}/ns/pid", pid), error);
  if (error || space == fs::read_symlink("/proc/self/ns/pid", error)) return 0;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const auto other = parse_int(entry.path().filename().string());
    if (!other || fs::read_symlink(entry.path() / "ns/pid", error) != space) continue;
    const std::string status = text_of(static_cast<pid_t>(*other), "status");
    const auto numbers = split(monitor::field_of(status, "NSpid"), '\t');
    if (!numbers.empty() && numbers.back() == "1") return static_cast<pid_t>(*other);
  }
  return 0;
}

// Whether it has seccomp filters of its own: those often kill a process for an unexpected system
// call. Filters inherited from its parent or container let programs load libraries.
bool is_in_own_sandbox(pid_t pid, const std::string& status) {
  const int64_t own = filters_of(status);
  if (own == 0) return false;
  const auto parent = static_cast<pid_t>(number_of(status, "PPid"));
  if (parent != 0 && filters_of(text_of(parent, "status")) >= own) return false;
  const pid_t first = first_of_container(pid);
  return first == 0 || (first != pid && filters_of(text_of(first, "status")) < own);
}

// A process in a container, or under another root, may have other files under the same names.
Status sees(pid_t pid, const std::string& file) {
  std::error_code error;
  const bool found = fs::exists(fmt::format("/proc/{}/root{}", pid, file), error);
  if (found || error) return ok_status();
  return refusal(pid, "it does not see " + file,
                 "it is in a container or under another root: that has to have Sonde, and a folder "
                 "that both see for --spool-dir");
}

}  // namespace

Status attachable(pid_t pid, const std::vector<std::string>& files) {
  const auto stat = monitor::parse_stat(text_of(pid, "stat"));
  const std::string status = text_of(pid, "status");
  if (!stat || stat->has_ended()) return refusal(pid, "it has ended");
  if (stat->state == 'T') {
    return refusal(pid, "it is stopped", fmt::format("kill -CONT {} resumes it", pid));
  }
  if (is_of_the_kernel(*stat)) return refusal(pid, "it is a kernel thread");
  if (const auto tracer = static_cast<pid_t>(number_of(status, "TracerPid")); tracer != 0) {
    const std::string name(trim(text_of(tracer, "comm")));
    return refusal(pid, fmt::format("process {} ({}) traces it already", tracer, name),
                   "a process has one tracer at a time: end that, or detach it");
  }
  if (is_foreign(pid)) return refusal(pid, "it is not an x86-64 program");
  if (has_signal(pid, "SigIgn", SIGSEGV))
    return refusal(pid, "it ignores SIGSEGV, which attaching needs");
  if (number_of(status, "Seccomp") == 1 || is_in_own_sandbox(pid, status)) {
    return refusal(pid, "it is in a sandbox of its own (seccomp), which might end it when attached",
                   "start it with sonde record");
  }
  for (const std::string& file : files) SONDE_TRY(sees(pid, file));
  return ok_status();
}

}  // namespace sonde::record
