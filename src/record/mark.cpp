// A mark from outside. The agent is loaded into a child of ours, which thereby becomes a process of
// the recording like any other.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "record/backend.h"
#include "record/live.h"
#include "sonde/sonde.h"
#include "wire/session.h"

namespace sonde::record {

namespace {

enum Outcome : int { kMarked, kNoAgent, kNotRecording };

[[noreturn]] void mark_as_child(const LiveRecording& recording, const std::string& text) {
  ::setenv("SONDE_SESSION", recording.session.c_str(), 1);
  void* agent = ::dlopen((library_folder() + "/libsonde-agent.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  using Get = const sonde_functions* (*)();
  const auto get =
      agent != nullptr ? reinterpret_cast<Get>(::dlsym(agent, "sonde_functions_v1")) : nullptr;
  const sonde_functions* functions = get != nullptr ? get() : nullptr;
  if (functions == nullptr) ::_exit(kNoAgent);
  // If each process has a switch of its own, turn this one on for the mark.
  if (functions->recording() == 0) functions->start();
  if (functions->recording() == 0) ::_exit(kNotRecording);
  functions->mark(0, 0, text.c_str());
  ::_exit(kMarked);
}

}  // namespace

Status mark_recording(const LiveRecording& recording, const std::string& text) {
  const pid_t child = ::fork();
  if (child < 0) {
    return errno_error("cannot make a process for the mark", recording.output, errno);
  }
  if (child == 0) mark_as_child(recording, text);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kMarked) return ok_status();
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotRecording) {
    return make_error(ErrorCode::kUnsupported, "it is switched off, so the mark is not recorded",
                      recording.output, "sonde start switches it on");
  }
  return make_error(ErrorCode::kUnsupported, "the recording could not be joined", recording.output,
                    "it is from another version of Sonde, or has just ended");
}

}  // namespace sonde::record
