#include "record/stopped_threads.h"

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "base/time.h"
#include "record/interrupted_call.h"
#include "wire/board.h"

namespace sonde::record {
namespace {

constexpr uint32_t kMostThreads = 32;
constexpr int64_t kStopNs = 200'000'000, kAnswerNs = 200'000'000;

template <typename T>
bool read_at(int fd, T& to, size_t at) {
  return ::pread(fd, &to, sizeof to, static_cast<off_t>(at)) == sizeof to;
}
template <typename T>
bool write_at(int fd, const T& from, size_t at) {
  return ::pwrite(fd, &from, sizeof from, static_cast<off_t>(at)) == sizeof from;
}

// The stop status of a thread; 0: not stopped. Does not consume exits, which only the parent may,
// and we may be it.
int stop_of(pid_t tid) {
  siginfo_t info = {};
  if (::waitid(P_PID, static_cast<id_t>(tid), &info, WSTOPPED | WNOHANG | __WALL) != 0) return 0;
  return info.si_pid == tid ? info.si_status : 0;
}

int wait_for_stop(pid_t tid) {
  int status = 0;
  for (const int64_t end_ns = monotonic_now_ns() + kStopNs; monotonic_now_ns() < end_ns;) {
    if ((status = stop_of(tid)) != 0) break;
    ::usleep(50);
  }
  return status;
}

// Detaches a stopped thread, passing on a signal that stopped it.
void detach(pid_t tid, int status) {
#ifdef __x86_64__
  make_call_again(tid);
#endif
  const bool is_signal = status >> 8 == 0;
  ::ptrace(PTRACE_DETACH, tid, nullptr, static_cast<long>(is_signal ? status : 0));
}

}  // namespace

bool let_go(pid_t tid) {
  const int status = stop_of(tid);
  if (status != 0) detach(tid, status);
  return status != 0 || (::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) != 0 && errno == ESRCH);
}

ThreadStopper::ThreadStopper(const std::string& board_path)
    : file_(::open(board_path.c_str(), O_RDWR | O_CLOEXEC)) {
  set_stops(1);
}

ThreadStopper::~ThreadStopper() { set_stops(0); }

void ThreadStopper::set_stops(uint32_t value) const {
  if (file_.valid()) (void)write_at(file_.get(), value, offsetof(wire::Board, stops));
}

void ThreadStopper::stop_running(int64_t most_ns) {
  if (!file_.valid()) return;
  // In rounds: on a busy machine a thread may take long to stop, and the process to answer.
  constexpr int64_t kBetweenNs = 5'000'000;
  const int64_t until_ns = monotonic_now_ns() + most_ns;
  while (stop_each(until_ns) && monotonic_now_ns() + kBetweenNs < until_ns)
    ::usleep(kBetweenNs / 1000);
}

// False: another round finds no more.
bool ThreadStopper::stop_each(int64_t until_ns) {
  uint32_t count = 0;
  if (!read_at(file_.get(), count, offsetof(wire::Board, thread_count))) return false;
  bool more = false;
  uint32_t tried = 0;
  for (uint32_t i = 0; i < count && i < wire::kBoardThreads && tried < kMostThreads; ++i) {
    wire::BoardThread thread = {};
    const size_t at = offsetof(wire::Board, threads) + i * sizeof thread;
    if (!read_at(file_.get(), thread, at) || monotonic_now_ns() > until_ns) return false;
    if (thread.runs == wire::kThreadBlocked || thread.runs == wire::kThreadStopped) continue;
    const auto tid = static_cast<pid_t>(thread.tid);
    if (!seize(tid)) continue;
    ++tried;
    const int status = wait_for_stop(tid);
    if (status == 0) {
      more = true;
      continue;
    }
    show(tid, i, monotonic_now_ns() + kAnswerNs);
    detach(tid, status);
    std::erase(late_, tid);
    more |= !read_at(file_.get(), thread, at) || thread.runs != wire::kThreadStopped;
  }
  return more;
}

// True once the thread is asked to stop; it is late until it has.
bool ThreadStopper::seize(pid_t tid) {
#ifdef __x86_64__
  if (std::ranges::find(late_, tid) != late_.end()) return true;
  if (::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) return false;
  ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
  late_.push_back(tid);
  return true;
#else
  (void)tid;
  return false;
#endif
}

// The process reads the stack of the stopped thread.
void ThreadStopper::show(pid_t tid, uint32_t place, int64_t until_ns) const {
#ifdef __x86_64__
  user_regs_struct now = {};
  if (::ptrace(PTRACE_GETREGS, tid, nullptr, &now) != 0) return;
  const wire::BoardRegisters registers = {now.rip, now.rsp, now.rbp, now.rbx,
                                          now.r12, now.r13, now.r14, now.r15};
  uint32_t asked = 0, told = 0;
  const int file = file_.get();
  if (!write_at(file, registers, offsetof(wire::Board, stopped)) ||
      !write_at(file, place, offsetof(wire::Board, stopped_place)) ||
      !read_at(file, asked, offsetof(wire::Board, stopped_asked)) ||
      !write_at(file, ++asked, offsetof(wire::Board, stopped_asked))) {
    return;
  }
  while (monotonic_now_ns() < until_ns) {
    if (!read_at(file, told, offsetof(wire::Board, stopped_told))) return;
    if (told == asked) return;
    ::usleep(50);
  }
  // Too late: the thread is about to move on.
  constexpr uint32_t kNone = wire::kBoardThreads;
  (void)write_at(file, kNone, offsetof(wire::Board, stopped_place));
#else
  (void)tid, (void)place, (void)until_ns;
#endif
}

}  // namespace sonde::record
