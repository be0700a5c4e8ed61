// What the events of a Chrome trace mean: GPU operations with their launches, calls, markers,
// counters, processes. Private to the kineto importer.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/possible_span.h"
#include "importers/kineto/events.h"
#include "importers/kineto/frame.h"
#include "importers/kineto/links.h"
#include "importers/kineto/python.h"
#include "importers/kineto/sonde.h"
#include "importers/sink/sink.h"
#include "importers/sink/tally.h"

namespace sonde::importers {

class KinetoReader {
 public:
  KinetoReader(Sink& sink, Tally& tally, std::string path);

  void take(const EventBatch& batch);
  // After the last event.
  void finish(Frame frame);

 private:
  struct Place {  // where an event belongs
    int64_t process = 0, tid = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Open {  // a range whose end has not come yet
    Api row;
    std::string args;
  };
  struct Facts {  // of a pid
    std::string name, labels;
    std::map<int64_t, std::string> threads;
  };

  void take_event(const Event& event, const EventBatch& batch);
  void take_api(const Event& event, Api& row, const LaunchArgs* launch);
  void take_complete(const Event& event, const EventBatch& batch);
  void take_op(const Event& event, const EventBatch& batch);
  void take_instant(const Event& event);
  void take_begin(const Event& event, std::vector<Open>& stack);
  void take_end(const Event& event, std::vector<Open>& stack);
  void take_async(const Event& event);
  void take_counter(const Event& event);
  void take_flow(const Event& event);
  void take_metadata(const Event& event);
  void take_problems(const EventBatch& batch);
  void count(const Event& event);

  Api row_of(const Event& event);
  int64_t pid_of(const Event& event);
  int64_t tid_of(const Event& event);
  // Whose correlation number the event has: a process's own, but Sonde's documents have each once.
  int64_t numbering(const Event& event) { return sonde_.is_ours() ? 0 : pid_of(event); }
  int64_t process_of(int64_t pid);
  Name category_name(const Event& event);
  void skip(const Event& event, const char* what);
  std::string place_of(uint64_t offset) const;
  void seen_until(int64_t time_ns) {
    if (is_possible_span(time_ns, time_ns)) last_ns_ = std::max(last_ns_, time_ns);
  }
  void close_open_ranges();
  void describe_processes(const Frame& frame);

  Sink& sink_;
  Tally& tally_;
  Wants wants_;
  std::string path_;
  uint64_t window_offset_ = 0;
  LaunchLinks links_;
  PythonThreads python_;
  SondeTrace sonde_;
  std::map<Place, std::vector<Open>> open_;
  std::map<std::string, std::vector<Open>, std::less<>> open_async_;
  std::unordered_map<int64_t, int64_t> process_of_pid_;
  std::map<int64_t, Facts> facts_;                              // by pid
  std::map<std::string, int64_t, std::less<>> number_of_text_;  // pids and tids that are texts
  Name category_names_[kNoName] = {};
  Name torch_ = 0, python_name_ = 0;
  static constexpr size_t kPhases = 128;
  uint64_t counts_[kPhases][kNoName] = {};  // where the category is in kCategories
  int64_t last_pid_ = INT64_MIN, last_process_ = 0;
  int64_t first_ns_ = INT64_MAX, last_ns_ = INT64_MIN;
};

}  // namespace sonde::importers
