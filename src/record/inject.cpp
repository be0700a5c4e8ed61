#include "record/inject.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/strings.h"
#include "base/time.h"
#include "monitor/kept_file.h"
#include "record/interrupted_call.h"

namespace sonde::record {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kCallNs = 10'000'000'000;  // a call that takes longer will never return
constexpr uint64_t kRedZone = 128;
constexpr uint64_t kStackBytes = 512 * 1024, kArgumentBytes = 8192;
// Between attempts; longer after each that has stopped a thread for nothing.
constexpr useconds_t kFirstPauseUs = 5000, kLongestPauseUs = 100'000;
constexpr long kRestartFirst = -516, kRestartLast = -512;  // the kernel restarts these system calls

// ---- addresses of functions ----

struct Mapped {
  std::string path;
  uint64_t start = 0, offset = 0;
};

// The first mapping of the file with this name.
std::optional<Mapped> mapping_of(pid_t pid, std::string_view name) {
  const std::string maps = monitor::read_text(fmt::format("/proc/{}/maps", pid));
  for (const auto line : split(maps, '\n')) {
    const size_t slash = line.find('/');
    if (slash == line.npos || line.substr(line.rfind('/') + 1) != name) continue;
    Mapped mapped{std::string(line.substr(slash)), 0, 0};
    unsigned long start = 0, end = 0, offset = 0;
    if (std::sscanf(std::string(line).c_str(), "%lx-%lx %*s %lx", &start, &end, &offset) != 3) {
      continue;
    }
    mapped.start = start;
    mapped.offset = offset;
    return mapped;
  }
  return std::nullopt;
}

template <typename T>
const T* at(const std::string& bytes, uint64_t offset, uint64_t count = 1) {
  if (offset > bytes.size() || count > (bytes.size() - offset) / sizeof(T)) return nullptr;
  return reinterpret_cast<const T*>(bytes.data() + offset);
}

// A function's address in a shared library, relative to its first byte; 0 if it lacks the function.
uint64_t symbol_of(const std::string& elf, std::string_view name) {
  const auto* header = at<Elf64_Ehdr>(elf, 0);
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return 0;
  const auto* sections = at<Elf64_Shdr>(elf, header->e_shoff, header->e_shnum);
  if (sections == nullptr) return 0;
  for (int i = 0; i < header->e_shnum; ++i) {
    const Elf64_Shdr& section = sections[i];
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= header->e_shnum) continue;
    const Elf64_Shdr& names = sections[section.sh_link];
    const uint64_t count = section.sh_size / sizeof(Elf64_Sym);
    const auto* symbols = at<Elf64_Sym>(elf, section.sh_offset, count);
    const auto* text = at<char>(elf, names.sh_offset, names.sh_size);
    if (symbols == nullptr || text == nullptr) continue;
    for (uint64_t k = 0; k < count; ++k) {
      const uint64_t from = symbols[k].st_name;
      if (from >= names.sh_size || symbols[k].st_shndx == SHN_UNDEF) continue;
      const std::string_view own(text + from, ::strnlen(text + from, names.sh_size - from));
      if (own == name) return symbols[k].st_value;
    }
  }
  return 0;
}

// The loader's functions in the process.
struct Loader {
  uint64_t map = 0, unmap = 0;  // mmap and munmap
  uint64_t open = 0, find = 0;  // dlopen and dlsym
};

Result<Loader> loader_of(pid_t pid) {
  Loader loader;
  for (const char* library : {"libc.so.6", "libdl.so.2"}) {  // dlopen is in libdl before glibc 2.34
    const auto mapped = mapping_of(pid, library);
    if (!mapped) continue;
    std::string elf = monitor::read_text(fmt::format("/proc/{}/root{}", pid, mapped->path));
    if (elf.empty())
      elf = monitor::read_text(mapped->path);  // under another root, the path as seen from here
    const auto find = [&](uint64_t& address, const char* name) {
      const uint64_t symbol = symbol_of(elf, name);
      if (symbol != 0 && address == 0) address = mapped->start - mapped->offset + symbol;
    };
    find(loader.map, "mmap");
    find(loader.unmap, "munmap");
    find(loader.open, "dlopen");
    find(loader.find, "dlsym");
  }
  if (monitor::read_text(fmt::format("/proc/{}/maps", pid)).empty()) {
    return make_error(ErrorCode::kIo, "this user may not trace it", std::to_string(pid),
                      "its own user or root may; sonde doctor says what else is needed");
  }
  if (loader.map != 0 && loader.unmap != 0 && loader.open != 0 && loader.find != 0) return loader;
  return make_error(ErrorCode::kUnsupported, "the program has no glibc that can load a library",
                    std::to_string(pid), "a static program cannot be attached to");
}

// ---- a thread that can be stopped ----

// A system call that a thread is in, with its arguments.
struct Call {
  long number = -1;
  std::array<unsigned long, 4> arguments{};
};

// Whether a descriptor is not a file; the dynamic linker reads files with its lock held.
bool is_stream(pid_t pid, unsigned long descriptor) {
  std::error_code error;
  const std::string link =
      fs::read_symlink(fmt::format("/proc/{}/fd/{}", pid, descriptor), error).string();
  for (const char* kind : {"pipe:", "socket:", "anon_inode:", "/dev/pts/", "/dev/tty"}) {
    if (link.starts_with(kind)) return true;
  }
  return false;
}

// A thread in one of these calls holds no lock that loading a library needs. For futex, the
// operation distinguishes waits of condition variables and semaphores from those of locks. A call
// that waits for all of its data would return the part that has come. What goes on after a stop by
// restart_syscall was a sleep, poll() or a wait for a futex with a timeout, which locks do not
// have.
bool is_safe(pid_t pid, const Call& call) {
  constexpr long kFutexBitset = 9, kFutexCommand = 0x7f;
  constexpr std::array kCalls = {
      SYS_poll,        SYS_ppoll,         SYS_select,          SYS_pselect6,        SYS_epoll_wait,
      SYS_epoll_pwait, SYS_epoll_pwait2,  SYS_accept,          SYS_accept4,         SYS_nanosleep,
      SYS_wait4,       SYS_waitid,        SYS_pause,           SYS_clock_nanosleep, SYS_recvfrom,
      SYS_recvmsg,     SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_restart_syscall};
  const auto& arguments = call.arguments;
  if (call.number == SYS_futex) {
    return static_cast<long>(arguments[1] & kFutexCommand) == kFutexBitset;
  }
  if (call.number == SYS_read || call.number == SYS_readv) return is_stream(pid, arguments[0]);
  if (call.number == SYS_recvfrom && (arguments[3] & MSG_WAITALL) != 0) return false;
  if (call.number == SYS_recvmsg && (arguments[2] & MSG_WAITALL) != 0) return false;
  return std::find(kCalls.begin(), kCalls.end(), call.number) != kCalls.end();
}

// Whether a thread waits in a call that it can be taken from, as far as can be seen without
// stopping it.
bool seems_to_wait(pid_t pid, pid_t tid) {
  const std::string text = monitor::read_text(fmt::format("/proc/{}/task/{}/syscall", pid, tid));
  Call call;
  auto& [first, second, third, fourth] = call.arguments;
  unsigned long address = 0;
  return std::sscanf(text.c_str(), "%ld %lx %lx %lx %lx %*x %*x %*x %lx", &call.number, &first,
                     &second, &third, &fourth, &address) == 6 &&
         is_safe(pid, call) && is_after_syscall(tid, address);
}

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/task", pid), error)) {
    const auto tid = parse_int(entry.path().filename().string());
    if (tid) threads.push_back(static_cast<pid_t>(*tid));
  }
  std::sort(threads.begin(), threads.end());  // the first thread most likely has the largest stack
  return threads;
}

// A stopped thread under our control; its state is restored at the end.
class StoppedThread {
 public:
  static Result<StoppedThread> seize(pid_t tid) {
    if (::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) {
      Error error = errno_error("may not be traced", std::to_string(tid), errno);
      error.hint = "root may, or with sysctl kernel.yama.ptrace_scope=0 its user";
      return error;
    }
    StoppedThread thread(tid);
    SONDE_TRY(thread.stop());
    return thread;
  }
  StoppedThread(StoppedThread&& other) noexcept { *this = std::move(other); }
  StoppedThread& operator=(StoppedThread&& other) noexcept {
    std::swap(tid_, other.tid_);
    std::swap(before_, other.before_);
    std::swap(stack_, other.stack_);
    std::swap(text_, other.text_);
    std::swap(state_, other.state_);
    std::swap(mask_, other.mask_);
    std::swap(known_, other.known_);
    return *this;
  }
  ~StoppedThread() {
    if (tid_ == 0) return;
    restore();
    ::ptrace(PTRACE_DETACH, tid_, nullptr, nullptr);
  }

  // Whether it was interrupted in a system call that is made again when it goes on.
  bool is_waiting() const {
    const auto result = static_cast<long>(before_.rax);
    return static_cast<long>(before_.orig_rax) >= 0 && result >= kRestartFirst &&
           result <= kRestartLast &&
           is_safe(tid_, {static_cast<long>(before_.orig_rax),
                          {before_.rdi, before_.rsi, before_.rdx, before_.r10}}) &&
           is_after_syscall(tid_, before_.rip);
  }

  // Maps a stack for the following calls: the thread's own may be small, or almost full. The lowest
  // part is for text.
  Status take_stack(const Loader& loader) {
    constexpr uint64_t kProtection = 3, kFlags = 0x22;  // readable and writable; private, anonymous
    stack_ = (before_.rsp - kRedZone) & ~uint64_t{15};
    SONDE_ASSIGN(const uint64_t memory,
                 call(loader.map, {0, kStackBytes, kProtection, kFlags, ~uint64_t{0}, 0}));
    if (static_cast<int64_t>(memory) < 0 && static_cast<int64_t>(memory) > -4096) {
      return make_error(ErrorCode::kIo, "the process has no memory for it", std::to_string(tid_));
    }
    text_ = memory;
    stack_ = memory + kStackBytes;
    return ok_status();
  }
  void give_back_stack(const Loader& loader) {
    stack_ = (before_.rsp - kRedZone) & ~uint64_t{15};
    (void)call(loader.unmap, {text_, kStackBytes, 0, 0, 0, 0});
  }

  // Copies text into the process; valid until the next call.
  Result<uint64_t> put(const std::string& text) {
    iovec local = {const_cast<char*>(text.c_str()), text.size() + 1};
    iovec remote = {reinterpret_cast<void*>(text_), text.size() + 1};
    if (text.size() < kArgumentBytes && ::process_vm_writev(tid_, &local, 1, &remote, 1, 0) ==
                                            static_cast<ssize_t>(text.size() + 1)) {
      return text_;
    }
    return errno_error("its memory cannot be written", std::to_string(tid_), errno);
  }

  using Arguments = std::array<uint64_t, 6>;
  Result<uint64_t> call(uint64_t function, const Arguments& arguments) {
    user_regs_struct registers = before_;
    registers.rsp = stack_ - sizeof(uint64_t);  // the return address: 0, where there is no code
    const uint64_t nowhere = 0;
    iovec local = {const_cast<uint64_t*>(&nowhere), sizeof nowhere};
    iovec remote = {reinterpret_cast<void*>(registers.rsp), sizeof nowhere};
    ::process_vm_writev(tid_, &local, 1, &remote, 1, 0);
    registers.rip = function;
    registers.rdi = arguments[0];
    registers.rsi = arguments[1];
    registers.rdx = arguments[2];
    registers.rcx = arguments[3];
    registers.r8 = arguments[4];
    registers.r9 = arguments[5];
    registers.rax = 0;
    registers.orig_rax = ~uint64_t{0};  // no system call is to be restarted
    registers.eflags &= ~uint64_t{0x400};
    hold_signals();
    if (::ptrace(PTRACE_SETREGS, tid_, nullptr, &registers) != 0) {
      return errno_error("its registers cannot be set", std::to_string(tid_), errno);
    }
    return run();
  }

 private:
  explicit StoppedThread(pid_t tid) : tid_(tid) {}

  Status stop() {
    ::ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr);
    SONDE_TRY(wait_for_stop());
    iovec all = {state_.data(), state_.size()};
    if (::ptrace(PTRACE_GETREGS, tid_, nullptr, &before_) != 0 ||
        ::ptrace(PTRACE_GETSIGMASK, tid_, sizeof mask_, &mask_) != 0 ||
        ::ptrace(PTRACE_GETREGSET, tid_, NT_X86_XSTATE, &all) != 0) {
      return errno_error("its registers cannot be read", std::to_string(tid_), errno);
    }
    state_.resize(all.iov_len);
    make_call_again(tid_, before_);
    known_ = true;
    return ok_status();
  }

  // Lets pending signals be delivered first.
  Status wait_for_stop() {
    for (;;) {
      SONDE_ASSIGN(const int status, wait());
      if (!WIFSTOPPED(status)) {
        tid_ = 0;
        return make_error(ErrorCode::kNotFound, "the process has ended", "");
      }
      if (WSTOPSIG(status) == SIGTRAP && status >> 16 == PTRACE_EVENT_STOP) return ok_status();
      if (status >> 16 == PTRACE_EVENT_STOP) {
        return make_error(ErrorCode::kUnsupported, "it is stopped", std::to_string(tid_));
      }
      ::ptrace(PTRACE_CONT, tid_, nullptr, WSTOPSIG(status));
    }
  }

  // Blocks signals during our call: a handler of the program might never return. Except SIGSEGV, by
  // which a call ends: if it were blocked, the kernel would reset its handler.
  void hold_signals() {
    constexpr uint64_t kSegv = uint64_t{1} << (SIGSEGV - 1);
    uint64_t most = ~kSegv;
    ::ptrace(PTRACE_SETSIGMASK, tid_, sizeof most, &most);
  }

  Result<int> wait() const {
    const int64_t end = monotonic_now_ns() + kCallNs;
    for (int status = 0;;) {
      const pid_t got = ::waitpid(tid_, &status, __WALL | WNOHANG);
      if (got == tid_) return status;
      if (got < 0) return errno_error("cannot be waited for", std::to_string(tid_), errno);
      if (monotonic_now_ns() > end) {
        return make_error(ErrorCode::kIo, "a call in the process does not return",
                          std::to_string(tid_));
      }
      ::usleep(100);
    }
  }

  // Runs until the call returns to address 0. Other signals are passed on.
  Result<uint64_t> run() {
    for (long pass_on = 0;;) {
      ::ptrace(PTRACE_CONT, tid_, nullptr, pass_on);
      auto waited = wait();
      if (!waited) {
        ::ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr);
        (void)wait();
        return std::move(waited).error();
      }
      if (!WIFSTOPPED(*waited)) {
        tid_ = 0;
        return make_error(ErrorCode::kNotFound, "the process has ended", "");
      }
      user_regs_struct now = {};
      ::ptrace(PTRACE_GETREGS, tid_, nullptr, &now);
      if (WSTOPSIG(*waited) == SIGSEGV && now.rip == 0) return now.rax;
      pass_on = (*waited >> 16) == 0 ? WSTOPSIG(*waited) : 0;
    }
  }

  void restore() {
    if (!known_) return;
    iovec all = {state_.data(), state_.size()};
    ::ptrace(PTRACE_SETREGSET, tid_, NT_X86_XSTATE, &all);
    ::ptrace(PTRACE_SETREGS, tid_, nullptr, &before_);
    ::ptrace(PTRACE_SETSIGMASK, tid_, sizeof mask_, &mask_);
  }

  pid_t tid_ = 0;
  uint64_t stack_ = 0, text_ = 0;
  uint64_t mask_ = 0;   // blocked signals
  bool known_ = false;  // the registers it was stopped with are known
  user_regs_struct before_ = {};
  std::vector<char> state_ = std::vector<char>(16384);  // all other registers
};

Result<StoppedThread> stop_a_thread(pid_t pid, int64_t patience_ns) {
  const int64_t end = monotonic_now_ns() + patience_ns;
  for (useconds_t pause_us = kFirstPauseUs; monotonic_now_ns() < end; ::usleep(pause_us)) {
    if (::kill(pid, 0) != 0 && errno == ESRCH) {
      return make_error(ErrorCode::kNotFound, "there is no such process", std::to_string(pid));
    }
    bool stopped = false;
    for (const pid_t tid : threads_of(pid)) {
      if (!seems_to_wait(pid, tid)) continue;
      SONDE_ASSIGN(auto thread, StoppedThread::seize(tid));
      if (thread.is_waiting()) return thread;
      stopped = true;  // for nothing: it had just gone on
    }
    if (stopped) pause_us = std::min(2 * pause_us, kLongestPauseUs);
  }
  return make_error(ErrorCode::kUnsupported,
                    "none of its threads came to wait in a system call, so the library cannot be "
                    "loaded safely",
                    std::to_string(pid), "try again, or start it with sonde record");
}

Result<int> load_and_call(StoppedThread& thread, const Loader& loader, const std::string& library,
                          const std::string& name, const std::string& argument) {
  constexpr uint64_t kNow = 2;  // RTLD_NOW | RTLD_LOCAL
  SONDE_ASSIGN(const uint64_t path, thread.put(library));
  SONDE_ASSIGN(const uint64_t handle, thread.call(loader.open, {path, kNow, 0, 0, 0, 0}));
  if (handle == 0) {
    return make_error(ErrorCode::kUnsupported, "it cannot load " + library, "",
                      "it may be in a container that has no such file");
  }
  SONDE_ASSIGN(const uint64_t symbol, thread.put(name));
  SONDE_ASSIGN(const uint64_t function, thread.call(loader.find, {handle, symbol, 0, 0, 0, 0}));
  if (function == 0) {
    return make_error(ErrorCode::kUnsupported, "it has another version of Sonde in it", "");
  }
  SONDE_ASSIGN(const uint64_t text, thread.put(argument));
  SONDE_ASSIGN(const uint64_t result, thread.call(function, {text, 0, 0, 0, 0, 0}));
  return static_cast<int>(result);
}

}  // namespace

Result<int> call_in_process(pid_t pid, const std::string& library, const std::string& name,
                            const std::string& argument, int64_t patience_ns) {
  SONDE_ASSIGN(const Loader loader, loader_of(pid));
  SONDE_ASSIGN(auto thread, stop_a_thread(pid, patience_ns));
  SONDE_TRY(thread.take_stack(loader));
  auto result = load_and_call(thread, loader, library, name, argument);
  thread.give_back_stack(loader);
  return result;
}

}  // namespace sonde::record
