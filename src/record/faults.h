// FaultWatch: looks at the boards of the processes that are recorded, and tells of the first
// failure of each: on stderr or in a file, and in the trace.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "fault/compose.h"
#include "record/options.h"
#include "store/faults.h"
#include "store/writer.h"

namespace sonde::record {

class FaultWatch {
 public:
  FaultWatch() = default;
  // Makes the folder in which processes put their boards.
  static Result<FaultWatch> open(const std::string& session, const Options& options);

  // True if a report was written to the trace (which may be absent). Composes it from what the
  // failed process has published, whether that still runs or not.
  bool look(store::Writer* writer);

  // Somebody wants to know what the GPUs do now.
  void tell_state(store::Writer* writer);

  // The command has ended, as its parent was told: an end by itself with work on a GPU, or because
  // of a call into HIP that failed, is told of too.
  struct End {
    int64_t pid = 0;
    int exit_status = 0, signal = 0;
    int64_t time_ns = 0;
    bool behind_softgpu = false;  // the command is its launcher, which ends as its child does
  };
  bool look_at_end(const End& end, store::Writer* writer);

  void count_in(Outcome& outcome) const {
    outcome.faults = reports_;
    outcome.findings = findings_;
  }

 private:
  // How far the GPUs of a process have come, and since when.
  struct Progress {
    fault::Progress seen;
    int64_t since_ns = 0;
    bool told = false;
  };
  void look_at_opencl(const End& end, store::Writer* writer);
  bool look_for_hangs(store::Writer* writer);
  void look_for_findings(store::Writer* writer);
  void look_for_untold(store::Writer* writer);
  void tell_untold(const std::string& path, const fault::Wave& wave, store::Writer* writer);
  void look_at_failed_calls(const End& end, store::Writer* writer);
  void tell_state_of(const std::string& path, fault::Occasion::Kind kind, int64_t since_ns,
                     store::Writer* writer);
  void ask_where_threads_are(const std::string& path, fault::Occasion& now);
  std::vector<fault::Board> other_boards(const std::string& path, const fault::Board& own) const;
  fault::Occasion occasion() const;
  void ask_cards(const fault::Board& board, fault::Occasion& occasion) const;
  void tell(const fault::Board& board, const fault::Occasion& occasion, store::Writer* writer);
  void show(const fault::FaultReport& report, fault::CodeObjects& code,
            const fault::LiveProcess* process, store::Writer* writer);
  void print(const fault::FaultReport& report) const;
  Status keep(const store::FaultRow& row, const fault::FaultReport& report,
              const fault::LiveProcess* process, fault::CodeObjects& code) const;

  std::string session_, waves_;
  const Options* options_ = nullptr;
  std::set<std::string> told_;                // boards
  std::map<std::string, Progress> progress_;  // by board
  int64_t looked_ns_ = 0;
  size_t checked_ = 0;  // bytes of the waves' file
  size_t faulted_ = 0;  // the same, as far as faults were looked for
  struct Faulted {
    fault::Wave wave;
    int64_t seen_ns = 0;
  };
  std::map<int64_t, Faulted> untold_;  // the first of each process that its runtime may tell of yet
  int reports_ = 0, findings_ = 0;
  std::vector<pid_t> late_threads_;  // to be let go as soon as they stand
  bool has_core_ = false;            // Options' file was begun, by us
};

// Where the software GPU puts the waves of a session.
std::string waves_file(const std::string& session);
// What of the command and its output is in the session.
void place_in_session(Options& options, const std::string& session);

// "signal 11", "exit 1".
std::string how_it_ended(int exit_status, int signal);
// The same of what wait() tells; 0: no signal ended it.
int signal_of(int wait_status);
std::string how_it_ended(int wait_status);

}  // namespace sonde::record
