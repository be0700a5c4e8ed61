#include "serve/workers.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <thread>
#include <utility>

#include "base/packed.h"
#include "base/strings.h"
#include "base/time.h"

namespace sonde::serve {
namespace {

constexpr size_t kMostJob = 160 << 10;
constexpr int64_t kGraceNs = 10'000'000'000;  // beyond the time limit, which the worker keeps

Error out_of_memory(const WorkLimits& limits) {
  return make_error(
      ErrorCode::kUnsupported,
      fmt::format("the analysis needs more than {} of memory", format_size(limits.memory_bytes)),
      {}, "choose a part of the time, or --analysis-memory of sonde serve");
}

Error out_of_time(const WorkLimits& limits) {
  return make_error(
      ErrorCode::kUnsupported,
      fmt::format("the analysis takes longer than {}", format_duration(limits.time_ns)), {},
      "choose a part of the time, or --analysis-time of sonde serve");
}

// "S" or "E", then the answer or the error.
std::string packed(const Result<std::string>& result) {
  std::string out;
  put_pod(out, result.ok() ? 'S' : 'E');
  if (result.ok()) {
    put_text(out, *result);
    return out;
  }
  const Error& error = result.error();
  put_pod(out, error.code);
  for (const std::string* text : {&error.message, &error.context, &error.hint}) {
    put_text(out, *text);
  }
  return out;
}

Result<std::string> unpacked(std::string_view bytes) {
  Unpacker from(bytes);
  const char kind = from.pod<char>();
  if (kind == 'S') {
    std::string answer(from.text());
    if (from.is_whole()) return answer;
  } else if (kind == 'E') {
    Error error;
    error.code = from.pod<ErrorCode>();
    error.message = from.text();
    error.context = from.text();
    error.hint = from.text();
    if (from.is_whole()) return error;
  }
  return make_error(ErrorCode::kInternal,
                    "the process of the analysis was ended, perhaps for want of memory", {},
                    "choose a part of the time");
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

[[noreturn]] void work(Job job, std::string_view text, int answers, const WorkLimits& limits) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "sonde-analysis");
  std::signal(SIGCHLD, SIG_DFL);
  if (limits_memory()) {
    const rlimit memory = {limits.memory_bytes, limits.memory_bytes};
    ::setrlimit(RLIMIT_DATA, &memory);
  }
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  // What it writes before the time is up must not be cut: the end of the job ends the wait first.
  int ends[2] = {-1, -1};
  (void)!::pipe(ends);
  std::thread clock([&] {
    pollfd end = {ends[0], POLLIN, 0};
    const int ready = ::poll(&end, 1, static_cast<int>(limits.time_ns / 1'000'000));
    if (ready != 0) return;
    write_all(answers, packed(out_of_time(limits)));
    ::_exit(1);
  });
  Result<std::string> result = std::string();
  try {
    result = job(text);
  } catch (const std::bad_alloc&) {
    result = out_of_memory(limits);
  } catch (const std::exception& error) {
    result = make_error(ErrorCode::kInternal, error.what());
  }
  (void)!::write(ends[1], "", 1);
  clock.join();
  write_all(answers, packed(result));
  ::_exit(0);
}

// Forks a worker for each job that comes with a socket to answer on, until the server is gone.
[[noreturn]] void help(int jobs, Job job, const WorkLimits& limits) {
  ::prctl(PR_SET_NAME, "sonde-workers");
  std::signal(SIGCHLD, SIG_IGN);  // no one waits for them
  std::signal(SIGINT, SIG_IGN);   // Ctrl-C is the server's; it closes the socket
  std::string text(kMostJob, '\0');
  for (;;) {
    iovec bytes = {text.data(), text.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message = {};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t count = ::recvmsg(jobs, &message, MSG_CMSG_CLOEXEC);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) ::_exit(0);
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS) continue;
    int answers = -1;
    std::memcpy(&answers, CMSG_DATA(header), sizeof answers);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(jobs);
      work(job, {text.data(), static_cast<size_t>(count)}, answers, limits);
    }
    ::close(answers);
  }
}

bool send_job(int helper, const std::string& job, int answers) {
  iovec bytes = {const_cast<char*>(job.data()), job.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &answers, sizeof answers);
  return ::sendmsg(helper, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(job.size());
}

}  // namespace

bool limits_memory() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return false;
#else
  return true;
#endif
#else
  return true;
#endif
}

Result<Workers> Workers::start(Job job, const WorkLimits& wanted) {
  WorkLimits limits = wanted;
  if (limits.memory_bytes == 0) {
    struct sysinfo machine {};
    ::sysinfo(&machine);
    limits.memory_bytes = uint64_t{machine.totalram} * machine.mem_unit / 2;
  }
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return errno_error("no socket for analyses", "sonde serve", errno);
  }
  UniqueFd ours(ends[0]), theirs(ends[1]);
  const pid_t helper = ::fork();
  if (helper < 0) return errno_error("no process for analyses", "sonde serve", errno);
  if (helper == 0) {
    // Forked twice, so that the server does not have to wait for it.
    if (::fork() != 0) ::_exit(0);
    ours.reset();
    help(theirs.get(), job, limits);
  }
  int status = 0;
  while (::waitpid(helper, &status, 0) < 0 && errno == EINTR) {
  }
  return Workers(std::move(ours), limits);
}

Result<std::string> Workers::run(const std::string& job) const {
  int ends[2] = {-1, -1};
  if (job.size() > kMostJob) {
    return make_error(ErrorCode::kInvalidArgument, "is too long", "the request");
  }
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return errno_error("no socket for an analysis", "sonde serve", errno);
  }
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  if (!send_job(helper_.get(), job, theirs.get())) {
    return make_error(ErrorCode::kInternal, "the process that starts analyses is gone", {},
                      "start sonde serve again");
  }
  theirs.reset();
  std::string answer;
  const int64_t until_ns = monotonic_now_ns() + limits_.time_ns + kGraceNs;
  char bytes[64 << 10];
  for (;;) {
    const int64_t left_ns = until_ns - monotonic_now_ns();
    pollfd end = {ours.get(), POLLIN, 0};
    const int ready = left_ns <= 0 ? 0 : ::poll(&end, 1, static_cast<int>(left_ns / 1'000'000 + 1));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return out_of_time(limits_);
    const ssize_t count = ::recv(ours.get(), bytes, sizeof bytes, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    answer.append(bytes, static_cast<size_t>(count));
  }
  return unpacked(answer);
}

}  // namespace sonde::serve
