#include "record/record.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/printable.h"
#include "base/time.h"
#include "record/backend.h"
#include "record/child.h"
#include "record/command.h"
#include "record/drain.h"
#include "record/facts.h"
#include "record/faults.h"
#include "record/launcher.h"
#include "record/live.h"
#include "record/liveness.h"
#include "record/metrics.h"
#include "record/names.h"
#include "record/output.h"
#include "record/parts.h"
#include "record/pc_samples.h"
#include "record/schedule.h"
#include "record/session_dir.h"
#include "record/status_line.h"
#include "record/stderr_tap.h"
#include "record/symbols.h"
#include "record/trigger.h"
#include "record/unannounced.h"
#include "store/recording.h"
#include "wire/changes.h"

namespace sonde::record {

namespace {

constexpr int kBusyPollMs = 20;
constexpr int kIdlePollMs = 100;
constexpr uint64_t kBacklogBytes = 8 << 20;   // with that much read, more must be waiting: no pause
constexpr int64_t kOnePressNs = 200'000'000;  // Ctrl-C can reach us twice: in a group, and alone
constexpr int64_t kGraceNs = 200'000'000;     // for processes that end together with the command

void say(std::string_view line) { fmt::print(stderr, "sonde: {}\n", printable(line)); }

class Recording {
 public:
  Recording(const Options& options, std::string session)
      : options_(options), session_(std::move(session)) {}

  Status hold(const std::string& file, const std::string& injections, const SignalPipe& signals);
  Status prepare();
  void abandon();
  Status start();
  Outcome watch(SignalPipe& signals);

 private:
  // The writer that stores reports, or nullptr.
  store::Writer* kept() { return failure_ || options_.faults.only ? nullptr : writer_.get(); }
  uint64_t turn(SignalPipe& signals, StatusLine& status);
  void show(StatusLine& status);
  void take_signals(SignalPipe& signals);
  void look();
  bool grace_is_over() const;
  void close_session();
  void stop_at_size();
  void reap();
  void switch_recording();
  void rotate_when_due();
  void watch_processes();
  void tell_denied(int pidfd_error);
  void sample_metrics();
  void fail(const Error& error);
  void finish_processes(Outcome& outcome);
  void finish_parts(Outcome& outcome);
  void finish(Outcome& outcome);

  const Options& options_;
  std::string session_, output_;
  wire::Control control_;
  std::unique_ptr<store::Writer> writer_;
  std::unique_ptr<store::Ingest> ingest_;
  std::unique_ptr<Drain> drain_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<Parts> parts_;  // only if the recording is rotated
  std::unique_ptr<Trigger> trigger_;
  FaultWatch faults_;
  std::map<uint64_t, TracedProcess> processes_;
  Liveness liveness_;
  StderrTap tap_;
  HeldChild held_;
  std::optional<Error> failure_;  // of the output: the records stay in the session
  pid_t child_ = -1;
  int wait_status_ = 0;
  bool created_ = false;      // we created the output
  int64_t interrupt_ns_ = 0;  // the last Ctrl-C
  bool stopped_ = false;      // by a second Ctrl-C
  bool told_denied_ = false;
  bool child_ended_ = false, size_reached_ = false, closed_ = false;
  wire::Asked asked_ = wire::Asked::kNothing;  // the last one obeyed
  uint32_t cut_begun_ = 0;                     // the last SessionControl::cut_asked handled
  bool children_left_ = true;    // of the command; they become ours when it ends (--wait all)
  bool behind_softgpu_ = false;  // the command is softgpu's launcher
  int64_t started_ns_ = 0, ended_ns_ = 0;
};

// Nothing was started: leaves nothing behind.
void Recording::abandon() {
  drain_.reset();
  ingest_.reset();
  if (writer_ != nullptr && created_) {
    writer_.reset();
    std::error_code error;
    std::filesystem::remove(output_, error);
  }
  remove_session_dir(session_);
}

Status Recording::prepare() {
  wire::SessionOptions session;
  session.limit_bytes = session_limit(options_, session_);
  session.orphan_bytes = options_.orphan_limit;
  session.autostart = options_.start;
  session.recording = options_.delay_ns == 0;
  session.sample_hz = options_.sample_hz;
  session.sample_blocked = options_.sample_blocked;
  session.launch_stacks = options_.launch_stacks;
  session.clock = options_.clock.value_or(wire::best_clock());
  SONDE_ASSIGN(control_, wire::Control::create(session_, session));
  SONDE_ASSIGN(faults_, FaultWatch::open(session_, options_));
  SONDE_ASSIGN(Output output, open_output(options_, held_.pid()));
  output_ = output.path;
  created_ = output.created;
  writer_ = std::make_unique<store::Writer>(std::move(output.writer));
  SONDE_TRY(write_output_name(session_, output_));
  SONDE_ASSIGN(auto ingest, store::Ingest::open(*writer_, control_->id, session_));
  ingest_ = std::make_unique<store::Ingest>(std::move(ingest));
  drain_ = std::make_unique<Drain>(session_, control_, *ingest_);
  if (options_.faults.only) drain_->discard_from_now("not kept by sonde debug");
  ingest_->clocks(wire::read_clocks_exactly(control_->clock));
  if (options_.rotation.every_ns != 0) {
    parts_ = std::make_unique<Parts>(options_.rotation, session_, control_->id, output_,
                                     monotonic_now_ns());
  }
  if (options_.metrics.metrics.any()) {
    metrics_ = std::make_unique<Metrics>(options_.metrics, *writer_);
  }
  store_facts(*writer_, options_, *control_);
  if (const auto rank = detect_rank(std::getenv)) ingest_->set_rank(rank->rank, rank->size);
  return ingest_->commit();
}

// Creates the command's process, which waits.
Status Recording::hold(const std::string& file, const std::string& injections,
                       const SignalPipe& signals) {
  const std::vector<std::string> environment = environment_of_command(options_, injections);
  if (!options_.stderr_log.empty()) {
    SONDE_ASSIGN(tap_, StderrTap::open(options_.stderr_log, options_.stderr_prefix));
  }
  behind_softgpu_ = is_softgpu(file);
  SONDE_ASSIGN(held_, HeldChild::make(file, options_.command, environment, signals, tap_.fd()));
  raise_file_limit();  // a descriptor is kept of each process; the command has its own limit
  return ok_status();
}

Status Recording::start() {
  // Orphans become our children, so that they can be waited for.
  if (options_.wait == WaitPolicy::kAll) ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  started_ns_ = monotonic_now_ns();
  SONDE_ASSIGN(child_, held_.release());
  return ok_status();
}

void Recording::reap() {
  for (;;) {
    siginfo_t ended = {};
    // Its total resource usage can be read only until it is reaped.
    if (metrics_ != nullptr && ::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        ended.si_pid > 0) {
      metrics_->last_look(ended.si_pid);
    }
    int status = 0;
    const pid_t pid = take_ended(child_, status);
    children_left_ = pid >= 0;
    if (pid <= 0) return;
    if (pid != child_ && trigger_ != nullptr) trigger_->ended(pid, status);
    if (pid != child_) continue;
    wait_status_ = status;
    child_ended_ = true;
    ended_ns_ = monotonic_now_ns();
  }
}

// Also called when a user requests the current data (sonde snapshot).
void Recording::rotate_when_due() {
  if (parts_ == nullptr || failure_ || stopped_) return;
  const uint32_t asked = __atomic_load_n(&control_->cut_asked, __ATOMIC_ACQUIRE);
  const bool cut = asked != cut_begun_;
  const bool due = parts_->is_due(monotonic_now_ns());
  bool ended = false;  // it may have to wait for somebody who reads the part
  if (cut || due) {
    const auto rotated = parts_->rotate({writer_, ingest_, *drain_, metrics_.get()});
    if (!rotated) return fail(rotated.error());
    ended = *rotated;
  }
  if (ended) {
    cut_begun_ = asked;
    if (auto name = read_output_name(session_)) output_ = *name;
  }
  const auto whole = parts_->are_whole();
  if (!whole) return fail(whole.error());
  if (*whole) __atomic_store_n(&control_->cut_done, cut_begun_, __ATOMIC_RELEASE);
  if (trigger_ != nullptr && !child_ended_) trigger_->look(session_, due && ended);
}

// The schedule, --max-size, sonde start and stop act through the switch that all processes share.
void Recording::switch_recording() {
  const bool on = is_scheduled(options_, monotonic_now_ns() - started_ns_);
  const auto asked = static_cast<wire::Asked>(__atomic_load_n(&control_->asked, __ATOMIC_ACQUIRE));
  wire::Switch position = on ? wire::kAsProcess : wire::kOff;
  if (asked != wire::Asked::kNothing) position = position_of(asked);
  if (size_reached_ || closed_) position = wire::kOff;
  if (__atomic_exchange_n(&control_->recording, position, __ATOMIC_RELAXED) != position) {
    wire::tell_change(*control_);
  }
  __atomic_store_n(&control_->obeyed, static_cast<uint32_t>(asked), __ATOMIC_RELEASE);
  if (asked != asked_) ingest_->diagnostic("record", switched_text(asked));
  asked_ = asked;
}

// What is already in the spools must not make the trace larger, either.
void Recording::stop_at_size() {
  if (options_.max_size == 0 || size_reached_ || writer_->bytes() < options_.max_size) return;
  size_reached_ = true;
  drain_->discard_from_now("beyond --max-size");
  ingest_->diagnostic("record", "the trace reached --max-size; recording stopped there");
  say(fmt::format("{} reached --max-size; recording stopped, the program goes on", output_));
}

bool Recording::grace_is_over() const {
  return options_.wait == WaitPolicy::kNone && child_ended_ &&
         monotonic_now_ns() - ended_ns_ >= kGraceNs;
}

// Otherwise processes that we no longer follow could record faster than we read, forever.
void Recording::close_session() {
  closed_ = true;
  __atomic_store_n(&control_->closed, 1, __ATOMIC_RELAXED);
  switch_recording();
}

// Ctrl-C is for the command. But if that has ended and much is still to be stored, a second Ctrl-C
// is for us: what is committed stays, the rest waits in the session.
void Recording::take_signals(SignalPipe& signals) {
  if (!signals.handle(child_ended_ ? -1 : child_, [this] { reap(); })) return;
  const int64_t now = monotonic_now_ns();
  const bool pressed_before = interrupt_ns_ != 0;
  const bool pressed = !pressed_before || now - interrupt_ns_ >= kOnePressNs;
  interrupt_ns_ = now;
  if (!child_ended_ || !pressed) return;
  if (!pressed_before) {
    if (!options_.quiet) say("storing what was recorded; Ctrl-C again leaves it to: sonde recover");
    return;
  }
  stopped_ = true;
  drain_->stop();
}

// Work that must not wait until a burst has been read.
void Recording::look() {
  reap();
  stop_at_size();
  if (!closed_ && grace_is_over()) close_session();
  switch_recording();
  sample_metrics();
}

void Recording::sample_metrics() {
  const bool off = __atomic_load_n(&control_->recording, __ATOMIC_RELAXED) == 0;
  if (metrics_ == nullptr || off || failure_ || metrics_->wait_ns() > 0) return;
  std::vector<int64_t> processes;
  if (child_ > 0 && !child_ended_) processes.push_back(child_);
  for (const auto& live : drain_->live()) {
    const bool is_child = static_cast<pid_t>(live.pid) == child_;
    if (!live.other_namespace && !is_child) processes.push_back(live.pid);
  }
  if (metrics_->sample(processes)) drain_->touch();
}

// Reports once.
void Recording::tell_denied(int pidfd_error) {
  if (pidfd_error == 0 || told_denied_) return;
  told_denied_ = true;
  const std::string text = fmt::format(
      "processes are identified only by number: pidfd_open: {} (sonde doctor says how to allow it)",
      std::strerror(pidfd_error));
  ingest_->diagnostic("record", text);
  if (!options_.quiet) say(text);
}

// Finishes processes that have ended since the last look. An exec also ends a process image.
void Recording::watch_processes() {
  std::map<uint32_t, uint64_t> newest;
  for (const auto& live : drain_->live()) {
    if (!live.other_namespace) newest[live.pid] = std::max(newest[live.pid], live.spool);
    if (processes_.contains(live.spool)) continue;
    const auto item = processes_.emplace(live.spool, open_process(live)).first;
    tell_denied(item->second.denied);
  }
  for (auto item = processes_.begin(); item != processes_.end();) {
    const auto& [spool, process] = *item;
    const bool replaced = !process.other_namespace && newest[process.pid] != spool;
    const bool is_child = !process.other_namespace && static_cast<pid_t>(process.pid) == child_;
    const bool over = is_child ? child_ended_ : liveness_.has_ended(spool, process);
    if (!replaced && !over) {
      ++item;
      continue;
    }
    const std::string how = replaced ? "exec" : is_child ? how_it_ended(wait_status_) : "ended";
    auto finished = drain_->finish_process(spool, how);
    if (stopped_) return;
    if (!finished) fail(finished.error());
    item = processes_.erase(item);
  }
}

void Recording::fail(const Error& error) {
  if (failure_) return;
  failure_ = error;
  if (options_.faults.only) return;  // nothing is recorded, and reports do not need it
  say(fmt::format("{}; the program goes on, its records stay in {}", error.to_line(), session_));
}

void Recording::show(StatusLine& status) {
  std::error_code error;
  status.update({drain_->events(), std::filesystem::file_size(output_, error),
                 drain_->spool_bytes(), ingest_->lost(), static_cast<int>(processes_.size())});
}

// One turn of the main loop; returns how many bytes of records there were.
uint64_t Recording::turn(SignalPipe& signals, StatusLine& status) {
  take_signals(signals);
  look();
  if (tap_.is_open()) tap_.pass_on(STDERR_FILENO);
  if (signals.take_quit()) faults_.tell_state(kept());
  if (faults_.look(kept())) drain_->touch();
  if (failure_ || stopped_) return 0;
  const uint64_t bytes = drain_->poll();
  watch_processes();
  if (stopped_) return 0;
  if (auto committed = drain_->commit(false); !committed) fail(committed.error());
  rotate_when_due();
  show(status);
  return bytes;
}

Outcome Recording::watch(SignalPipe& signals) {
  StatusLine status(!options_.quiet);
  if (parts_ != nullptr) trigger_ = std::make_unique<Trigger>(options_.rotation, signals);
  drain_->on_progress([&] {
    take_signals(signals);
    look();
    show(status);
  });
  for (uint64_t bytes = 0;;) {
    pollfd item = {signals.fd(), POLLIN, 0};
    const bool busy = bytes != 0 || tap_.is_open();
    int wait_ms = bytes >= kBacklogBytes ? 0 : busy ? kBusyPollMs : kIdlePollMs;
    if (metrics_ != nullptr) {
      wait_ms = static_cast<int>(std::min<int64_t>(wait_ms, metrics_->wait_ns() / 1'000'000 + 1));
    }
    ::poll(&item, 1, wait_ms);
    bytes = turn(signals, status);
    if (!child_ended_) continue;
    // With --wait all, whoever is left of the command becomes our child.
    const bool adopts = options_.wait == WaitPolicy::kAll;
    if (closed_ || stopped_) break;
    if (!(adopts && children_left_) && !liveness_.any_runs(processes_, adopts)) break;
  }
  Outcome outcome;
  outcome.wall_ns = ended_ns_ - started_ns_;
  outcome.signal = signal_of(wait_status_);
  outcome.exit_status = WIFEXITED(wait_status_) ? WEXITSTATUS(wait_status_) : 128 + outcome.signal;
  if (tap_.is_open()) {
    tap_.finish(STDERR_FILENO);
    outcome.stderr_line_times_ns = tap_.line_times_ns();
  }
  finish(outcome);
  status.clear();
  drain_->on_progress([] {});
  return outcome;
}

void Recording::finish_processes(Outcome& outcome) {
  drain_->list_new();
  outcome.left_running = note_unannounced(session_, drain_->live(), *ingest_);
  for (const auto& live : drain_->live()) {
    const auto process = processes_.find(live.spool);
    const bool running =
        process != processes_.end() && !liveness_.has_ended_by_now(live.spool, process->second);
    outcome.left_running += running ? 1 : 0;
    auto read = drain_->finish_process(live.spool, running ? "running" : "ended");
    if (stopped_) return;
    if (!read) fail(read.error());
  }
}

void Recording::finish_parts(Outcome& outcome) {
  outcome.apis += parts_->totals().apis;
  outcome.ops += parts_->totals().ops;
  outcome.lost += parts_->totals().lost;
  if (failure_ || stopped_) return;
  auto path = parts_->finish(output_);
  if (!path) return fail(path.error());
  outcome.path = *path;
}

void Recording::finish(Outcome& outcome) {
  if (trigger_) trigger_->finish([this] { rotate_when_due(), reap(); });
  close_session();
  faults_.look_at_end(
      {child_, WEXITSTATUS(wait_status_), signal_of(wait_status_), ended_ns_, behind_softgpu_},
      kept());
  faults_.count_in(outcome);
  if (!failure_ && !stopped_) finish_processes(outcome);
  if (metrics_ != nullptr && !failure_) {
    if (auto finished = metrics_->finish(*ingest_); !finished) fail(finished.error());
    if (!options_.quiet) {
      for (const std::string& line : metrics_->complaints()) say(line);
    }
  }
  if (!failure_ && !stopped_ && behind_softgpu_) {
    // Only the parent is told how a process ended; the launcher ends as its child does.
    auto shared = store::set_exit_of_children(writer_->database(), child_, started_ns_,
                                              how_it_ended(wait_status_));
    if (!shared) fail(shared.error());
  }
  if (!failure_ && !stopped_) {
    auto named = name_frames(writer_->database());
    if (named && options_.pc_samples) named = add_pc_samples(writer_->database(), session_);
    if (!named) fail(named.error());
  }
  if (!failure_ && !stopped_) {
    if (auto finished = drain_->finish(); !finished) fail(finished.error());
  }
  outcome.path = output_;
  outcome.apis = ingest_->apis();
  outcome.ops = ingest_->ops();
  outcome.lost = ingest_->lost();
  if (parts_ != nullptr) finish_parts(outcome);
  outcome.interrupted = stopped_;
  if ((failure_ || stopped_) && !options_.faults.only) {
    outcome.kept_session = session_;
  } else {
    remove_session_dir(session_);
  }
}

}  // namespace

Result<Outcome> run(Options options) {
  SONDE_ASSIGN(const std::string file, find_command(options.command[0]));
  SONDE_ASSIGN(const auto backends, chosen_backends(options));
  // The sampling backend is in every program, and does only what it is asked to.
  if (std::ranges::find(backends, "cpu", &Backend::name) == backends.end()) {
    options.sample_hz = 0;
    options.sample_blocked = options.launch_stacks = false;
  }
  occupy_standard_descriptors();
  SONDE_ASSIGN(auto signals, SignalPipe::open());
  SONDE_ASSIGN(const std::string session, make_session_dir(options));
  place_in_session(options, session);
  if (options.faults.on_quit) signals.keep_quit();
  Recording recording(options, session);
  auto prepared =
      recording.hold(file, injection_list(backends, session, library_folder()), signals);
  if (prepared) prepared = recording.prepare();
  if (!prepared) {
    recording.abandon();
    Error error = std::move(prepared).error();
    // "Not found" and "unsupported" would refer to the command.
    error.code = ErrorCode::kIo;
    return error;
  }
  const std::string reason = untraceable_reason(file);
  if (!reason.empty()) say(reason + "; it runs untraced, what it starts is still recorded");
  if (auto started = recording.start(); !started) {
    recording.abandon();
    return std::move(started).error();
  }
  return recording.watch(signals);
}

}  // namespace sonde::record
