#include "record/faults.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/free_name.h"
#include "base/printable.h"
#include "base/redact.h"
#include "base/strings.h"
#include "fault/text.h"
#include "record/command.h"
#include "record/launcher.h"
#include "record/symbols.h"
#include "store/faults.h"

namespace sonde::record {

namespace {

constexpr int64_t kSoonNs = 2'000'000'000;  // an end so soon after a failed call is due to it

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
  return error.time_ns != 0 && end_ns - error.time_ns < kSoonNs && board.gpu_count != 0 &&
         error.code != kNoDevice;
}

bool has_work(const wire::Board& board) {
  for (uint64_t i = 0; i < wire::kBoardDispatches; ++i) {
    const wire::BoardDispatch& dispatch = board.dispatches[i];
    const bool is_whole =
        dispatch.number != 0 && (dispatch.number - 1) % wire::kBoardDispatches == i;
    if (is_whole && board.ended_ns[i] == 0) return true;
  }
  return false;
}

// Whatever a name holds, a terminal shows it as text.
std::string shown(const std::string& text) {
  std::string safe;
  for (const auto line : split(text, '\n')) safe += printable(line) + "\n";
  while (safe.size() > 1 && safe[safe.size() - 2] == '\n') safe.pop_back();
  return safe;
}

void say(const std::string& line) { fmt::print(stderr, "sonde: {}\n", printable(line)); }

std::string command_text(const Options& options) {
  auto words = redact_arguments(options.command);
  // What the user asked for, without the launcher that was put before it.
  const auto end = std::find(words.begin(), words.end(), "--");
  if (options.faults.waves && end != words.end()) words.erase(words.begin(), std::next(end));
  std::string text;
  for (const auto& argument : words) text += (text.empty() ? "" : " ") + argument;
  return valid_utf8(text);
}

void save_code(fault::CodeObjects& code, const std::string& folder) {
  for (const std::string& line : fault::save_code_objects(code, folder)) {
    say("code object not saved: " + line);
  }
}

}  // namespace

std::string waves_file(const std::string& session) { return session + "/boards/waves.json"; }

std::string how_it_ended(int exit_status, int signal) {
  return signal != 0 ? fmt::format("signal {}", signal) : fmt::format("exit {}", exit_status);
}

Result<FaultWatch> FaultWatch::open(const std::string& session, const Options& options) {
  FaultWatch watch;
  watch.session_ = session;
  watch.options_ = &options;
  watch.waves_ = waves_file(session);
  if (!options.faults.watch) return watch;
  const std::string folder = session + "/boards";
  if (::mkdir(folder.c_str(), 0700) != 0) {
    return errno_error("cannot make the folder for reports of GPUs", folder, errno);
  }
  return watch;
}

void FaultWatch::print(const fault::FaultReport& report) const {
  const FaultOptions& options = options_->faults;
  const std::string text =
      options.json ? fault::json_of(report) + "\n" : fault::text_of(report, {options.all});
  if (options.output.empty()) {
    fmt::print(stderr, "{}", options.json ? text : shown(text));
    return;
  }
  const std::string path = reports_ == 0 ? options.output : free_name(options.output);
  std::ofstream file(path, std::ios::app);
  file << text << std::flush;
  if (!file) {
    say(path + ": cannot be written, so the report follows here");
    fmt::print(stderr, "{}", shown(text));
    return;
  }
  say(fmt::format("{}; the report is in {}", report.title, path));
}

void FaultWatch::tell(const fault::Board& board, const fault::Occasion& occasion,
                      store::Writer* writer) {
  fault::CodeObjects code(board.objects);
  const FaultOptions& options = options_->faults;
  if (options.save_folder) save_code(code, *options.save_folder);
  const fault::FaultReport report = fault::compose(board, code, occasion, names_of_file);
  print(report);
  ++reports_;
  if (writer == nullptr) return;
  const fault::Dispatch* dispatch = report.culprit ? &report.in_flight[*report.culprit] : nullptr;
  const auto added = store::add_fault(
      writer->database(),
      {report.pid, report.time_ns, report.gpu, report.kind, valid_utf8(report.title),
       valid_utf8(report.cause), dispatch != nullptr ? dispatch->kernel : "",
       valid_utf8(fault::text_of(report, {true})), fault::json_of(report)});
  if (!added) say("the report is not in the trace: " + added.error().to_line());
}

bool FaultWatch::look(store::Writer* writer) {
  if (options_ == nullptr || !options_->faults.watch) return false;
  const int before = reports_;
  for (const std::string& path : fault::list_boards(session_)) {
    if (told_.contains(path) || fault::fault_count(path) == 0) continue;
    told_.insert(path);
    const auto board = fault::read_board(path);
    if (!board) {
      say("no report of the GPU: " + board.error().to_line());
      continue;
    }
    fault::Occasion occasion;
    occasion.program = command_text(*options_);
    if (options_->faults.waves) occasion.waves_file = waves_;
    const auto file = find_command(options_->command[0]);
    occasion.on_softgpu = file && is_softgpu(*file);
    tell(*board, occasion, writer);
  }
  return reports_ != before;
}

bool FaultWatch::look_at_end(const End& end, store::Writer* writer) {
  if (options_ == nullptr || !options_->faults.watch) return false;
  const int before = reports_;
  look(writer);
  if (end.exit_status == 0 && end.signal == 0) return reports_ != before;
  if (options_->faults.only && fault::list_boards(session_).empty()) {
    say("no report: nothing that ran used ROCm, or there was no room for 7 MB in " + session_);
  }
  for (const std::string& path : fault::list_boards(session_)) {
    if (told_.contains(path)) continue;
    const auto board = fault::read_board(path);
    if (!board || (!end.behind_softgpu && board->state->pid != end.pid)) continue;
    const bool by_call = failed_by_call(*board->state, end.time_ns);
    const bool by_crash = is_crash(end.signal) && has_work(*board->state);
    if (!by_call && !by_crash) continue;
    told_.insert(path);
    fault::Occasion occasion;
    occasion.kind = by_call ? fault::Occasion::Kind::kCallError : fault::Occasion::Kind::kCrash;
    occasion.program = command_text(*options_);
    occasion.ended = how_it_ended(end.exit_status, end.signal);
    occasion.time_ns = end.time_ns;
    occasion.on_softgpu = end.behind_softgpu;
    tell(*board, occasion, writer);
  }
  return reports_ != before;
}

}  // namespace sonde::record
