#include "record/live.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/strings.h"
#include "record/announced.h"
#include "record/parts.h"
#include "record/session_dir.h"
#include "record/sessions.h"
#include "wire/changes.h"
#include "wire/records.h"
#include "wire/session.h"

namespace sonde::record {

namespace {

constexpr int kTurns = 2000;  // of 1 ms: a slower recorder obeys later

bool runs(int64_t pid) { return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM; }

std::vector<int64_t> processes_of(const std::string& session) {
  std::vector<int64_t> pids;
  for (const Announcement& each : Announced(session).read_new()) {
    if (each.header.pid != 0 && runs(each.header.pid)) pids.push_back(each.header.pid);
  }
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

bool means(const std::string& word, const LiveRecording& recording) {
  if (const auto pid = parse_int(word)) {
    if (std::find(recording.processes.begin(), recording.processes.end(), *pid) !=
        recording.processes.end()) {
      return true;
    }
  }
  const std::filesystem::path output = recording.output;
  std::error_code error;
  const auto is = [&](const std::filesystem::path& path) {
    return word == path.string() || word == path.filename() || word == path.stem() ||
           std::filesystem::weakly_canonical(word, error) ==
               std::filesystem::weakly_canonical(path, error);
  };
  const auto base = base_of_part(recording.output);
  return is(output) || (base && is(*base));
}

}  // namespace

std::vector<LiveRecording> live_recordings() {
  std::vector<LiveRecording> recordings;
  for (const Session& session : find_sessions(session_places())) {
    if (!session.being_read) continue;
    const auto control = wire::Control::attach(session.path);
    if (!control) continue;  // of another version, or just ended
    LiveRecording recording;
    recording.session = session.path;
    recording.output = session.output;
    recording.processes = processes_of(session.path);
    recording.waits_for_program = (*control)->autostart == 0;
    recording.position =
        static_cast<wire::Switch>(__atomic_load_n(&(*control)->recording, __ATOMIC_RELAXED));
    recording.asked =
        static_cast<wire::Asked>(__atomic_load_n(&(*control)->asked, __ATOMIC_RELAXED));
    recordings.push_back(std::move(recording));
  }
  return recordings;
}

Result<std::vector<LiveRecording>> choose_recordings(const std::vector<std::string>& words,
                                                     bool all) {
  std::vector<LiveRecording> live = live_recordings();
  if (live.empty()) {
    return make_error(ErrorCode::kNotFound, "no recording of yours is in progress", "",
                      "sonde record --no-start -- COMMAND begins one that waits for sonde start");
  }
  if (all) return live;
  if (words.empty()) {
    if (live.size() == 1) return live;
    return make_error(ErrorCode::kInvalidArgument,
                      std::to_string(live.size()) + " recordings are in progress", "",
                      "name a process or a trace of those that sonde status lists, or give --all");
  }
  std::vector<LiveRecording> chosen;
  for (const std::string& word : words) {
    const auto found =
        std::find_if(live.begin(), live.end(), [&](const auto& each) { return means(word, each); });
    if (found == live.end()) {
      return make_error(ErrorCode::kNotFound, "no recording has this process or trace", word,
                        "sonde status lists them");
    }
    const auto other =
        std::find_if(found + 1, live.end(), [&](const auto& each) { return means(word, each); });
    // A path or a process is unambiguous; a name that two recordings share is not.
    if (other != live.end() && found->output != word) {
      return make_error(ErrorCode::kInvalidArgument,
                        "is " + found->output + " and " + other->output, word,
                        "give a path or a process of one of them");
    }
    chosen.push_back(*found);
  }
  return chosen;
}

std::string switched_text(wire::Asked asked) {
  return asked == wire::Asked::kOn ? "recording was switched on by sonde start"
                                   : "recording was switched off by sonde stop";
}

Status switch_recording(const LiveRecording& recording, wire::Asked asked) {
  SONDE_ASSIGN(wire::Control control, wire::Control::attach(recording.session));
  // The recorder does the same in its next turn; writing it here as well saves the processes the
  // wait.
  __atomic_store_n(&control->asked, static_cast<uint32_t>(asked), __ATOMIC_RELEASE);
  const bool may_be_on = __atomic_load_n(&control->closed, __ATOMIC_RELAXED) == 0;
  __atomic_store_n(&control->recording, may_be_on ? position_of(asked) : wire::kOff,
                   __ATOMIC_RELAXED);
  wire::tell_change(*control);
  // The recorder may be in the middle of a turn and still write the old value.
  for (int i = 0; i < kTurns; ++i) {
    if (__atomic_load_n(&control->obeyed, __ATOMIC_ACQUIRE) == static_cast<uint32_t>(asked)) break;
    ::usleep(1000);
  }
  return ok_status();
}

Result<std::vector<std::string>> cut_recording(const LiveRecording& recording) {
  // Turns of 1 ms: finishing a part of a busy program takes seconds.
  constexpr int kPatience = 60'000;
  const auto base = base_of_part(recording.output);
  if (!base) {
    return make_error(ErrorCode::kUnsupported, "it goes into one file, which can already be read",
                      recording.output,
                      "sonde record --last 30s -- COMMAND keeps what a snapshot has");
  }
  SONDE_ASSIGN(wire::Control control, wire::Control::attach(recording.session));
  const uint32_t asked = __atomic_add_fetch(&control->cut_asked, 1, __ATOMIC_ACQ_REL);
  for (int i = 0; i < kPatience; ++i) {
    const uint32_t done = __atomic_load_n(&control->cut_done, __ATOMIC_ACQUIRE);
    if (static_cast<int32_t>(done - asked) >= 0) break;
    if (!wire::is_being_read(recording.session)) {
      return make_error(ErrorCode::kNotFound, "the recording has just ended", recording.output);
    }
    if (i + 1 == kPatience) {
      return make_error(ErrorCode::kIo, "the recorder does not answer", recording.output,
                        "it may be stopped; sonde status lists those that are in progress");
    }
    ::usleep(1000);
  }
  SONDE_ASSIGN(const std::string current, read_output_name(recording.session));
  std::vector<std::string> parts = parts_of(*base);
  parts.erase(std::find(parts.begin(), parts.end(), current), parts.end());
  return parts;
}

}  // namespace sonde::record
