// The files of a rotated recording (record --rotate, --keep, --last): trace.0001.rpd,
// trace.0002.rpd ... Each is a complete trace, and store::join_parts() joins several into one.
#pragma once

#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/options.h"
#include "store/ingest/ingest.h"
#include "store/rotation.h"
#include "store/writer.h"

namespace sonde::record {

class Drain;
class Metrics;

// "trace.rpd", 3 -> "trace.0003.rpd"
std::string part_name(const std::string& base, int number);
// "trace.0003.rpd" -> "trace.rpd"; nothing if it is not the name of a part.
std::optional<std::string> base_of_part(const std::string& part);
// The existing parts, in order.
std::vector<std::string> parts_of(const std::string& base);

// The part before the one that a session names, if its recorder was killed between naming that one
// and releasing the session from this one: the later part has nothing new yet, so the session
// continues here.
std::optional<std::string> part_not_ended(const std::string& current, const std::string& session);

// Removes the part after the one that a session continues with: the recorder was killed just before
// switching to it, and all its contents are still in the other part.
void remove_stray_part(const std::string& current, const std::string& session);

// The objects that a rotation replaces.
struct PartSinks {
  std::unique_ptr<store::Writer>& writer;
  std::unique_ptr<store::Ingest>& ingest;
  Drain& drain;
  Metrics* metrics;  // nullptr: no metrics
};

class Parts {
 public:
  // `first` is the name of the first part, which already exists.
  Parts(const RotationOptions& options, std::string session, uint64_t session_id,
        const std::string& first, int64_t now_ns);
  ~Parts();

  bool is_due(int64_t now_ns) const { return now_ns >= due_ns_; }
  // Ends the current part and continues in the next. A thread, which has exclusive use of that
  // file, finishes the ended part in the background. False: not now, because the part before is
  // not finished, or another program has been reading this one for long; nothing has changed.
  Result<bool> rotate(const PartSinks& sinks);
  // Whether all ended parts are complete; an error refers to the last one.
  Result<bool> are_whole();
  // The recording has ended, and its last part is complete. With --last, all parts become `base`.
  Result<std::string> finish(const std::string& last_part);

  struct Totals {
    uint64_t apis = 0, ops = 0, lost = 0;
  };
  const Totals& totals() const { return totals_; }  // of the ended parts

 private:
  Status wait();
  void forget_old();

  RotationOptions options_;
  std::string session_, base_;
  uint64_t session_id_;
  int number_ = 1;
  int64_t due_ns_;
  store::PartStart start_;
  std::deque<std::string> ended_;
  std::future<Status> finishing_;
  Totals totals_;
};

}  // namespace sonde::record
