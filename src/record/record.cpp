#include "record/record.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/free_name.h"
#include "base/redact.h"
#include "base/strings.h"
#include "base/time.h"
#include "record/backend.h"
#include "record/child.h"
#include "record/command.h"
#include "record/drain.h"
#include "record/names.h"
#include "record/session_dir.h"
#include "record/status_line.h"

extern char** environ;

namespace sonde::record {

namespace {

constexpr int kBusyPollMs = 20;
constexpr int kIdlePollMs = 100;
constexpr uint64_t kBacklogBytes = 8 << 20;  // more is waiting, surely: no pause
constexpr int64_t kGraceNs = 200'000'000;    // for processes that are just ending with the command

void say(const std::string& line) { fmt::print(stderr, "sonde: {}\n", line); }

// A process image that is being traced, and a descriptor that tells when its process is gone.
struct Watched {
  uint32_t pid = 0;
  UniqueFd process;
};

bool has_ended(const Watched& watched) {
  if (!watched.process.valid()) return true;
  pollfd item = {watched.process.get(), POLLIN, 0};
  return ::poll(&item, 1, 0) > 0;
}

class Recording {
 public:
  Recording(const Options& options, std::string session, std::string output)
      : options_(options), session_(std::move(session)), output_(std::move(output)) {}

  Status prepare();
  Status start(const std::string& file, const std::string& injections);
  Outcome watch();

 private:
  uint64_t turn(StatusLine& status);
  void show(StatusLine& status);
  void reap();
  void switch_recording();
  void store_facts();
  void watch_processes();
  void fail(const Error& error);
  bool others_running();
  void finish(Outcome& outcome);

  const Options& options_;
  std::string session_, output_;
  wire::Control control_;
  std::unique_ptr<store::Writer> writer_;
  std::unique_ptr<store::Ingest> ingest_;
  std::unique_ptr<Drain> drain_;
  std::map<uint64_t, Watched> watched_;
  SignalPipe signals_;
  std::optional<Error> failure_;  // of the output: the records stay in the session
  pid_t child_ = -1;
  int wait_status_ = 0;
  bool child_ended_ = false, size_reached_ = false;
  int64_t started_ns_ = 0, ended_ns_ = 0;
  uint64_t events_stored_ = 0;
};

Status Recording::prepare() {
  wire::SessionOptions session;
  session.limit_bytes = session_limit(options_, session_);
  session.autostart = options_.start;
  session.recording = options_.delay_ns == 0;
  session.clock = options_.clock.value_or(wire::best_clock());
  SONDE_ASSIGN(control_, wire::Control::create(session_, session));
  SONDE_TRY(write_output_name(session_, output_));
  SONDE_ASSIGN(auto writer,
               store::Writer::open(output_, options_.append ? store::Writer::Mode::kAppend
                                                            : store::Writer::Mode::kCreate));
  writer_ = std::make_unique<store::Writer>(std::move(writer));
  SONDE_ASSIGN(auto ingest, store::Ingest::open(*writer_));
  ingest_ = std::make_unique<store::Ingest>(std::move(ingest));
  drain_ = std::make_unique<Drain>(session_, control_, *ingest_);
  ingest_->clocks(wire::read_clocks_exactly(control_->clock));
  store_facts();
  return ingest_->commit();
}

// What the trace says about the recording itself.
void Recording::store_facts() {
  std::string environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    environment += valid_utf8(redact_variable(*entry)) + "\n";
  }
  std::string command;
  for (const auto& argument : redact_arguments(options_.command)) {
    command += (command.empty() ? "" : " ") + argument;
  }
  writer_->metadata("sonde::version", SONDE_VERSION);
  writer_->metadata("sonde::command", valid_utf8(command));
  writer_->metadata("sonde::environment", environment);
  writer_->metadata("sonde::clock", control_->clock == wire::ClockKind::kTsc
                                        ? "TSC, converted to CLOCK_MONOTONIC"
                                        : "CLOCK_MONOTONIC");
  if (const auto rank = detect_rank(std::getenv)) {
    ingest_->set_rank(rank->rank, rank->size);
  }
}

Status Recording::start(const std::string& file, const std::string& injections) {
  started_ns_ = monotonic_now_ns();
  std::vector<std::string> environment;
  if (injections.empty()) {
    for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  } else {
    environment = merged_environment(environ, injections);
  }
  // Before the start, or the end of a short command would not be noticed.
  SONDE_ASSIGN(signals_, SignalPipe::open());
  SONDE_ASSIGN(child_, start_child(file, options_.command, environment, signals_.original_mask()));
  return ok_status();
}

void Recording::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return;
    if (pid != child_) continue;
    wait_status_ = status;
    child_ended_ = true;
    ended_ns_ = monotonic_now_ns();
  }
}

// --delay, --duration and --max-size act through the switch that all processes share.
void Recording::switch_recording() {
  const int64_t since = monotonic_now_ns() - started_ns_;
  std::error_code error;
  if (options_.max_size != 0 && !size_reached_ &&
      std::filesystem::file_size(output_, error) >= options_.max_size) {
    size_reached_ = true;
    ingest_->diagnostic("record", "the trace reached --max-size; recording stopped there");
    say(fmt::format("{} reached --max-size; recording stopped, the program goes on", output_));
  }
  const bool begun = since >= options_.delay_ns;
  const bool over = options_.duration_ns != 0 && since >= options_.delay_ns + options_.duration_ns;
  __atomic_store_n(&control_->recording, begun && !over && !size_reached_ ? 1 : 0,
                   __ATOMIC_RELAXED);
}

std::string how_it_ended(int wait_status) {
  return WIFSIGNALED(wait_status) ? fmt::format("signal {}", WTERMSIG(wait_status))
                                  : fmt::format("exit {}", WEXITSTATUS(wait_status));
}

// Processes that have ended since the last look are finished; an exec ends an image of a process.
void Recording::watch_processes() {
  std::map<uint32_t, uint64_t> newest;
  for (const auto& live : drain_->live()) {
    newest[live.pid] = std::max(newest[live.pid], live.spool);
    auto [found, fresh] = watched_.try_emplace(live.spool);
    if (!fresh) continue;
    found->second.pid = live.pid;
    found->second.process =
        UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(live.pid), 0)));
  }
  for (auto item = watched_.begin(); item != watched_.end();) {
    const auto& [spool, watched] = *item;
    const bool replaced = newest[watched.pid] != spool;
    const bool is_child = static_cast<pid_t>(watched.pid) == child_;
    // The command's own end is known by waitpid, with its status.
    const bool over = is_child ? child_ended_ : has_ended(watched);
    if (!replaced && !over) {
      ++item;
      continue;
    }
    const std::string how = replaced ? "exec" : is_child ? how_it_ended(wait_status_) : "ended";
    if (auto finished = drain_->finish_process(spool, how); !finished) fail(finished.error());
    item = watched_.erase(item);
  }
}

void Recording::fail(const Error& error) {
  if (failure_) return;
  failure_ = error;
  events_stored_ = ingest_->apis() + ingest_->ops();
  say(fmt::format("{}; the program goes on, its records stay in {}", error.to_line(), session_));
}

void Recording::show(StatusLine& status) {
  std::error_code error;
  status.update({drain_->events(), std::filesystem::file_size(output_, error),
                 drain_->spool_bytes(), ingest_->lost(), static_cast<int>(watched_.size())});
}

// One look at everything; returns how many bytes of records there were.
uint64_t Recording::turn(StatusLine& status) {
  signals_.handle(child_ended_ ? -1 : child_, [this] { reap(); });
  reap();
  switch_recording();
  if (failure_) return 0;
  const uint64_t bytes = drain_->poll();
  watch_processes();
  if (auto committed = drain_->commit(false); !committed) fail(committed.error());
  show(status);
  return bytes;
}

bool Recording::others_running() {
  return std::any_of(watched_.begin(), watched_.end(),
                     [](const auto& item) { return !has_ended(item.second); });
}

Outcome Recording::watch() {
  StatusLine status(!options_.quiet);
  drain_->on_progress([&] {
    reap();
    show(status);
  });
  for (uint64_t bytes = 0;;) {
    pollfd item = {signals_.fd(), POLLIN, 0};
    ::poll(&item, 1, bytes >= kBacklogBytes ? 0 : bytes != 0 ? kBusyPollMs : kIdlePollMs);
    bytes = turn(status);
    if (!child_ended_) continue;
    const bool grace = monotonic_now_ns() - ended_ns_ < kGraceNs;
    if (!others_running()) break;
    if (options_.wait == WaitPolicy::kNone && !grace) break;
  }
  Outcome outcome;
  outcome.wall_ns = ended_ns_ - started_ns_;
  outcome.signal = WIFSIGNALED(wait_status_) ? WTERMSIG(wait_status_) : 0;
  outcome.exit_status = WIFEXITED(wait_status_) ? WEXITSTATUS(wait_status_) : 128 + outcome.signal;
  finish(outcome);
  status.clear();
  drain_->on_progress([] {});
  return outcome;
}

void Recording::finish(Outcome& outcome) {
  __atomic_store_n(&control_->closed, 1, __ATOMIC_RELAXED);
  if (!failure_) {
    drain_->poll();
    for (const auto& live : drain_->live()) {
      const auto watched = watched_.find(live.spool);
      const bool running = watched != watched_.end() && !has_ended(watched->second);
      outcome.left_running += running ? 1 : 0;
      auto read = drain_->finish_process(live.spool, running ? "running" : "ended");
      if (!read) fail(read.error());
    }
  }
  if (!failure_) {
    if (auto finished = drain_->finish(); !finished) fail(finished.error());
  }
  outcome.path = output_;
  outcome.apis = ingest_->apis();
  outcome.ops = ingest_->ops();
  outcome.lost = ingest_->lost();
  if (failure_) {
    outcome.kept_session = session_;
  } else {
    remove_session_dir(session_);
  }
}

Result<std::vector<const Backend*>> chosen_backends(const Options& options) {
  std::vector<const Backend*> chosen;
  for (const auto* backend : all_backends()) {
    if (options.backends && std::find(options.backends->begin(), options.backends->end(),
                                      backend->name) == options.backends->end()) {
      continue;
    }
    std::error_code error;
    if (std::filesystem::exists(library_folder() + "/" + backend->library, error)) {
      chosen.push_back(backend);
    }
  }
  if (!options.backends) return chosen;
  for (const auto& name : *options.backends) {
    const auto all = all_backends();
    if (name != "none" && std::none_of(all.begin(), all.end(), [&](const auto* backend) {
          return backend->name == name;
        })) {
      return make_error(ErrorCode::kInvalidArgument, "no such backend: " + name, "--backends",
                        "sonde doctor lists them");
    }
  }
  return chosen;
}

Result<std::string> choose_output(const Options& options) {
  const std::string wanted =
      options.output.empty() ? default_output(detect_rank(std::getenv)) : options.output;
  std::error_code error;
  if (options.append && std::filesystem::exists(wanted, error)) return wanted;
  const std::string free = free_name(wanted);
  if (free != wanted) say(fmt::format("{} exists; recording into {}", wanted, free));
  return free;
}

}  // namespace

Result<Outcome> run(const Options& options) {
  SONDE_ASSIGN(const std::string file, find_command(options.command[0]));
  SONDE_ASSIGN(const auto backends, chosen_backends(options));
  SONDE_ASSIGN(const std::string output, choose_output(options));
  SONDE_ASSIGN(const std::string session, make_session_dir(options));
  Recording recording(options, session, output);
  if (auto prepared = recording.prepare(); !prepared) {
    remove_session_dir(session);
    return std::move(prepared).error();
  }
  const std::string reason = untraceable_reason(file);
  if (!reason.empty()) say(reason + "; it runs untraced, what it starts is still recorded");
  auto started = recording.start(file, injection_list(backends, session, library_folder()));
  if (!started) {
    remove_session_dir(session);
    std::error_code error;
    if (!options.append) std::filesystem::remove(output, error);
    return std::move(started).error();
  }
  return recording.watch();
}

}  // namespace sonde::record
