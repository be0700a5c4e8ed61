// FaultWatch: watches the boards of the recorded processes, and reports the first failure of each:
// on stderr or in a file, and in the trace.
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
  // Makes the folder for the boards of processes.
  static Result<FaultWatch> open(const std::string& session, const Options& options);

  // True if a report was written to the trace (which may be absent). Composes it from what the
  // failed process has published, whether it still runs or not.
  bool look(store::Writer* writer);

  // A user asked what the GPUs are doing now.
  void tell_state(store::Writer* writer);

  // The command has ended: also reports crashes with work on a GPU, and exits because of a failed
  // HIP call.
  struct End {
    int64_t pid = 0;
    int exit_status = 0, signal = 0;
    int64_t time_ns = 0;
    bool behind_softgpu = false;  // the command is softgpu's launcher, which ends as its child does
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
  std::set<std::string> told_;                // boards already reported
  std::map<std::string, Progress> progress_;  // by board
  int64_t looked_ns_ = 0;
  size_t checked_ = 0;  // bytes of the waves' file
  size_t faulted_ = 0;  // the same for the search for faults
  struct Faulted {
    fault::Wave wave;
    int64_t seen_ns = 0;
  };
  // Each process' first fault that its runtime may still report.
  std::map<int64_t, Faulted> untold_;
  int reports_ = 0, findings_ = 0;
  std::vector<pid_t> late_threads_;  // to be detached once they stop
  bool has_core_ = false;            // Options' core file was begun by us
};

// The file for the waves of a session's software GPU.
std::string waves_file(const std::string& session);
// Replaces placeholders in the command, and output names, by files in the session.
void place_in_session(Options& options, const std::string& session);

// "signal 11", "exit 1".
std::string how_it_ended(int exit_status, int signal);
// For a status of wait(). 0: not ended by a signal.
int signal_of(int wait_status);
std::string how_it_ended(int wait_status);

}  // namespace sonde::record
