// What `sonde record` was asked to do.
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

// A word of a command that stands for the file that softgpu writes waves to.
inline constexpr const char* kWavesFile = "{waves}";

// Reports of GPUs that fail (faults.h).
struct FaultOptions {
  bool watch = true;
  bool only = false;   // sonde debug: nothing else is kept
  std::string output;  // "" = stderr
  std::string core;    // a new .rpd that gets the reports and nothing else; "" = none
  bool json = false;
  bool all = false;            // every wave with its registers
  int64_t hang_ns = 0;         // without progress of a GPU that has work: 0 is for ever
  bool on_quit = false;        // SIGQUIT asks for a report, and is not the command's
  bool checks = false;         // what --check finds is told, from the same file
  bool checks_memory = false;  // copies that HIP refuses as well, with a software GPU or without
  bool waves = false;  // the command has kWavesFile among its words: it becomes a file's name
  std::string waves_of_others;  // where a software GPU that is none of ours puts waves; "" = none
  bool agent_layout = false;    // also as AMD's debug agent prints it, all reports in one file
  std::optional<std::string> save_folder;  // of the code objects
};

// More than one file (parts.h).
struct RotationOptions {
  int64_t every_ns = 0;  // a new part begins; 0 = there is one file
  int keep = 0;          // parts that have ended; the oldest are deleted. 0 = all
  int64_t last_ns = 0;   // of what was recorded, one file has the end, and the parts are deleted
  // When a snapshot is written: the recorder gets the signal (0: none), or sonde check finds it in
  // what is kept ("": nothing), which is looked for whenever a part has ended.
  int trigger_signal = 0;
  std::string trigger_finding;
};

struct Options {
  std::string output;         // "" = trace.rpd; may have keys (names.h); each rank has its own
  bool append = false;        // add to an existing trace of Sonde's
  bool overwrite = false;     // replace an existing trace that is finished
  std::string name_file;      // the trace's name is written there; "" = nowhere
  std::string spool_folder;   // "" = $SONDE_SPOOL_DIR, $TMPDIR or /tmp
  uint64_t buffer_limit = 0;  // bytes of all chunks; 0 = by the free space (session_limit)
  uint64_t orphan_limit = uint64_t{256} << 20;  // of those made when the recorder is gone
  bool drop_when_full = false;  // --buffer-policy drop: the limit is 256 MiB if not given
  RotationOptions rotation;
  uint64_t max_size = 0;                 // of the .rpd, in bytes; recording stops there; 0 = none
  bool start = true;                     // false: recording waits for sonde_start()
  std::string marker_window;             // only while a range is open that matches; "" = none
  int64_t delay_ns = 0;                  // recording begins after
  int64_t duration_ns = 0;               // and lasts; 0 = to the end
  int64_t every_ns = 0;                  // and again, from its beginning; 0 = once
  int rounds = 0;                        // so often; 0 = for ever
  std::optional<wire::ClockKind> clock;  // nullopt = the best of this machine
  WaitPolicy wait = WaitPolicy::kNone;
  std::optional<std::vector<std::string>> backends;  // by name; nullopt = all
  uint32_t sample_hz = 100;                          // of each thread's CPU time; 0 = not sampled
  bool sample_blocked = false;                       // and of the wall time of those that wait
  bool launch_stacks = false;                        // of calls that launch work of a device
  monitor::Settings metrics;                         // none unless some are selected
  bool pc_samples = false;                           // of what softgpu writes to kWavesFile
  bool quiet = false;                                // no status line and no summary
  std::vector<std::string> environment;              // "NAME=value", added to the command's
  // Lines of its standard error that begin with the prefix go to a file instead; "" = none.
  std::string stderr_log, stderr_prefix;
  FaultOptions faults;
  std::vector<std::string> command;
  pid_t pid = 0;  // instead of a command: a process that runs already (attach.h)
};

struct Outcome {
  std::string path;     // of the .rpd, "" if none was made
  int exit_status = 0;  // of the command
  int signal = 0;       // that ended it, or 0
  int64_t wall_ns = 0;
  uint64_t apis = 0, ops = 0, lost = 0;
  int faults = 0;                             // reports of GPUs that failed
  int findings = 0;                           // of them those of --check after which it went on
  int left_running = 0;                       // processes that were let go
  std::string kept_session;                   // the session directory, if it still holds records
  bool interrupted = false;                   // a second Ctrl-C left them there
  std::vector<int64_t> stderr_line_times_ns;  // of Options::stderr_log
};

}  // namespace sonde::record
