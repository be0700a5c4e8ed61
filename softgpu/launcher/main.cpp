// softgpu: creates the tree of a software GPU, starts a command with the library that presents it,
// and exits with the command's status.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>

#include "base/unique_fd.h"
#include "config/config_json.h"
#include "driver/session.h"
#include "launcher/options.h"
#include "launcher/session_folder.h"
#include "record/child.h"
#include "record/command.h"
#include "tree/layout.h"
#include "tree/tree.h"

namespace softgpu {
namespace {

using sonde::ErrorCode;
using sonde::make_error;
using sonde::Result;
using sonde::Status;

constexpr int kPublishEveryMs = 50;
constexpr int kGuardPages = 16;                   // between buffers, if bounds are checked
constexpr int kCannotRun = 126, kNotFound = 127;  // as shells report it

// Next to the tool: PREFIX/bin/softgpu and PREFIX/lib/softgpu/libsoftgpu.so.
Result<std::string> find_library() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto library = self.parent_path().parent_path() / "lib/softgpu/libsoftgpu.so";
  if (error || ::access(library.c_str(), R_OK) != 0) {
    return make_error(ErrorCode::kNotFound, "is missing", library.string(),
                      "softgpu is not installed as a whole");
  }
  return library.string();
}

// Adds the folder with the stand-in for AMD's counter library, for programs where that one is
// missing.
std::string library_path(const std::string& library) {
  const char* given = std::getenv("LD_LIBRARY_PATH");
  const std::string path = given == nullptr ? "" : given;
  if (void* real = ::dlopen("libhsa-amd-aqlprofile64.so", RTLD_LAZY | RTLD_LOCAL)) {
    ::dlclose(real);
    return path;
  }
  const auto folder = std::filesystem::path(library).parent_path() / "aqlprofile";
  return path.empty() ? folder.string() : path + ":" + folder.string();
}

Status begin_log(const std::string& path) {
  if (path.empty()) return sonde::ok_status();
  const sonde::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd.valid()) return sonde::errno_error("cannot write the log", path, errno);
  return sonde::ok_status();
}

// With memory checks, each buffer has pages of its own, separated by guard pages, and the library
// is told of by a tool of the HSA runtime: the innermost, so that it sees each free when it
// happens.
std::string check_environment(const std::string& library) {
  const auto tool = std::filesystem::path(library).parent_path() / "libsoftgpu-hsa.so";
  const auto given = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  std::string additions = "\x1fHSA_DISABLE_FRAGMENT_ALLOCATOR=1";
  if (given("HSA_SVM_GUARD_PAGES").empty())
    additions += "\x1fHSA_SVM_GUARD_PAGES=" + std::to_string(kGuardPages);
  const std::string tools = given("HSA_TOOLS_LIB");
  return additions + "\x1fHSA_TOOLS_LIB=" + tool.string() + (tools.empty() ? "" : " " + tools);
}

// Creates a file that all processes append to; an existing one is never overwritten.
Status begin_new(const std::string& path) {
  if (path.empty()) return sonde::ok_status();
  const sonde::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (fd.valid()) return sonde::ok_status();
  if (errno == EEXIST)
    return make_error(ErrorCode::kInvalidArgument, "already exists", path, "name a new file");
  return sonde::errno_error("cannot write", path, errno);
}

const char* package_of(const std::string& command) {
  if (command == "rocminfo" || command == "rocm-smi" || command == "hipcc") return command.c_str();
  return nullptr;
}

Result<std::string> find_program(const std::string& name) {
  auto file = sonde::record::find_command(name);
  if (!file) {
    sonde::Error error = file.error();
    if (const char* package = package_of(name))
      error.hint = std::string("install the package ") + package;
    return error;
  }
  const std::string reason = sonde::record::untraceable_reason(*file);
  if (!reason.empty()) {
    return make_error(ErrorCode::kUnsupported, "cannot run on a software GPU: " + reason, name,
                      "only dynamically linked 64-bit programs can");
  }
  return file;
}

// The command's wait status.
Result<int> run(const Options& options, const std::string& file, const SessionFolder& folder,
                const std::string& library) {
  SONDE_ASSIGN(auto signals, sonde::record::SignalPipe::open());
  std::string additions = "SOFTGPU_TREE=" + folder.path() + "\x1fSONDE_SYS_ROOT=" + folder.path() +
                          "/sys\x1fLD_PRELOAD+=" + library;
  // For a debugger that the command runs.
  const auto config = read_config(folder.path() + std::string(kConfigFile));
  if (config && !config->waves_path.empty()) additions += "\x1fSOFTGPU_WAVES=" + config->waves_path;
  if (const std::string path = library_path(library); !path.empty())
    additions += "\x1fLD_LIBRARY_PATH=" + path;
  if (options.config.check_memory) additions += check_environment(library);
  const auto environment = sonde::record::merged_environment(environ, additions);
  SONDE_ASSIGN(auto held,
               sonde::record::HeldChild::make(file, options.command, environment, signals));
  SONDE_ASSIGN(const pid_t child, held.release());
  std::optional<Session> session;
  if (options.publish) session.emplace(folder.path() + std::string(kSessionFile));
  int status = 0;
  for (bool ended = false; !ended;) {
    pollfd waiting{signals.fd(), POLLIN, 0};
    if (::poll(&waiting, 1, session ? kPublishEveryMs : -1) < 0 && errno != EINTR) {
      return sonde::errno_error("cannot wait for the command", file, errno);
    }
    if (session) {
      publish_live_files(options.config, folder.path(),
                         [&](uint32_t gpu) { return session->load(gpu); });
    }
    signals.handle(child, [&] { ended = ::waitpid(child, &status, WNOHANG) == child; });
  }
  return status;
}

Result<int> launch(const Options& options) {
  SONDE_ASSIGN(const std::string library, find_library());
  SONDE_ASSIGN(const std::string file, find_program(options.command[0]));
  SONDE_TRY(begin_log(options.attach.empty() ? options.config.log_path : ""));
  if (options.attach.empty()) {
    SONDE_TRY(begin_new(options.config.waves_path));
    SONDE_TRY(begin_new(options.config.instructions_path));
  }
  SONDE_ASSIGN(const SessionFolder folder, SessionFolder::make(options));
  return run(options, file, folder, library);
}

int fail(const sonde::Error& error) {
  std::fprintf(stderr, "softgpu: %s\n", error.to_line().c_str());
  if (error.code == ErrorCode::kNotFound) return kNotFound;
  return error.code == ErrorCode::kUnsupported ? kCannotRun : 1;
}

}  // namespace
}  // namespace softgpu

int main(int argc, char** argv) try {
  sonde::record::occupy_standard_descriptors();
  auto parsed = softgpu::parse_options(argc, argv);
  if (!parsed) return softgpu::fail(parsed.error());
  if (const auto* printout = std::get_if<softgpu::Printout>(&*parsed)) {
    std::fputs(printout->text.c_str(), stdout);
    return printout->exit_status;
  }
  const auto status = softgpu::launch(std::get<softgpu::Options>(*parsed));
  if (!status) return softgpu::fail(status.error());
  if (WIFSIGNALED(*status)) sonde::record::exit_like(0, WTERMSIG(*status));
  sonde::record::exit_like(WEXITSTATUS(*status), 0);
} catch (const std::exception& error) {  // thrown by a library
  std::fprintf(stderr, "softgpu: %s\n", error.what());
  return 1;
}
