// The files of a recording that is rotated (record --rotate, --keep, --last): trace.0001.rpd,
// trace.0002.rpd ... Each is a trace of its own, and store::join_parts() makes one of several.
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
// "trace.0003.rpd" -> "trace.rpd"; nothing if it is no name of a part.
std::optional<std::string> base_of_part(const std::string& part);
// The parts that there are beside each other, in their order.
std::vector<std::string> parts_of(const std::string& base);

// The part before the one that a session names, if its recorder was killed between naming that and
// letting go of the other: nothing new is in the one behind it yet, and the session goes on here.
std::optional<std::string> part_not_ended(const std::string& current, const std::string& session);

// Removes the part behind the one that a session goes on with: its recorder was killed just before
// it went on there, and all that is in it is in the other still.
void remove_stray_part(const std::string& current, const std::string& session);

// What a rotation puts in the place of what there was.
struct PartSinks {
  std::unique_ptr<store::Writer>& writer;
  std::unique_ptr<store::Ingest>& ingest;
  Drain& drain;
  Metrics* metrics;  // nullptr: none are taken
};

class Parts {
 public:
  // `first` is the name of the first part, which the recording has begun with.
  Parts(const RotationOptions& options, std::string session, uint64_t session_id,
        const std::string& first, int64_t now_ns);
  ~Parts();

  bool is_due(int64_t now_ns) const { return now_ns >= due_ns_; }
  // Ends the current part and goes on in the next. What is still to do for the one that ended is
  // done beside the recording, by a thread that has this file alone.
  Status rotate(const PartSinks& sinks);
  // Whether all parts but the current one are whole; an error is of the last one.
  Result<bool> are_whole();
  // The recording has ended, and its last part is whole. With --last, all become `base`.
  Result<std::string> finish(const std::string& last_part);

  struct Totals {
    uint64_t apis = 0, ops = 0, lost = 0;
  };
  const Totals& totals() const { return totals_; }  // of the parts that have ended

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
