#include "record/child.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>

#include "record/process_signals.h"

namespace sonde::record {

namespace {

constexpr int kHandled[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
// These are ignored, except SIGCHLD, without which we could not learn how the command ended.
constexpr int kTakenOver[] = {SIGPIPE, SIGXFSZ, SIGCHLD};

sigset_t handled_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : kHandled) sigaddset(&set, number);
  return set;
}

bool is_elf(const std::string& path) {
  char magic[SELFMAG] = {};
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd.valid() && ::read(fd.get(), magic, SELFMAG) == SELFMAG &&
         std::memcmp(magic, ELFMAG, SELFMAG) == 0;
}

}  // namespace

Result<SignalPipe> SignalPipe::open() {
  const sigset_t set = handled_set();
  SignalPipe pipe;
  if (::sigprocmask(SIG_BLOCK, &set, &pipe.mask_) != 0) {
    return errno_error("cannot block signals", "", errno);
  }
  for (size_t i = 0; i < std::size(kTakenOver); ++i) {
    struct sigaction action {};
    action.sa_handler = kTakenOver[i] == SIGCHLD ? SIG_DFL : SIG_IGN;
    ::sigaction(kTakenOver[i], &action, &pipe.actions_[i]);
  }
  struct sigaction interrupt {};
  ::sigaction(SIGINT, nullptr, &interrupt);
  pipe.interrupt_ignored_ = interrupt.sa_handler == SIG_IGN;
  pipe.witness_.start();
  pipe.fd_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!pipe.fd_.valid()) return errno_error("cannot watch signals", "", errno);
  return pipe;
}

SignalPipe::~SignalPipe() {
  if (!fd_.valid()) return;
  // Discards late signals, which must not end the tool now.
  signalfd_siginfo info;
  while (::read(fd_.get(), &info, sizeof info) == sizeof info) {
  }
  restore();
}

void SignalPipe::restore() const {
  for (size_t i = 0; i < std::size(kTakenOver); ++i) {
    ::sigaction(kTakenOver[i], &actions_[i], nullptr);
  }
  if (keeps_quit_) ::signal(SIGQUIT, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

bool SignalPipe::handle(pid_t child, const std::function<void()>& on_child) {
  bool interrupted = false;
  signalfd_siginfo info;
  while (::read(fd_.get(), &info, sizeof info) == sizeof info) {
    const int number = static_cast<int>(info.ssi_signo);
    interrupted |= number == SIGINT && !interrupt_ignored_;
    if (number == SIGCHLD) {
      on_child();
    } else if (number == SIGQUIT && keeps_quit_) {
      has_quit_ = true;
    } else if (number == trigger_ && (child <= 0 || !has_signal(child, "SigCgt", number))) {
      has_trigger_ = true;
    } else if (child > 0 &&
               (info.ssi_code == SI_USER || info.ssi_code == SI_QUEUE ||
                info.ssi_code == SI_TKILL) &&
               !witness_.shared_with(child, number)) {
      ::kill(child, number);
    }
  }
  return interrupted;
}

Result<HeldChild> HeldChild::make(const std::string& file,
                                  const std::vector<std::string>& arguments,
                                  const std::vector<std::string>& environment,
                                  const SignalPipe& signals, int stderr_fd) {
  std::vector<char*> argv, envp;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  for (const auto& entry : environment) envp.push_back(const_cast<char*>(entry.c_str()));
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  int go[2], failed[2];
  if (::pipe2(go, O_CLOEXEC) != 0) return errno_error("cannot make a pipe", "", errno);
  UniqueFd may_run(go[0]);
  HeldChild held;
  held.go_ = UniqueFd(go[1]);
  if (::pipe2(failed, O_CLOEXEC) != 0) return errno_error("cannot make a pipe", "", errno);
  held.failed_ = UniqueFd(failed[0]);
  UniqueFd failing(failed[1]);
  held.file_ = file;
  const bool binary = is_elf(file);  // for another architecture, or damaged: no shell could run it
  const pid_t child = ::fork();
  if (child < 0) return errno_error("cannot start a process", file, errno);
  if (child == 0) {
    held.go_.reset();
    char word = 0;
    if (::read(may_run.get(), &word, 1) != 1) ::_exit(0);  // released without permission to run
    signals.restore();
    if (stderr_fd >= 0) ::dup2(stderr_fd, STDERR_FILENO);
    ::execve(file.c_str(), argv.data(), envp.data());
    int failure = errno;
    if (failure == ENOEXEC && !binary) {  // a script without a #! line, which a shell would run
      argv.insert(argv.begin(), const_cast<char*>("/bin/sh"));
      argv[1] = const_cast<char*>(file.c_str());
      ::execve("/bin/sh", argv.data(), envp.data());
    }
    (void)!::write(failing.get(), &failure, sizeof failure);
    ::_exit(127);
  }
  held.pid_ = child;
  return held;
}

HeldChild& HeldChild::operator=(HeldChild&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(file_, other.file_);
  std::swap(go_, other.go_);
  std::swap(failed_, other.failed_);
  return *this;
}

HeldChild::~HeldChild() {
  if (!go_.valid() || pid_ <= 0) return;
  go_.reset();
  ::waitpid(pid_, nullptr, 0);
}

Result<pid_t> HeldChild::release() {
  const char word = 1;
  (void)!::write(go_.get(), &word, 1);  // if it was killed meanwhile, it is found dead later
  go_.reset();
  int failure = 0;
  if (::read(failed_.get(), &failure, sizeof failure) == sizeof failure) {
    ::waitpid(pid_, nullptr, 0);
    Error error = errno_error("cannot be run", file_, failure);
    error.code = ErrorCode::kUnsupported;
    return error;
  }
  return pid_;
}

namespace {

// A shell with job control gives each job a process group, of which its first process is a child of
// the shell. Other programs do not wait for a stopped process, and nothing would let it go on.
bool is_job_in_foreground(pid_t child) {
  const pid_t group = ::getpgrp();
  if (::getpgid(::getppid()) == group || ::getpgid(child) != group) return false;
  const UniqueFd terminal(::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY));
  return terminal.valid() && ::tcgetpgrp(terminal.get()) == group;
}

// By /proc: "4242 (name) T ...".
bool is_stopped(pid_t pid) {
  char path[40], text[512];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = file < 0 ? 0 : ::read(file, text, sizeof text - 1);
  if (file >= 0) ::close(file);
  text[std::max<ssize_t>(bytes, 0)] = 0;
  const char* name_end = std::strrchr(text, ')');
  return name_end != nullptr && std::strncmp(name_end, ") T", 3) == 0;
}

// Lets this process go on when the child does: somebody may let that go on alone. Out of the
// terminal's reach.
[[noreturn]] void watch_stopped(pid_t recorder, pid_t child) {
  constexpr timespec kLook = {0, 20'000'000};
  ::setpgid(0, 0);
  while (::getppid() == recorder) {
    ::nanosleep(&kLook, nullptr);
    if (is_stopped(child)) continue;
    ::kill(recorder, SIGCONT);
    if (!is_stopped(recorder)) break;
  }
  ::_exit(0);
}

}  // namespace

pid_t take_ended(pid_t child, int& status) {
  for (;;) {
    const pid_t pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED);
    if (pid <= 0 || !WIFSTOPPED(status)) return pid;
    if (pid != child || !is_job_in_foreground(child)) continue;
    const pid_t recorder = ::getpid(), watcher = ::fork();
    if (watcher < 0) continue;
    if (watcher == 0) watch_stopped(recorder, child);
    ::raise(SIGSTOP);
    ::kill(child, SIGCONT);
    ::waitpid(watcher, nullptr, 0);
  }
}

void occupy_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    // open() returns the lowest free number, which is this one.
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", O_RDWR | O_CLOEXEC);
  }
}

void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void exit_like(int exit_status, int signal) {
  if (signal != 0) {
    // The command's core dump, if any, has been written; do not write another one.
    const rlimit none = {0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::signal(signal, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
    ::raise(signal);
    ::_exit(128 + signal);
  }
  std::exit(exit_status);
}

}  // namespace sonde::record
