// ChromeWriter: one Chrome JSON document (docs/exports.md). Its parts are in chrome.cpp (what
// stands around the events), calls.cpp, ops.cpp, overlay.cpp, profiles.cpp and samples.cpp.
//
// Rows of an imported file that came with JSON arguments get these back as they were, so that the
// readers of PyTorch's traces find what they look for. All other rows say what the .rpd knows of
// them. An event "sonde_trace" and members whose names begin with "sonde" say what Chrome's format
// has no word for; the kineto importer reads them.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "export/events/call_samples.h"
#include "export/events/events.h"
#include "export/events/json_object.h"
#include "export/events/lanes.h"
#include "export/events/numbering.h"
#include "export/events/trace_facts.h"
#include "export/events/viewer_numbers.h"
#include "export/output/json_text.h"
#include "export/output/sink.h"

namespace sonde::exporting {

// Numbers of arrows that are no correlation's begin here. All are whole numbers that a double
// holds: some viewers read a text as hexadecimal, or not at all.
constexpr int64_t kFirstArrow = int64_t{1} << 52;

class ChromeWriter {
 public:
  // `one_rank`: all that is written is of one rank. The files of several use the same numbers to
  // link calls and operations.
  ChromeWriter(const Events& events, const TraceFacts& facts, bool one_rank, Sink& sink);

  // With `array` the document is the array of its events, without what stands around it.
  Counts write(const std::string& source_path, const CallSamples& call_samples,
               const Overlay& overlay, bool array);

 private:
  struct Place {  // in the viewer
    int64_t pid = 0, tid = 0;
  };
  Place place_of(int64_t pid, int64_t tid);
  static std::string place_text(const Place& place);

  void header(const std::string& source_path);
  void base_time();
  void notes();
  void device_properties();
  void trace_metadata();
  void begin_metadata(std::string_view kind, int64_t pid, int64_t tid);
  void metadata(std::string_view kind, int64_t pid, int64_t tid, std::string_view value);
  void sort_index(std::string_view kind, int64_t pid, int64_t tid, int64_t index);
  void process_metadata();
  void silent_threads();
  void process_name(const Process& process);
  void thread_name(const Thread& thread, int64_t tid, uint32_t lane);
  void device_metadata();
  void samples();
  void other_flows();
  void stack_frames(const CallSamples& call_samples);
  void stack_samples(const CallSamples& call_samples);
  void profiles(const CallSamples& call_samples);
  void begin_profile_event(std::string_view name, int64_t number, const Place& place,
                           int64_t time_ns);
  void profile_nodes(const CallSamples& call_samples, std::span<const CallSample* const> samples,
                     std::vector<bool>& known);

  void overlay(const Overlay& overlay);
  void overlay_slice(const OverlaySlice& slice, const Place& place);
  void overlay_arrow(std::string_view phase, int64_t number, const Place& place, int64_t time_ns);

  void apis();
  void api_lane(const Lane& lane, const Layout& layout);
  void api(const Api& api, size_t index, const std::string& place);
  void own_api_arguments(const Api& api);
  int64_t given_api_arguments(const Api& api, bool is_linked);
  bool correlations_are_unambiguous();
  std::optional<int64_t> given_correlation(std::string_view arguments);
  // JSON that is the same for all calls of one name, domain and category.
  struct CallWords {
    std::string category, members;
  };
  const CallWords& words_of(const Api& api);
  void sonde_members(const Api& api);
  std::string_view api_category(const Api& api) const;
  bool is_instant(const Api& api) const;

  void ops();
  void op_lane(const Lane& lane, const Layout& layout);
  void op(const Op& op, uint32_t index, const std::string& place);
  void own_op_arguments(const Op& op);
  void given_op_arguments(const Op& op);
  void copied_bytes(const Op& op);
  void extras(uint32_t op);

  void number_arrow(size_t link);
  void flow(std::string_view phase, size_t link, const std::string& place, int64_t time_ns);

  // The text between two events; none before the first.
  void begin_event() {
    sink_.append(first_ ? std::string_view("{") : std::string_view(",\n{"));
    first_ = false;
  }
  void text(std::string_view value) { append_json_string(sink_, value, scratch_); }
  void member(std::string_view key, std::string_view value) {
    sink_.append(key);
    text(value);
  }
  void member(std::string_view key, int64_t value) {
    sink_.append(key);
    append_integer(sink_, value);
  }
  void time(int64_t time_ns) { append_thousandths(sink_, time_ns - origin_ns_); }
  // Where and when an event is.
  void at(const Place& place, int64_t time_ns) {
    member(",\"pid\":", place.pid);
    member(",\"tid\":", place.tid);
    sink_.append(",\"ts\":");
    time(time_ns);
  }
  const std::string& quoted_name(uint32_t name);

  // A flow needs a slice at both ends; one of no length cannot hold its arrow.
  bool has_arrow(const Link& link) const {
    return events_.apis[link.api].duration_ns() > 0 && events_.ops[link.op].duration_ns() > 0;
  }
  bool imported() const { return events_.imports > 0; }
  // What links the operations of this call to it.
  int64_t correlation_of(uint32_t api) const {
    return correlations_.empty() ? events_.apis[api].id : correlations_[api];
  }

  const Events& events_;
  const TraceFacts& facts_;
  Sink& sink_;
  bool keep_correlations_ = false;  // the numbers of the imported file are those of the document
  int64_t origin_ns_ = 0;           // ts counts from here
  ViewerNumbers numbers_;
  std::vector<std::string> quoted_names_;
  std::set<std::pair<int64_t, int64_t>> named_;  // threads, by pid and tid of the file
  std::vector<int64_t> device_pids_, device_tids_;
  int64_t counters_pid_ = 0;
  std::vector<std::string> shapes_;
  std::vector<int64_t> correlations_;                 // by call; empty: they are the ids
  std::vector<bool> own_arrow_;                       // by link: its number is not the correlation
  std::unordered_set<int64_t> arrows_;                // correlations that are an arrow's number
  Numbering<std::array<uint32_t, 3>> words_numbers_;  // name, domain, category
  std::vector<CallWords> words_;
  std::vector<JsonMember> members_;
  std::string scratch_;
  bool first_ = true;
  Counts counts_;
};

}  // namespace sonde::exporting
