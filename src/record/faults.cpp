#include "record/faults.h"

#include <fmt/ranges.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/free_name.h"
#include "base/printable.h"
#include "base/redact.h"
#include "base/strings.h"
#include "base/time.h"
#include "fault/card_waves.h"
#include "fault/memory.h"
#include "fault/opencl.h"
#include "fault/text.h"
#include "fault/untold.h"
#include "fault/waits.h"
#include "fault/waves.h"
#include "record/command.h"
#include "record/launcher.h"
#include "record/stopped_threads.h"
#include "record/symbols.h"

namespace sonde::record {

namespace {

constexpr int64_t kWavesNs = 1'000'000'000;
constexpr int64_t kThreadsNs = 1'000'000'000;
constexpr useconds_t kWritingUs = 100'000;    // time that the software GPU takes to write all waves
constexpr int64_t kUntoldNs = 1'500'000'000;  // the runtime would report a fault much earlier
constexpr int64_t kHangLookNs = 250'000'000;
constexpr int kMostFindings = 20;  // of --check, whose reports are printed in full
// An end so soon after a failed call is attributed to it.
constexpr int64_t kSoonNs = 2'000'000'000;

bool is_crash(int signal) {
  for (const int crash : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP}) {
    if (signal == crash) return true;
  }
  return false;
}

// A program that finds no GPU has not failed on one.
bool failed_by_call(const wire::Board& board, int64_t end_ns) {
  constexpr int kNoDevice = 100;
  const wire::BoardCallError& error = board.call_error;
  return error.time_ns != 0 && end_ns - std::max(error.time_ns, error.repeated_ns) < kSoonNs &&
         board.gpu_count != 0 && error.code != kNoDevice;
}

bool has_work(const wire::Board& board) { return fault::progress_of(board).in_flight != 0; }

// When this file exists, the software GPU writes where its waves are, and removes the file.
size_t ask_for_waves(const std::string& waves) {
  std::error_code error;
  const auto before = std::filesystem::file_size(waves, error);
  std::ofstream(waves + ".ask").flush();
  // A kernel checks every so many instructions; a kernel that does not run never does.
  const int64_t until_ns = monotonic_now_ns() + kWavesNs;
  while (std::filesystem::exists(waves + ".ask", error) && monotonic_now_ns() < until_ns) {
    ::usleep(10'000);
  }
  if (std::filesystem::remove(waves + ".ask", error)) return 0;
  ::usleep(kWritingUs);
  return before == static_cast<std::uintmax_t>(-1) ? 0 : before;
}

// Whether a queue certainly waits for a signal. The board alone is not enough: the newest barrier
// that it knows of a queue may have completed.
bool waits_for_signal(const std::string& path) {
  const auto board = fault::read_board(path);
  if (!board) return false;
  const fault::LiveProcess process(*board->state, path);
  const auto waits = fault::find_waits(
      *board->state, [&](uint64_t signal) { return process.signal_value(signal); },
      [](const wire::BoardDispatch&) { return std::string(); });
  return process.trouble() == 0 &&
         std::any_of(waits.queues.begin(), waits.queues.end(),
                     [](const fault::QueueWait& wait) { return wait.certain; });
}

// Makes a report safe for the terminal, whatever names contain.
std::string shown(const std::string& text) {
  std::string safe;
  for (const auto line : split(text, '\n')) safe += printable(line) + "\n";
  while (safe.size() > 1 && safe[safe.size() - 2] == '\n') safe.pop_back();
  return safe;
}

void say(const std::string& line) { fmt::print(stderr, "sonde: {}\n", printable(line)); }

std::string command_text(const Options& options) {
  auto words = redact_arguments(options.command);
  // The user's command, without the launcher in front of it.
  const auto end = std::find(words.begin(), words.end(), "--");
  if (options.faults.waves && end != words.end()) words.erase(words.begin(), std::next(end));
  return valid_utf8(fmt::format("{}", fmt::join(words, " ")));
}

void save_code(fault::CodeObjects& code, const std::string& folder) {
  for (const std::string& line : fault::save_code_objects(code, folder)) {
    say("code object not saved: " + line);
  }
}

}  // namespace

std::string waves_file(const std::string& session) { return session + "/boards/waves.json"; }

void place_in_session(Options& options, const std::string& session) {
  if (options.faults.only) options.output = session + "/debug.rpd";
  if (!options.faults.waves) return;
  std::replace(options.command.begin(), options.command.end(), std::string(kWavesFile),
               waves_file(session));
}

std::string how_it_ended(int exit_status, int signal) {
  return signal != 0 ? fmt::format("signal {}", signal) : fmt::format("exit {}", exit_status);
}

int signal_of(int wait_status) { return WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0; }

std::string how_it_ended(int wait_status) {
  return how_it_ended(WEXITSTATUS(wait_status), signal_of(wait_status));
}

Result<FaultWatch> FaultWatch::open(const std::string& session, const Options& options) {
  FaultWatch watch;
  watch.session_ = session;
  watch.options_ = &options;
  watch.waves_ = options.faults.waves_of_others;
  if (options.faults.waves) watch.waves_ = waves_file(session);
  if (!options.faults.watch) return watch;
  const std::string folder = session + "/boards";
  if (::mkdir(folder.c_str(), 0700) != 0) {
    return errno_error("cannot make the folder for reports of GPUs", folder, errno);
  }
  return watch;
}

void FaultWatch::print(const fault::FaultReport& report) const {
  const FaultOptions& options = options_->faults;
  if (findings_ > kMostFindings && !options.all && !options.json && options.output.empty())
    return say(report.cause);  // the full report is for --all
  std::string text = options.json ? fault::json_of(report) + "\n"
                                  : fault::text_of(report, {options.all && !options.agent_layout});
  if (options.agent_layout) text = fault::agent_text_of(report, {options.all}) + "\n" + text;
  if (options.output.empty()) {
    fmt::print(stderr, "{}",
               options.json           ? text
               : options.agent_layout ? shown(text)
                                      : fault::fitted_to_terminal(shown(text), STDERR_FILENO));
    return;
  }
  const bool same = reports_ == 0 || options.agent_layout;
  const std::string path = same ? options.output : free_name(options.output);
  std::ofstream file(path, std::ios::app);
  file << text << std::flush;
  if (!file) {
    say(path + ": cannot be written, so the report follows here");
    fmt::print(stderr, "{}", fault::fitted_to_terminal(shown(text), STDERR_FILENO));
    return;
  }
  say(fmt::format("{}; the report is in {}", report.title, path));
}

void FaultWatch::tell(const fault::Board& board, const fault::Occasion& occasion,
                      store::Writer* writer) {
  fault::CodeObjects code(board.objects);
  const FaultOptions& options = options_->faults;
  if (options.save_folder) save_code(code, *options.save_folder);
  show(fault::compose(board, code, occasion, names_of_files()), code, occasion.process, writer);
}

void FaultWatch::show(const fault::FaultReport& report, fault::CodeObjects& code,
                      const fault::LiveProcess* process, store::Writer* writer) {
  const FaultOptions& options = options_->faults;
  print(report);
  ++reports_;
  if (writer == nullptr && options.core.empty()) return;
  const fault::Dispatch* dispatch = report.culprit ? &report.in_flight[*report.culprit] : nullptr;
  const store::FaultRow row = {report.pid,
                               report.time_ns,
                               report.gpu,
                               report.kind,
                               valid_utf8(report.title),
                               valid_utf8(report.cause),
                               dispatch != nullptr ? dispatch->kernel : "",
                               valid_utf8(fault::text_of(report, {true})),
                               fault::json_of(report)};
  if (!options.core.empty()) {
    const auto kept = keep(row, report, process, code);
    if (!kept) say("the report is not kept: " + kept.error().to_line());
    has_core_ = has_core_ || kept.ok();
  }
  if (writer == nullptr) return;
  const auto added = store::add_fault(writer->database(), row);
  if (!added) say("the report is not in the trace: " + added.error().to_line());
}

// Writes a complete core each time: there may be no next report.
Status FaultWatch::keep(const store::FaultRow& row, const fault::FaultReport& report,
                        const fault::LiveProcess* process, fault::CodeObjects& code) const {
  using store::Writer;
  const auto memory = process != nullptr ? fault::memory_of(report, *process) : fault::KeptMemory();
  std::vector<store::FaultMemory> pieces;
  uint64_t bytes = 0;
  for (const fault::MemoryPiece& piece : memory.pieces) {
    pieces.push_back({piece.address, piece.bytes});
    bytes += piece.bytes.size();
  }
  std::vector<store::FaultCode> objects;
  for (size_t i = 0; i < code.size(); ++i) {
    const fault::OpenObject& object = code.open(i);
    objects.push_back({object.facts.uri, {object.bytes.begin(), object.bytes.end()}});
  }
  const std::string& path = options_->faults.core;
  SONDE_ASSIGN(auto file,
               Writer::open(path, has_core_ ? Writer::Mode::kAppend : Writer::Mode::kCreate));
  SONDE_TRY(store::add_fault(file.database(), row));
  SONDE_TRY(store::add_fault_data(file.database(), pieces, objects));
  SONDE_TRY(file.finish());
  say(fmt::format("{} has the report, {} of memory of {} buffers and {} code objects", path,
                  format_size(bytes), memory.buffers, objects.size()));
  if (memory.left_out != 0) say(format_size(memory.left_out) + " of memory were left out");
  if (!memory.trouble.empty()) say(memory.trouble);
  return ok_status();
}

bool FaultWatch::look(store::Writer* writer) {
  if (options_ == nullptr || !options_->faults.watch) return false;
  const int before = reports_;
  if (!late_threads_.empty()) std::erase_if(late_threads_, let_go);
  for (const std::string& path : fault::list_boards(session_)) {
    if (told_.contains(path) || fault::fault_count(path) == 0) continue;
    told_.insert(path);
    const auto board = fault::read_board(path);
    if (!board) {
      say("no report of the GPU: " + board.error().to_line());
      fault::set_reported(path);
      continue;
    }
    const fault::LiveProcess process(*board->state, path);
    fault::Occasion now = occasion();
    now.process = &process;
    ask_cards(*board, now);
    tell(*board, now, writer);
    fault::set_reported(path);
  }
  if (options_->faults.hang_ns != 0) look_for_hangs(writer);
  if (options_->faults.checks) look_for_findings(writer);
  if (!waves_.empty()) look_for_untold(writer);
  return reports_ != before;
}

// One report per finding; the software GPU writes each finding once.
void FaultWatch::look_for_findings(store::Writer* writer) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(waves_, error);
  if (error || bytes == checked_) return;
  for (const fault::Wave& wave : fault::read_findings(waves_, checked_)) {
    ++findings_;
    for (const std::string& path : fault::list_boards(session_)) {
      const auto board = fault::read_board(path);
      if (!board || board->state->pid != wave.pid) continue;
      fault::Occasion now = occasion();
      now.kind = fault::Occasion::Kind::kCheck;
      now.found = &wave;
      tell(*board, now, writer);
      break;
    }
  }
}

// Finds faults of programs that wait forever, which appear nowhere else.
void FaultWatch::look_for_untold(store::Writer* writer) {
  const int64_t now_ns = monotonic_now_ns();
  std::error_code error;
  const auto bytes = std::filesystem::file_size(waves_, error);
  if (!error && bytes != faulted_) {
    for (fault::Wave& wave : fault::read_faulted(waves_, faulted_)) {
      untold_.try_emplace(wave.pid, Faulted{std::move(wave), now_ns});
    }
  }
  for (auto& [pid, faulted] : untold_) {
    if (faulted.seen_ns == 0 || now_ns - faulted.seen_ns < kUntoldNs) continue;
    faulted.seen_ns = 0;  // at most one per process
    for (const std::string& path : fault::list_boards(session_)) {
      if (!told_.contains(path)) tell_untold(path, faulted.wave, writer);
    }
  }
}

void FaultWatch::tell_untold(const std::string& path, const fault::Wave& wave,
                             store::Writer* writer) {
  auto board = fault::read_board(path);
  if (!board || board->state->pid != wave.pid || fault::fault_count(path) != 0) return;
  const fault::LiveProcess process(*board->state, path);
  if (process.trouble() != 0) return;
  told_.insert(path);
  fault::CodeObjects code(board->objects);
  fault::add_untold(wave, code, process, *board);
  fault::Occasion now = occasion();
  now.process = &process;
  now.untold = true;
  tell(*board, now, writer);
  fault::set_reported(path);  // the runtime may be about to report it
}

fault::Occasion FaultWatch::occasion() const {
  fault::Occasion occasion;
  occasion.program = command_text(*options_);
  occasion.waves_file = waves_;
  const auto file = find_command(options_->command[0]);
  occasion.on_softgpu = (file && is_softgpu(*file)) || !waves_.empty();
  return occasion;
}

// Without a software GPU, AMD's debugger library may know the waves.
void FaultWatch::ask_cards(const fault::Board& board, fault::Occasion& occasion) const {
  if (!waves_.empty() || occasion.on_softgpu || occasion.process->trouble() != 0) return;
  occasion.waves_file = waves_file(session_);
  std::error_code error;
  const auto before = std::filesystem::file_size(occasion.waves_file, error);
  occasion.waves_from = error ? 0 : before;
  occasion.no_waves = fault::write_card_waves(board.state->pid, occasion.waves_file);
}

void FaultWatch::tell_state_of(const std::string& path, fault::Occasion::Kind kind,
                               int64_t since_ns, store::Writer* writer) {
  fault::Occasion now = occasion();
  now.kind = kind;
  now.since_ns = since_ns;
  if (!waves_.empty()) now.waves_from = ask_for_waves(waves_);
  now.time_ns = monotonic_now_ns();
  ask_where_threads_are(path, now);
  const auto board = fault::read_board(path);
  if (!board) return say("no report of the GPU: " + board.error().to_line());
  const fault::LiveProcess process(*board->state, path);
  now.process = &process;
  ask_cards(*board, now);
  const auto others = other_boards(path, *board);
  now.all.push_back(&*board);
  for (const fault::Board& other : others) now.all.push_back(&other);
  tell(*board, now, writer);
}

void FaultWatch::ask_where_threads_are(const std::string& path, fault::Occasion& now) {
  ThreadStopper stopper(path);  // before asking: the process then answers at once
  if (!fault::ask_for_threads(path, kThreadsNs)) {
    now.no_threads = "the process did not report them";
  } else {
    stopper.stop_running(kThreadsNs);
  }
  const auto late = stopper.take_late();
  late_threads_.insert(late_threads_.end(), late.begin(), late.end());
}

// The boards of the job's other ranks: other processes, possibly in sessions of their own.
std::vector<fault::Board> FaultWatch::other_boards(const std::string& path,
                                                   const fault::Board& own) const {
  constexpr size_t kMostBoards = 64;  // of 10 MB each
  std::vector<fault::Board> boards;
  std::vector<std::string> paths = fault::list_boards(session_);
  for (std::string& other : fault::list_neighbours(session_)) paths.push_back(std::move(other));
  for (const std::string& other : paths) {
    if (other == path || boards.size() == kMostBoards) continue;
    if (!fault::shares_communicator(*own.state, other)) continue;
    if (auto board = fault::read_board(other)) boards.push_back(std::move(*board));
  }
  return boards;
}

void FaultWatch::tell_state(store::Writer* writer) {
  const auto boards = fault::list_boards(session_);
  for (const std::string& path : boards) {
    tell_state_of(path, fault::Occasion::Kind::kAsked, 0, writer);
  }
  if (boards.empty()) say("no report: nothing that runs has used ROCm so far");
}

// Reports each hang of a process once.
bool FaultWatch::look_for_hangs(store::Writer* writer) {
  const int64_t now_ns = monotonic_now_ns();
  if (now_ns - looked_ns_ < kHangLookNs) return false;
  looked_ns_ = now_ns;
  for (const std::string& path : fault::list_boards(session_)) {
    const auto seen = fault::progress_of(path);
    if (!seen || told_.contains(path)) continue;
    Progress& known = progress_[path];
    const bool may_work = seen->in_flight != 0 || seen->open != 0 || seen->in_calls != 0;
    if (!may_work || known.since_ns == 0 || *seen != known.seen) {
      known = {*seen, now_ns, false};
      continue;
    }
    if (known.told || now_ns - known.since_ns < options_->faults.hang_ns) continue;
    const bool has_begun = seen->in_flight != 0 || seen->in_calls != 0;
    if (!has_begun && !waits_for_signal(path)) {
      known.since_ns = now_ns;
      continue;
    }
    known.told = true;
    tell_state_of(path, fault::Occasion::Kind::kHang, known.since_ns, writer);
  }
  return true;
}

// For a program that crashed on a device that is the CPU itself.
void FaultWatch::look_at_opencl(const End& end, store::Writer* writer) {
  if (!is_crash(end.signal)) return;
  for (const std::string& path : fault::list_cl_boards(session_)) {
    const auto board = fault::read_cl_board(path);
    if (!board || (*board)->pid != end.pid || fault::in_flight(**board) == 0) continue;
    fault::CodeObjects none({});
    show(fault::opencl_crash(**board, command_text(*options_),
                             how_it_ended(end.exit_status, end.signal), end.time_ns),
         none, nullptr, writer);
  }
}

// Reports failed calls regardless of how the program ended: with memory checks, a copy that HIP has
// refused; and a launch without code for the GPU, which HIP 5.7 leaves to the program to check, and
// 5.2 aborts at.
void FaultWatch::look_at_failed_calls(const End& end, store::Writer* writer) {
  for (const std::string& path : fault::list_boards(session_)) {
    if (told_.contains(path) || !fault::call_failed(path)) continue;
    const auto board = fault::read_board(path);
    if (!board) continue;
    fault::Occasion now = occasion();
    now.kind = fault::Occasion::Kind::kCallError;
    now.ended = how_it_ended(end.exit_status, end.signal);
    now.time_ns = end.time_ns;
    fault::CodeObjects code(board->objects);
    const fault::FaultReport report = fault::compose(*board, code, now, names_of_files());
    const bool is_refused = options_->faults.checks_memory && report.call_misuses_memory;
    const bool nothing_ran = report.call_lacks_code && end.exit_status == 0 && end.signal == 0;
    if (!is_refused && !nothing_ran) continue;
    told_.insert(path);
    findings_ += is_refused ? 1 : 0;
    show(report, code, nullptr, writer);
  }
}

bool FaultWatch::look_at_end(const End& end, store::Writer* writer) {
  if (options_ == nullptr || !options_->faults.watch) return false;
  const int before = reports_;
  look(writer);
  look_at_failed_calls(end, writer);
  if (end.exit_status == 0 && end.signal == 0) return reports_ != before;
  look_at_opencl(end, writer);
  if (options_->faults.only && reports_ == before && fault::list_boards(session_).empty()) {
    say(fmt::format("no report: nothing that ran used ROCm, or there was no room for {} in {}",
                    format_size(sizeof(wire::Board)), session_));
  }
  for (const std::string& path : fault::list_boards(session_)) {
    if (told_.contains(path)) continue;
    const auto board = fault::read_board(path);
    if (!board || (!end.behind_softgpu && board->state->pid != end.pid)) continue;
    const bool by_call = failed_by_call(*board->state, end.time_ns);
    const bool by_crash = is_crash(end.signal) && has_work(*board->state);
    // HIP aborts a program that has no kernel for the GPU.
    const bool launched = board->state->next_dispatch != 0;
    const std::string wrong = end.signal == SIGABRT && !launched
                                  ? fault::wrong_architecture(*board->state)
                                  : std::string();
    if (!by_call && !by_crash && wrong.empty()) continue;
    told_.insert(path);
    fault::Occasion occasion;
    occasion.kind = by_call ? fault::Occasion::Kind::kCallError : fault::Occasion::Kind::kCrash;
    occasion.program = command_text(*options_);
    occasion.wrong_architecture = wrong;
    occasion.ended = how_it_ended(end.exit_status, end.signal);
    occasion.time_ns = end.time_ns;
    occasion.on_softgpu = end.behind_softgpu;
    tell(*board, occasion, writer);
  }
  return reports_ != before;
}

}  // namespace sonde::record
