// SondeTrace: what Sonde's own Chrome JSON says beyond Chrome's format (docs/exports.md), so that
// an exported trace comes back as it was. Does nothing for traces of others. Private to the kineto
// importer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "importers/kineto/events.h"
#include "importers/kineto/frame.h"
#include "importers/sink/sink.h"

namespace sonde::importers {

class SondeTrace {
 public:
  // An event of metadata; true if it is one that only Sonde writes.
  bool take_metadata(const Event& event);

  bool is_ours() const { return ours_; }
  bool is_recorded() const { return recorded_; }  // it is not an export of an import
  int64_t origin_ns() const { return origin_ns_; }

  // The event at the time and on the thread that it had.
  Event in_place(const Event& event) const;

  // Puts a call's own category, domain, name and arguments back. The row's views are valid until
  // the next call.
  struct CallFacts {
    std::optional<int64_t> correlation;  // links operations to it
    bool unfinished = false;
  };
  CallFacts restore(const Event& event, Sink& sink, Api& row);
  // The same for an operation; `launch` gets what only we know of it.
  struct OpFacts {
    std::optional<int64_t> pid;
    std::vector<std::pair<Name, double>> counters;
  };
  OpFacts restore(const Event& event, Sink& sink, Op& row, LaunchArgs& launch);
  // A value of a monitor; false if it is a counter of a program.
  bool sample(const Event& event, Sink& sink) const;
  // The id that an arrow of another tool had, where it was not a number; its own otherwise. Valid
  // until the next call.
  std::string_view flow_id(const Event& event);

  // Passes to the sink what is known of a process and of its threads.
  void describe(int64_t pid, int64_t process, Sink& sink) const;

 private:
  struct Process {
    std::string executable, command;
    std::optional<int64_t> rank;
    std::map<int64_t, std::string> threads;  // those that have a name
  };

  bool ours_ = false, recorded_ = false;
  int64_t origin_ns_ = 0;
  std::map<int64_t, int64_t> real_pid_;                      // by the pid of the document
  std::map<std::pair<int64_t, int64_t>, int64_t> real_tid_;  // by pid and tid of the document
  std::optional<int64_t> monitors_pid_;                      // of the document
  std::map<int64_t, Process> processes_;
  std::string args_;
};

}  // namespace sonde::importers
