#include "record/attach.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/printable.h"
#include "base/strings.h"
#include "base/time.h"
#include "monitor/kept_file.h"
#include "monitor/process_text.h"
#include "record/attachable.h"
#include "record/backend.h"
#include "record/child.h"
#include "record/command.h"
#include "record/drain.h"
#include "record/facts.h"
#include "record/inject.h"
#include "record/metrics.h"
#include "record/output.h"
#include "record/session_dir.h"
#include "record/status_line.h"
#include "record/symbols.h"

namespace sonde::record {

namespace {

namespace fs = std::filesystem;

constexpr int kPollMs = 50, kJoinPollMs = 5;
constexpr int64_t kPatienceNs = 10'000'000'000;

void say(std::string_view line) { fmt::print(stderr, "sonde: {}\n", printable(line)); }

// What the program has that cannot be recorded any more, though a recording from its start would
// have it; the process itself reports the rest (backends/rocm/late).
std::string too_late_for(pid_t pid) {
  const std::string maps = monitor::read_text(fmt::format("/proc/{}/maps", pid));
  return std::string(maps.find("librccl.so") != maps.npos ? "calls of RCCL, " : "") +
         "markers of the Python package and of older versions of sonde.h, and programs that it "
         "starts: record the program from its start to have them";
}

// The backends that the process can activate while it runs, in the form that it expects.
std::string late_parts(const Options& options) {
  std::string parts;
  for (const char* name : {"hip", "hsa", "opencl", "roctx", "nvtx", "itt", "torch"}) {
    const auto& chosen = options.backends;
    if (chosen && std::find(chosen->begin(), chosen->end(), name) == chosen->end()) continue;
    parts += (parts.empty() ? "" : ":") + std::string(name);
  }
  return parts;
}

struct Told {
  std::string had, missing;
};

// Parses the process' answer (backends/cpu/attached.cpp): lines that begin with + or -.
Told read_told(const std::string& text) {
  Told told;
  for (const auto line : split(text, '\n')) {
    if (line.size() < 2) continue;
    std::string& list = line[0] == '+' ? told.had : told.missing;
    list += (list.empty() ? "" : line[0] == '+' ? ", " : "; ") + std::string(line.substr(1));
  }
  return told;
}

// Ctrl-C and the like end the recording instead of this process, which handles them afterwards.
class Ends {
 public:
  Ends() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, number);
    ::sigprocmask(SIG_BLOCK, &set, &before_);
    fd_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  ~Ends() {
    signalfd_siginfo info;
    while (::read(fd_.get(), &info, sizeof info) == sizeof info) {
    }
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
  sigset_t before_{};
};

class Attached {
 public:
  Attached(const Options& options, std::string session)
      : options_(options), session_(std::move(session)) {}

  Status prepare();
  // An error only if nothing at all can be recorded.
  Status join();
  Outcome watch();
  void abandon();

 private:
  void tell(const std::string& text);
  void tell_of(const std::string& text);
  std::optional<std::string> wait_for(const char* file) const;
  void wait_until_left() const;
  void turn();
  void finish(Outcome& outcome);

  const Options& options_;
  std::string session_, output_;
  UniqueFd process_;
  wire::Control control_;
  std::unique_ptr<store::Writer> writer_;
  std::unique_ptr<store::Ingest> ingest_;
  std::unique_ptr<Drain> drain_;
  std::unique_ptr<Metrics> metrics_;
  std::optional<Error> failure_;
  int64_t started_ns_ = 0;
  bool joined_ = false;
};

// Rejects pids of no process, and of processes that cannot be recorded.
Status check_process(pid_t pid) {
  const std::string name = "process " + std::to_string(pid);
  if (pid == ::getpid()) {
    return make_error(ErrorCode::kInvalidArgument, "is this sonde record itself", name,
                      "give the number of another, as ps shows it");
  }
  const std::string status = monitor::read_text(fmt::format("/proc/{}/status", pid));
  const int64_t whole = monitor::number_of(status, "Tgid");
  if (whole < 0 || whole == pid) return ok_status();
  return make_error(ErrorCode::kInvalidArgument, fmt::format("is a thread of process {}", whole),
                    name, fmt::format("--pid {} records all of its threads", whole));
}

Status Attached::prepare() {
  SONDE_TRY(check_process(options_.pid));
  process_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, options_.pid, 0)));
  if (!process_.valid()) {
    return errno_error("cannot be attached to", "process " + std::to_string(options_.pid), errno);
  }
  wire::SessionOptions session;
  session.limit_bytes = session_limit(options_, session_);
  session.orphan_bytes = 0;  // without us, the process leaves the recording
  session.sample_hz = options_.sample_hz;
  session.sample_blocked = options_.sample_blocked;
  session.clock = options_.clock.value_or(wire::best_clock());
  SONDE_ASSIGN(control_, wire::Control::create(session_, session));
  SONDE_ASSIGN(Output output, open_output(options_, options_.pid));
  output_ = output.path;
  writer_ = std::make_unique<store::Writer>(std::move(output.writer));
  SONDE_TRY(write_output_name(session_, output_));
  SONDE_ASSIGN(auto ingest, store::Ingest::open(*writer_, control_->id, session_));
  ingest_ = std::make_unique<store::Ingest>(std::move(ingest));
  drain_ = std::make_unique<Drain>(session_, control_, *ingest_);
  ingest_->clocks(wire::read_clocks_exactly(control_->clock));
  Options facts = options_;
  facts.command = command_of(options_.pid);
  store_facts(*writer_, facts, *control_);
  writer_->metadata("sonde::attached", std::to_string(options_.pid));
  if (options_.metrics.metrics.any()) {
    metrics_ = std::make_unique<Metrics>(options_.metrics, *writer_);
  }
  return ingest_->commit();
}

void Attached::abandon() {
  drain_.reset();
  ingest_.reset();
  if (writer_ != nullptr) {
    writer_.reset();
    ::unlink(output_.c_str());
  }
  remove_session_dir(session_);
}

void Attached::tell(const std::string& text) {
  ingest_->diagnostic("record", text);
  if (!options_.quiet) say(text);
}

// Otherwise a process of another user could not reach the session.
void give_to_owner(const std::string& session, pid_t pid) {
  struct stat owner {};
  if (::geteuid() != 0 || ::stat(fmt::format("/proc/{}", pid).c_str(), &owner) != 0) return;
  for (const char* file : {"", "/control"}) {
    (void)!::chown((session + file).c_str(), owner.st_uid, owner.st_gid);
  }
}

// Waits for a file that the process writes when it has joined or left; it may be busy, or end.
std::optional<std::string> Attached::wait_for(const char* file) const {
  const int64_t end = monotonic_now_ns() + kPatienceNs;
  for (pollfd process = {process_.get(), POLLIN, 0}; monotonic_now_ns() < end;) {
    if (auto text = monitor::read_file(session_ + file)) return text;
    if (::poll(&process, 1, kJoinPollMs) > 0) break;
  }
  return std::nullopt;
}

// Waits until the process has its signals back, and the agent's thread in it has ended.
void Attached::wait_until_left() const {
  if (!wait_for("/left")) {
    return say("the process has not left the recording yet; it will do so by itself");
  }
  const auto is_there = [this] {
    std::error_code error;
    for (const auto& task :
         fs::directory_iterator(fmt::format("/proc/{}/task", options_.pid), error)) {
      if (monitor::read_text(task.path().string() + "/comm") == "sonde-attached\n") return true;
    }
    return false;
  };
  const int64_t end = monotonic_now_ns() + kPatienceNs;
  while (is_there() && monotonic_now_ns() < end) ::usleep(kJoinPollMs * 1000);
}

Status Attached::join() {
  const std::string parts = late_parts(options_);
  if (options_.sample_hz == 0 && parts.empty()) return ok_status();
  give_to_owner(session_, options_.pid);
  const std::string library = library_folder() + "/libsonde-agent.so";
  const auto call = [&]() -> Result<int> {
    SONDE_TRY(attachable(options_.pid, {library, session_ + "/control"}));
    return call_in_process(options_.pid, library, "sonde_attach_v2", session_ + "\n" + parts,
                           kPatienceNs);
  };
  const auto joined = call();
  std::optional<std::string> text;
  std::string why;
  if (!joined) {
    why = joined.error().to_line();
  } else if (*joined != 0) {
    why = *joined == 1 ? "another recording has it" : "it has no memory for another thread";
  } else if (text = wait_for("/joined"); !text) {
    why = "the library is loaded, but its thread has not joined";
  }
  if (why.empty()) {
    joined_ = true;
    tell_of(*text);
    return ok_status();
  }
  if (metrics_ == nullptr) {
    return make_error(ErrorCode::kUnsupported, "cannot be attached to: " + why,
                      "process " + std::to_string(options_.pid));
  }
  tell("metrics only, no call stacks, calls or markers: " + why);
  return ok_status();
}

void Attached::tell_of(const std::string& text) {
  Told told = read_told(text);
  if (metrics_ != nullptr) told.had = "metrics" + (told.had.empty() ? "" : ", " + told.had);
  told.missing += (told.missing.empty() ? "" : "; ") + too_late_for(options_.pid);
  tell("recorded: " + (told.had.empty() ? "nothing" : told.had));
  tell("not recorded: " + told.missing);
}

void Attached::turn() {
  if (metrics_ != nullptr && metrics_->wait_ns() == 0) {
    const int64_t processes[] = {options_.pid};
    if (metrics_->sample(processes)) drain_->touch();
  }
  if (failure_) return;
  drain_->poll();
  if (auto committed = drain_->commit(false); !committed) failure_ = committed.error();
}

Outcome Attached::watch() {
  const Ends ends;
  StatusLine status(!options_.quiet);
  Outcome outcome;
  started_ns_ = monotonic_now_ns();  // joining takes long where the machine is busy
  for (;;) {
    pollfd items[] = {{ends.fd(), POLLIN, 0}, {process_.get(), POLLIN, 0}};
    ::poll(items, 2, kPollMs);
    turn();
    std::error_code error;
    status.update({drain_->events(), fs::file_size(output_, error), drain_->spool_bytes(),
                   ingest_->lost(), 1});
    const bool over =
        options_.duration_ns != 0 && monotonic_now_ns() - started_ns_ >= options_.duration_ns;
    if (over || items[0].revents != 0 || items[1].revents != 0 || failure_) break;
  }
  outcome.wall_ns = monotonic_now_ns() - started_ns_;
  finish(outcome);
  status.clear();
  return outcome;
}

void Attached::finish(Outcome& outcome) {
  __atomic_store_n(&control_->closed, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&control_->recording, wire::kOff, __ATOMIC_RELAXED);
  pollfd process = {process_.get(), POLLIN, 0};
  const bool ended = ::poll(&process, 1, 0) > 0;
  if (!ended && joined_) wait_until_left();
  const auto store_all = [&]() -> Status {
    drain_->list_new();
    for (const auto& live : drain_->live()) {
      SONDE_TRY(drain_->finish_process(live.spool, ended ? "ended" : "running"));
    }
    if (metrics_ != nullptr) SONDE_TRY(metrics_->finish(*ingest_));
    SONDE_TRY(name_frames(writer_->database()));
    return drain_->finish();
  };
  if (!failure_) {
    if (auto stored = store_all(); !stored) failure_ = stored.error();
  }
  outcome.path = output_;
  outcome.apis = ingest_->apis();
  outcome.ops = ingest_->ops();
  outcome.lost = ingest_->lost();
  if (failure_) {
    say(failure_->to_line());
    outcome.kept_session = session_;
  } else {
    remove_session_dir(session_);
  }
}

}  // namespace

Result<Outcome> attach(const Options& options) {
  occupy_standard_descriptors();
  SONDE_ASSIGN(const std::string session, make_session_dir(options));
  Attached attached(options, session);
  auto ready = attached.prepare();
  if (ready) ready = attached.join();
  if (!ready) {
    attached.abandon();
    return std::move(ready).error();
  }
  return attached.watch();
}

}  // namespace sonde::record
