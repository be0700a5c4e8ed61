// The options of `sonde record`.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "monitor/sampler.h"
#include "wire/chunk.h"

namespace sonde::record {

enum class WaitPolicy { kNone, kAll };  // for processes that outlive the command

// A placeholder word in the command for the file that softgpu writes waves to.
inline constexpr const char* kWavesFile = "{waves}";

// Reports of failing GPUs (faults.h).
struct FaultOptions {
  bool watch = true;
  bool only = false;   // sonde debug: records nothing else
  std::string output;  // "" = stderr
  std::string core;    // a new .rpd that only gets the reports; "" = none
  bool json = false;
  bool all = false;      // every wave with its registers
  int64_t hang_ns = 0;   // without progress of a GPU with work; 0 = never report a hang
  bool on_quit = false;  // SIGQUIT requests a report, and does not reach the command
  bool checks = false;   // report what --check finds, from the same file
  // Also report copies that HIP refuses, with or without a software GPU.
  bool checks_memory = false;
  bool waves = false;           // the command contains kWavesFile, to be replaced by a file name
  std::string waves_of_others;  // waves of a software GPU that we did not start; "" = none
  bool agent_layout = false;    // also in the layout of AMD's debug agent, all reports in one file
  std::optional<std::string> save_folder;  // for code objects
};

// Several files (parts.h).
struct RotationOptions {
  int64_t every_ns = 0;  // time between parts; 0 = a single file
  int keep = 0;          // number of ended parts to keep; older ones are deleted. 0 = all
  int64_t last_ns = 0;   // one file gets the last so many ns, and the parts are deleted
  // What triggers a snapshot: a signal to the recorder (0: none), or a finding of sonde check in
  // what is kept ("": none), which is checked whenever a part has ended.
  int trigger_signal = 0;
  std::string trigger_finding;
};

struct Options {
  std::string output;         // "" = trace.rpd; may have keys (names.h); one per rank
  bool append = false;        // add to an existing trace of Sonde
  bool overwrite = false;     // replace an existing, finished trace
  std::string name_file;      // file to write the trace's name to; "" = none
  std::string spool_folder;   // "" = $SONDE_SPOOL_DIR, $TMPDIR or /tmp
  uint64_t buffer_limit = 0;  // bytes of all chunks; 0 = depends on free space (session_limit)
  uint64_t orphan_limit = uint64_t{256} << 20;  // of chunks made after the recorder is gone
  bool drop_when_full = false;  // --buffer-policy drop: the limit is 256 MiB if not given
  RotationOptions rotation;
  uint64_t max_size = 0;                 // of the .rpd, in bytes; recording stops there; 0 = none
  bool start = true;                     // false: recording waits for sonde_start()
  std::string marker_window;             // record only while a matching range is open; "" = always
  int64_t delay_ns = 0;                  // before recording begins
  int64_t duration_ns = 0;               // of recording; 0 = to the end
  int64_t every_ns = 0;                  // from one beginning to the next; 0 = once
  int rounds = 0;                        // number of repetitions; 0 = unlimited
  std::optional<wire::ClockKind> clock;  // nullopt = the best on this machine
  WaitPolicy wait = WaitPolicy::kNone;
  std::optional<std::vector<std::string>> backends;  // names; nullopt = all
  // Per second of each thread's CPU time; 0 = not sampled.
  uint32_t sample_hz = 100;
  bool sample_blocked = false;           // also sample threads that wait, by wall time
  bool launch_stacks = false;            // for calls that launch work on a device
  monitor::Settings metrics;             // none unless selected
  bool pc_samples = false;               // from what softgpu writes to kWavesFile
  bool quiet = false;                    // no status line and no summary
  std::vector<std::string> environment;  // "NAME=value", added to the command's
  // Standard error lines with this prefix go to a file instead; "" = none.
  std::string stderr_log, stderr_prefix;
  FaultOptions faults;
  std::vector<std::string> command;
  pid_t pid = 0;  // instead of a command: a running process (attach.h)
};

struct Outcome {
  std::string path;     // of the .rpd, "" if there is none
  int exit_status = 0;  // of the command
  int signal = 0;       // the signal that ended it, or 0
  int64_t wall_ns = 0;
  uint64_t apis = 0, ops = 0, lost = 0;
  int faults = 0;  // reports of failed GPUs
  // Of these, findings of --check after which the program continued.
  int findings = 0;
  int left_running = 0;                       // processes that were still running
  std::string kept_session;                   // the session directory, if it still holds records
  bool interrupted = false;                   // a second Ctrl-C left them there
  std::vector<int64_t> stderr_line_times_ns;  // for Options::stderr_log
};

}  // namespace sonde::record
