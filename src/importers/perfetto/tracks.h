// PerfettoTracks: the tracks of a .pftrace, and the process and thread that each stands for. Used
// by the Perfetto importer; tracks may be described after their events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/value_or.h"
#include "importers/perfetto/texts.h"

namespace sonde::importers {

struct PerfettoTrack {
  uint64_t parent = 0;  // its uuid
  uint32_t name = 0;
  bool incremental = false;  // a counter
  int64_t unit_multiplier = 1;
  std::optional<int64_t> pid, tid;  // of its own descriptor
};

struct PerfettoProcess {
  std::string name, command;
  std::optional<int64_t> ppid;
};

class PerfettoTracks {
 public:
  explicit PerfettoTracks(TextPool& pool) : pool_(pool) {}

  uint32_t index(uint64_t uuid);            // of its track
  void describe(std::string_view message);  // a TrackDescriptor
  void process_tree(std::string_view message);
  // The track of a sequence whose events name none, by its thread_descriptor.
  void sequence_thread(uint32_t sequence, std::string_view message);
  uint32_t sequence_track(uint32_t sequence);

  const PerfettoTrack& at(uint32_t index) const { return tracks_[index]; }
  size_t size() const { return tracks_.size(); }

  // After the last description: puts pids that Sonde moved for the viewers back.
  void settle();
  int64_t real_pid(int64_t pid) const { return value_or(real_pids_, pid, pid); }

  // Where the rows of a track belong. Asked when all tracks are known.
  struct Place {
    int64_t pid = 0, tid = 0;
    bool process = false;  // of a process that the file names for it
    bool thread = false;   // of its own, or of the thread it hangs below
  };
  Place place(uint32_t index) const;
  // The only process of the file, or 0: of tracks that name none.
  int64_t only_pid() const;

  struct Thread {
    int64_t pid, tid;
    std::string name;
  };
  const std::unordered_map<int64_t, PerfettoProcess>& processes() const { return processes_; }
  const std::vector<Thread>& threads() const { return threads_; }

 private:
  void process(PerfettoTrack& track, std::string_view message);
  void thread(PerfettoTrack& track, std::string_view message, std::string_view description);
  PerfettoProcess& add_process(int64_t pid, const std::vector<std::string_view>& command,
                               std::string_view name);
  void add_thread(int64_t pid, int64_t tid, std::string_view name);

  TextPool& pool_;
  std::vector<PerfettoTrack> tracks_;
  std::unordered_map<uint64_t, uint32_t> by_uuid_;
  std::unordered_map<uint32_t, uint32_t> by_sequence_;
  std::unordered_map<int64_t, PerfettoProcess> processes_;
  std::vector<Thread> threads_;
  std::unordered_map<int64_t, int64_t> real_pids_;
};

}  // namespace sonde::importers
