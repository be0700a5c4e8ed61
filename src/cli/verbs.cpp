#include "cli/verbs.h"

#include <algorithm>

namespace sonde::cli {

namespace {

constexpr const char* kRecord = "Record, import or merge traces";
constexpr const char* kFirst = "What should I look at first?";
constexpr const char* kTime = "Where did the time go?";
constexpr const char* kIdle = "Why was the GPU idle?";
constexpr const char* kNear = "How close is it to the GPU's peak?";
constexpr const char* kChanged = "What changed?";
constexpr const char* kRank = "Is one rank slow?";
constexpr const char* kElse = "Export to another tool, or ask in SQL";
constexpr const char* kSetUp = "What can be recorded here?";
constexpr const char* kWatch = "Watch and steer";

std::vector<View> views_of_kernels() {
  return {{"top", "totals of all operations, including copies"},
          {"ktop", "totals of kernels only"},
          {"stats", "the CSV files of rocprof --stats"},
          {"sequences", "what repeats"},
          {"variability", "what varies from call to call"},
          {"occupancy", "how many waves of each kernel fit on a SIMD"}};
}

}  // namespace

const std::vector<Verb>& shown_verbs() {
  static const std::vector<Verb> kVerbs = {
      {"record", kRecord, {{"recover", "finish a recording whose recorder died"}}},
      {"profile", kRecord},
      {"import",
       kRecord,
       {{"merge", "the traces of several ranks as one .rpd"},
        {"trim", "a part of a trace as a smaller .rpd"},
        {"upgrade", "an old .rpd as schema v3"}}},
      {"check", kFirst, {{"analyze", "all standard analyses, one after the other"}}},
      {"report", kFirst},
      {"serve", kFirst},
      {"info", kFirst},
      {"kernels", kTime, views_of_kernels()},
      {"breakdown",
       kTime,
       {{"busy", "how busy each GPU was, also as RPD reports it"},
        {"overlap", "what ran while something else ran"}}},
      {"steps", kTime},
      {"operators", kTime},
      {"stacks", kTime},
      {"memory", kTime, {{"copies", "what was copied, how fast, in what sizes"}}},
      {"idle", kIdle},
      {"launches",
       kIdle,
       {{"queues", "how many operations wait in each queue"},
        {"api", "which calls took CPU time"}}},
      {"critical-path", kIdle},
      {"perf", kNear, {{"counters", "hardware counters"}}},
      {"sol",
       kNear,
       {{"instructions", "which instructions were sampled, with source lines"},
        {"roofs", "measure bandwidths and compute rates of the GPUs here"}}},
      {"roofline", kNear},
      {"diff", kChanged},
      {"ranks", kRank, {{"collectives", "the collectives of the ranks, and who was late"}}},
      {"export", kElse},
      {"query", kElse},
      {"doctor",
       kSetUp,
       {{"avail", "backends, metrics and settings"}, {"config", "the settings file"}}},
      {"debug", "Why did the GPU fail?"},
      {"start",
       kWatch,
       {{"stop", "switch a recording off"},
        {"mark", "mark this moment in it"},
        {"snapshot", "write what it has now"},
        {"status", "the recordings in progress"}}},
      {"monitor",
       kWatch,
       {{"rocm-smi", "the answers of rocm-smi"},
        {"job-report", "how a job used its GPUs, and the energy it took"}}},
      {"exporter", kWatch},
  };
  return kVerbs;
}

std::string_view whole_of(std::string_view name) {
  for (const Verb& verb : shown_verbs()) {
    for (const View& view : verb.views) {
      if (view.name == name) return verb.name;
    }
  }
  return {};
}

const std::vector<View>& views_of(std::string_view name) {
  static const std::vector<View> kNone;
  for (const Verb& verb : shown_verbs()) {
    if (verb.name == name) return verb.views;
  }
  return kNone;
}

std::string take_view(std::string_view name, bool takes_command_line,
                      std::vector<std::string>& words) {
  const auto end = takes_command_line ? words.begin() + (words.empty() ? 0 : 1)
                                      : std::find(words.begin(), words.end(), "--");
  for (const View& view : views_of(name)) {
    const auto option = std::find(words.begin(), end, "--" + std::string(view.name));
    if (option == end) continue;
    words.erase(option);
    return view.name;
  }
  return std::string(name);
}

std::string rpd_view_of(std::string_view name) {
  if (name == "kernels") return "ktop";
  return name == "top" || name == "ktop" || name == "busy" ? std::string(name) : std::string();
}

}  // namespace sonde::cli
