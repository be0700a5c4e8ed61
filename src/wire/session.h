// The session directory, as the tool sees it: made by the recorder, found again by `sonde recover`.
//   <session>/control            SessionControl, shared by everyone
//   <session>/p<PID>-<SPOOL>/    one folder per process image
//   <session>/p.../r<RING>-<N>   chunk files; ring 0 holds the definitions
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/chunk.h"

namespace sonde::wire {

struct SessionOptions {
  uint64_t limit_bytes = uint64_t{4} << 30;     // of all chunks together
  uint64_t orphan_bytes = uint64_t{256} << 20;  // of what is added when the recorder is gone
  bool autostart = true;                        // false: processes wait for sonde_start()
  bool recording = true;                        // false: until set in the control file
  ClockKind clock = ClockKind::kMonotonic;
  uint32_t sample_hz = 0;  // per thread; 0 = no samples
  bool sample_blocked = false;
  bool launch_stacks = false;  // take the stacks of calls that launch work
};

// The control file, mapped and locked: held by one recorder or recovery at a time. Move-only;
// unmaps on destruction.
class Control {
 public:
  Control() = default;
  Control(Control&& other) noexcept;
  Control& operator=(Control&& other) noexcept;
  ~Control();
  // Makes the file in an existing directory.
  static Result<Control> create(const std::string& session, const SessionOptions& options);
  // The file must exist and be well-formed.
  static Result<Control> open(const std::string& session);
  // Maps the control file of a session that another process reads, without taking the lock.
  static Result<Control> attach(const std::string& session);

  SessionControl* operator->() const { return control_; }
  SessionControl& operator*() const { return *control_; }
  bool valid() const { return control_ != nullptr; }

 private:
  static Result<Control> map(const std::string& session, UniqueFd fd);
  Control(SessionControl* control, UniqueFd fd) : control_(control), fd_(std::move(fd)) {}
  SessionControl* control_ = nullptr;
  UniqueFd fd_;  // holds the lock
};

// Whether a recorder or a recovery holds the session's control file.
bool is_being_read(const std::string& session);

// Whether this machine has run since the session was made, so that clocks, processes and their
// numbers are the same ones. True if the session does not say.
bool is_of_this_boot(const SessionControl& control);

// The best clock of this machine: the TSC if it is invariant and the kernel keeps time by it.
ClockKind best_clock();
// All clocks at one moment, the narrowest reading of a few tries.
ClockReading read_clocks_exactly(ClockKind kind);

struct SpoolFolder {
  std::string path;
  uint32_t pid = 0;
  uint64_t spool = 0;
  bool other_namespace = false;  // the pid belongs to another pid namespace than the recorder's
};
struct ChunkFile {
  std::string path;
  uint32_t ring = 0;
  uint64_t file = 0;
};
// In the order in which they were made. Other names are ignored.
std::vector<SpoolFolder> list_spools(const std::string& session);
std::vector<ChunkFile> list_chunks(const std::string& folder);

}  // namespace sonde::wire
