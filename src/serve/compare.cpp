#include "serve/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "analysis/collectives/collectives.h"
#include "analysis/diff/diff.h"
#include "analysis/ranks/ranks.h"
#include "base/strings.h"
#include "serve/options.h"
#include "trace/other_tools.h"

namespace sonde::serve {
namespace {

using trace::Trace;

constexpr size_t kMostInstances = 200;

struct Joint {
  const char* name;
  trace::Request (*needs)();
  report::Report (*report_of)(std::span<const Trace> traces);
};
constexpr Joint kJoints[] = {
    {"diff", analysis::diff_needs,
     [](std::span<const Trace> traces) { return analysis::diff_report(traces[0], traces[1]); }},
    {"collectives", analysis::collectives_needs, analysis::collectives_report},
    {"ranks", analysis::ranks_needs, analysis::ranks_report},
};

Result<std::vector<Trace>> load_all(const std::vector<Source>& sources,
                                    const trace::Request& request,
                                    const trace::WindowText& window) {
  std::vector<Trace> traces;
  for (const Source& source : sources) {
    SONDE_ASSIGN(Trace trace, trace::load_file(source.path, source.as, request, window));
    traces.push_back(std::move(trace));
  }
  return traces;
}

struct Place {
  const char* by = "start";
  int64_t shift_ns = 0;
  std::optional<int64_t> rank;
};

bool overlap(const Trace& a, const Trace& b) {
  const auto end = [](const Trace& trace) {
    int64_t end_ns = trace.origin_ns;
    for (const int64_t each : trace.ops.end_ns) end_ns = std::max(end_ns, each);
    for (const int64_t each : trace.apis.end_ns) end_ns = std::max(end_ns, each);
    return end_ns;
  };
  return a.origin_ns < end(b) && b.origin_ns < end(a);
}

std::vector<Place> places_of(const std::vector<Trace>& traces,
                             const analysis::Collectives& collectives,
                             const analysis::Matched& matched) {
  std::vector<Place> places(traces.size());
  std::vector<size_t> member_of(traces.size(), analysis::kNobody);
  for (const analysis::Collective& one : collectives.list) {
    member_of[one.file] = std::min(member_of[one.file], one.member);
  }
  for (size_t i = 0; i < traces.size(); ++i) {
    const size_t member = member_of[i], first = member_of[0];
    if (member != analysis::kNobody) places[i].rank = collectives.members[member].rank;
    const int64_t apart_ns = traces[i].origin_ns - traces[0].origin_ns;
    const bool one_clock = i != 0 && member != analysis::kNobody && first != analysis::kNobody &&
                           matched.clock_of[member] == matched.clock_of[first];
    if (one_clock) {
      places[i].by = "collectives";
      places[i].shift_ns = apart_ns - matched.offset_ns[member] + matched.offset_ns[first];
    } else if (i == 0 || overlap(traces[0], traces[i])) {
      places[i].by = "clock";
      places[i].shift_ns = apart_ns;
    }
  }
  return places;
}

// When a collective was in each trace, and who came last; those whose ranks came furthest apart
// first. A page aligns traces by one of them.
std::string instances_json(const std::vector<Trace>& traces,
                           const analysis::Collectives& collectives,
                           const analysis::Matched& matched) {
  std::vector<const analysis::Instance*> chosen;
  for (const analysis::Instance& each : matched.instances) {
    if (each.parts.size() > 1) chosen.push_back(&each);
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const auto* a, const auto* b) { return a->skew_ns > b->skew_ns; });
  chosen.resize(std::min(chosen.size(), kMostInstances));
  std::string list;
  for (const analysis::Instance* each : chosen) {
    std::vector<std::string> times(traces.size(), "null");
    for (const size_t part : each->parts) {
      const analysis::Collective& one = collectives.list[part];
      const int64_t origin_ns = traces[one.file].origin_ns;
      times[one.file] = fmt::format("[{}, {}]", one.start_ns - origin_ns, one.end_ns - origin_ns);
    }
    const bool is_late = each->last != analysis::kNobody;
    list += fmt::format(
        "{}{{\"op\": {}, \"skew_ns\": {}, \"last\": {}, \"late_ns\": {}, \"times\": [{}]}}",
        list.empty() ? "" : ",\n", json_quote(collectives.list[each->parts.front()].op),
        each->skew_ns,
        is_late ? json_quote(name_of(collectives.members[each->last])) : std::string("null"),
        each->late_ns, fmt::join(times, ", "));
  }
  return list;
}

}  // namespace

Result<std::string> joint_panel_json(const std::vector<Source>& sources, const std::string& name,
                                     const PanelOptions& options) {
  const Joint* joint = nullptr;
  for (const Joint& each : kJoints) {
    if (name == each.name) joint = &each;
  }
  if (joint == nullptr) {
    return make_error(ErrorCode::kInvalidArgument, "there is no such analysis", name);
  }
  Taken taken(options);
  Choice choice;
  SONDE_TRY(take_choice(taken, joint->needs(), choice));
  SONDE_TRY(taken.all_known());
  SONDE_ASSIGN(const std::vector<Trace> traces, load_all(sources, choice.request, choice.window));
  return finished(joint->report_of(traces), choice);
}

Result<std::string> ranks_json(const std::vector<Source>& sources) {
  trace::Request request = analysis::collectives_needs();
  request.ops = request.apis = true;  // where a trace begins and ends
  SONDE_ASSIGN(const std::vector<Trace> traces, load_all(sources, request, {}));
  const analysis::Collectives collectives = analysis::find_collectives(traces);
  const analysis::Matched matched = analysis::match_collectives(collectives);
  std::string list, ranks;
  const std::vector<Place> places = places_of(traces, collectives, matched);
  for (size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    list += fmt::format("{}{{\"trace\": {}, \"rank\": {}, \"by\": \"{}\", \"shift_ns\": {}}}",
                        i == 0 ? "" : ",\n", i, place.rank ? std::to_string(*place.rank) : "null",
                        place.by, place.shift_ns);
  }
  for (const analysis::Lateness& each : analysis::lateness(collectives, matched)) {
    const analysis::Member& member = collectives.members[each.member];
    ranks += fmt::format(
        "{}{{\"name\": {}, \"trace\": {}, \"collectives\": {}, \"last\": {}, \"late_ns\": {}, "
        "\"caused_ns\": {}, \"waited_ns\": {}}}",
        ranks.empty() ? "" : ",\n", json_quote(name_of(member)), member.file, each.collectives,
        each.last, each.late_ns, each.caused_ns, each.waited_ns);
  }
  return fmt::format("{{\"traces\": [{}],\n\"ranks\": [{}],\n\"instances\": [{}]}}\n", list, ranks,
                     instances_json(traces, collectives, matched));
}

}  // namespace sonde::serve
