// Sampled call stacks once more, as the events that V8 writes of its own samples: Perfetto's reader
// passes over the members that samples.cpp writes, and takes these. Times are whole
// microseconds there, and a sample has no weight.
#include <algorithm>
#include <map>
#include <utility>

#include "export/chrome/writer.h"

namespace sonde::exporting {

namespace {

constexpr size_t kSamplesOfEvent = 1000;

// One thread's samples, of time on a CPU, by time.
struct Profile {
  int64_t pid = 0, tid = 0;
  std::vector<const CallSample*> samples;
};

std::vector<Profile> by_thread(const CallSamples& call_samples) {
  std::vector<Profile> profiles;
  std::map<std::pair<int64_t, int64_t>, size_t> index;
  for (const CallSample& sample : call_samples.samples) {
    if (sample.cpu_ns <= 0) continue;
    const auto [at, is_new] = index.try_emplace({sample.pid, sample.tid}, profiles.size());
    if (is_new) profiles.push_back({sample.pid, sample.tid, {}});
    profiles[at->second].samples.push_back(&sample);
  }
  const auto before = [](const CallSample* a, const CallSample* b) {
    return a->time_ns < b->time_ns;
  };
  for (Profile& profile : profiles) {
    std::stable_sort(profile.samples.begin(), profile.samples.end(), before);
  }
  return profiles;
}

}  // namespace

void ChromeWriter::profiles(const CallSamples& call_samples) {
  int64_t number = 0;
  for (const Profile& profile : by_thread(call_samples)) {
    const Place place = place_of(profile.pid, profile.tid);
    ++number;
    std::vector<bool> known(call_samples.stacks.size());
    int64_t last_us = (profile.samples.front()->time_ns - origin_ns_) / 1000;
    begin_profile_event("Profile", number, place, profile.samples.front()->time_ns);
    member("\"startTime\":", last_us);
    sink_.append("}}}");
    for (size_t begin = 0; begin < profile.samples.size(); begin += kSamplesOfEvent) {
      const size_t end = std::min(begin + kSamplesOfEvent, profile.samples.size());
      const std::span part(profile.samples.data() + begin, end - begin);
      begin_profile_event("ProfileChunk", number, place, part.front()->time_ns);
      profile_nodes(call_samples, part, known);
      for (size_t i = 0; i < part.size(); ++i) {
        member(i == 0 ? ",\"samples\":[" : ",", int64_t{part[i]->stack} + 1);
      }
      for (size_t i = 0; i < part.size(); ++i) {
        const int64_t now_us = (part[i]->time_ns - origin_ns_) / 1000;
        member(i == 0 ? "]},\"timeDeltas\":[" : ",", now_us - last_us);
        last_us = now_us;
      }
      sink_.append("]}}}");
    }
  }
}

void ChromeWriter::begin_profile_event(std::string_view name, int64_t number, const Place& place,
                                       int64_t time_ns) {
  begin_event();
  member("\"ph\":\"P\",\"cat\":\"disabled-by-default-v8.cpu_profiler\",\"name\":", name);
  // All of its readers take the number as a hexadecimal text.
  char hex[24];
  std::snprintf(hex, sizeof hex, "%#llx", static_cast<unsigned long long>(number));
  member(",\"id\":", std::string_view(hex));
  at(place, time_ns);
  sink_.append(",\"args\":{\"data\":{");
}

// The call paths that were not in an event before, callers first.
void ChromeWriter::profile_nodes(const CallSamples& call_samples,
                                 std::span<const CallSample* const> samples,
                                 std::vector<bool>& known) {
  sink_.append("\"cpuProfile\":{\"nodes\":[");
  bool first = true;
  std::vector<uint32_t> path;
  for (const CallSample* sample : samples) {
    path.clear();
    for (uint32_t at = sample->stack; at != kNone && !known[at];
         at = call_samples.stacks[at].parent) {
      path.push_back(at);
      known[at] = true;
    }
    for (size_t i = path.size(); i-- > 0;) {
      const SampleStack& stack = call_samples.stacks[path[i]];
      const SampleFrame& frame = call_samples.frames[stack.frame];
      member(first ? "{\"id\":" : ",{\"id\":", int64_t{path[i]} + 1);
      first = false;
      if (stack.parent != kNone) member(",\"parent\":", int64_t{stack.parent} + 1);
      member(",\"callFrame\":{\"functionName\":", frame.text);
      const bool in_module = frame.file.empty() && frame.module != kNone;
      member(",\"scriptId\":0,\"url\":",
             in_module ? call_samples.modules[frame.module].path : frame.file);
      if (frame.line > 0) member(",\"lineNumber\":", frame.line - 1);
      sink_.append("}}");
    }
  }
  sink_.append("]");
}

}  // namespace sonde::exporting
