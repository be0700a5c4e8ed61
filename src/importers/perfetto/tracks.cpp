#include "importers/perfetto/tracks.h"

#include "base/numbered.h"
#include "base/strings.h"
#include "importers/input/proto_reader.h"

namespace sonde::importers {

namespace {

constexpr int kMaxDepth = 64;  // of tracks below tracks
// Rows of a track that is not a thread: numbers that no thread has, as for texts in Chrome's
// traces.
constexpr int64_t kFirstTrackTid = -1000;

// rocprofv3 names the tracks of its threads "THREAD 0 (4711)".
std::optional<int64_t> tid_in_name(std::string_view name) {
  if (!starts_with_any(name, {"THREAD ", "Thread "}) || name.empty() || name.back() != ')') {
    return std::nullopt;
  }
  const size_t open = name.rfind('(');
  if (open == name.npos) return std::nullopt;
  return parse_int(name.substr(open + 1, name.size() - open - 2));
}

// How Sonde writes a number that viewers have no room for.
std::optional<int64_t> number_behind(std::string_view word, std::string_view description) {
  if (description.substr(0, word.size()) != word) return std::nullopt;
  return parse_int(description.substr(word.size()));
}

}  // namespace

uint32_t PerfettoTracks::index(uint64_t uuid) {
  return numbered(by_uuid_, tracks_, uuid, PerfettoTrack());
}

void PerfettoTracks::describe(std::string_view message) {
  uint64_t uuid = 0;
  std::string_view description;
  read_fields(message, ProtoField{1, uuid}, ProtoField{14, description});
  PerfettoTrack& track = tracks_[index(uuid)];
  ProtoReader reader(message);
  while (reader.next()) {
    switch (reader.field()) {
      case 2:
      case 10:  // static_name
        track.name = pool_.id(reader.bytes());
        break;
      case 3:
        process(track, reader.bytes());
        if (const auto real = number_behind("sonde pid ", description); real && track.pid) {
          real_pids_[*track.pid] = *real;
        }
        break;
      case 4:
        thread(track, reader.bytes(), description);
        break;
      case 5:
        track.parent = reader.number();
        break;
      case 8: {
        ProtoReader counter(reader.bytes());
        while (counter.next()) {
          if (counter.field() == 4 && counter.number() > 0) {
            track.unit_multiplier = counter.integer();
          }
          if (counter.field() == 5) track.incremental = counter.number() != 0;
        }
        break;
      }
      default:
        break;
    }
  }
}

void PerfettoTracks::process(PerfettoTrack& track, std::string_view message) {
  std::optional<int32_t> pid;
  std::vector<std::string_view> command;
  std::string_view name;
  read_fields(message, ProtoField{1, pid}, ProtoField{2, command}, ProtoField{6, name});
  if (pid) track.pid = *pid;
  if (track.pid) add_process(*track.pid, command, name);
}

// What is not said stays as it was.
PerfettoProcess& PerfettoTracks::add_process(int64_t pid,
                                             const std::vector<std::string_view>& command,
                                             std::string_view name) {
  PerfettoProcess& process = processes_[pid];
  std::string line;
  for (const std::string_view word : command) {
    if (!line.empty()) line += ' ';
    line += valid_utf8(word);
  }
  if (!line.empty()) process.command = std::move(line);
  if (!name.empty()) process.name = valid_utf8(name);
  return process;
}

void PerfettoTracks::add_thread(int64_t pid, int64_t tid, std::string_view name) {
  processes_.try_emplace(pid);
  threads_.push_back({pid, tid, valid_utf8(name)});
}

void PerfettoTracks::thread(PerfettoTrack& track, std::string_view message,
                            std::string_view description) {
  std::optional<int32_t> pid;
  std::string_view name;
  read_fields(message, ProtoField{1, pid}, ProtoField{2, track.tid}, ProtoField{5, name});
  track.pid = pid ? *pid : track.pid.value_or(0);
  track.tid = number_behind("sonde tid ", description).value_or(track.tid.value_or(0));
  add_thread(*track.pid, *track.tid, name);
}

void PerfettoTracks::process_tree(std::string_view message) {
  ProtoReader reader(message);
  while (reader.next()) {
    int32_t pid = 0, tid = 0;
    if (reader.field() == 1) {
      std::optional<int32_t> ppid;
      std::vector<std::string_view> command;
      read_fields(reader.bytes(), ProtoField{1, pid}, ProtoField{2, ppid}, ProtoField{3, command});
      PerfettoProcess& process = add_process(pid, command, {});
      if (ppid) process.ppid = *ppid;
    } else if (reader.field() == 2) {
      std::string_view name;
      read_fields(reader.bytes(), ProtoField{1, tid}, ProtoField{2, name}, ProtoField{3, pid});
      add_thread(pid, tid, name);
    }
  }
}

uint32_t PerfettoTracks::sequence_track(uint32_t sequence) {
  return numbered(by_sequence_, tracks_, sequence, PerfettoTrack());
}

void PerfettoTracks::sequence_thread(uint32_t sequence, std::string_view message) {
  thread(tracks_[sequence_track(sequence)], message, {});
}

void PerfettoTracks::settle() {
  if (real_pids_.empty()) return;
  for (PerfettoTrack& track : tracks_) {
    if (track.pid) track.pid = real_pid(*track.pid);
  }
  for (Thread& thread : threads_) thread.pid = real_pid(thread.pid);
  std::unordered_map<int64_t, PerfettoProcess> processes;
  for (auto& [pid, process] : processes_) processes[real_pid(pid)] = std::move(process);
  processes_ = std::move(processes);
}

int64_t PerfettoTracks::only_pid() const {
  return processes_.size() == 1 ? processes_.begin()->first : 0;
}

PerfettoTracks::Place PerfettoTracks::place(uint32_t index) const {
  Place place;
  uint32_t at = index;
  std::optional<int64_t> pid, tid;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    const PerfettoTrack& track = tracks_[at];
    if (!tid) tid = track.tid;
    if (!tid && at == index) tid = tid_in_name(pool_.at(track.name));
    if (!pid) pid = track.pid;
    if (pid) break;
    const auto parent = by_uuid_.find(track.parent);
    if (track.parent == 0 || parent == by_uuid_.end() || parent->second == at) break;
    at = parent->second;
  }
  place.pid = pid.value_or(only_pid());
  place.process = pid.has_value();
  place.thread = tid.has_value();
  // A track of a process itself, or one that is not a thread's.
  place.tid = tid.value_or(tracks_[index].pid ? *tracks_[index].pid
                                              : kFirstTrackTid - static_cast<int64_t>(index));
  return place;
}

}  // namespace sonde::importers
