#include "serve/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "base/strings.h"
#include "serve/ask.h"

namespace sonde::serve {
namespace {

using http::Request;
using timeline::Event;
using timeline::Lane;
using timeline::Track;

constexpr size_t kMostText = 256;
constexpr int64_t kMostBins = 4096;
constexpr size_t kMostNames = 50;

const Track* track_of(const View& view, uint32_t lane) {
  for (const Track& track : view.timeline.tracks) {
    if (lane >= track.first_lane && lane - track.first_lane < track.lanes) return &track;
  }
  return nullptr;
}

// Of the row of a table; there is one for every row.
std::optional<uint32_t> lane_of(const View& view, bool is_op, size_t row) {
  const auto start_ns = is_op ? view.trace.ops.start_ns[row] : view.trace.apis.start_ns[row];
  for (const Track& track : view.timeline.tracks) {
    if (track.kind != (is_op ? Track::Kind::kQueue : Track::Kind::kThread)) continue;
    for (uint32_t number = track.first_lane; number < track.first_lane + track.lanes; ++number) {
      const Lane& lane = view.timeline.lanes[number];
      for (size_t i = lane.first_from(start_ns); i < lane.size(); ++i) {
        const Event event = lane.event(i);
        if (event.start_ns != start_ns) break;
        if (event.row == row) return number;
      }
    }
  }
  return {};
}

std::string op_json(const View& view, size_t row) {
  const trace::Trace& trace = view.trace;
  const trace::Ops& ops = trace.ops;
  std::string json = fmt::format("{{{}, \"type\": {}, \"gpu\": {}, \"queue\": {}",
                                 basics_json(view, true, row), json_quote(trace.names[ops.type[row]]),
                                 ops.gpu[row], trace.queues[ops.queue[row]].queue);
  if (!ops.bytes.empty() && ops.bytes[row] >= 0) {
    json += fmt::format(", \"bytes\": {}", ops.bytes[row]);
  }
  if (!ops.shape.empty() && ops.shape[row] != 0) {
    const trace::LaunchShape& shape = trace.shapes[ops.shape[row]];
    json += fmt::format(", \"grid\": [{}], \"group\": [{}]", fmt::join(shape.grid, ", "),
                        fmt::join(shape.group, ", "));
  }
  if (!ops.api.empty() && ops.api[row] != trace::kNone) {
    json += ", \"call\": {" + basics_json(view, false, static_cast<size_t>(ops.api[row])) + "}";
  }
  return json + "}\n";
}

std::string api_json(const View& view, size_t row) {
  const trace::Trace& trace = view.trace;
  std::string json = fmt::format("{{{}, \"domain\": {}", basics_json(view, false, row),
                                 json_quote(trace.names[trace.apis.domain[row]]));
  size_t launched = 0, first = 0;
  for (size_t op = 0; op < trace.ops.api.size(); ++op) {
    if (trace.ops.api[op] != static_cast<trace::Row>(row)) continue;
    if (launched++ == 0) first = op;
  }
  if (launched != 0) {
    json += fmt::format(", \"launched\": {}, \"operation\": {{{}}}", launched,
                        basics_json(view, true, first));
  }
  return json + "}\n";
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// By name, whether it has the text.
Result<std::vector<bool>> wanted_names(const View& view, const Request& request) {
  SONDE_ASSIGN(const std::string text, text_of(request, "text"));
  if (text.empty() || text.size() > kMostText) {
    return wrong_ask(fmt::format("is not of 1 to {} bytes", kMostText), "text");
  }
  const std::string needle = lower(text);
  std::vector<bool> wanted(view.names.size(), false);
  for (size_t i = 0; i < wanted.size(); ++i) {
    wanted[i] = lower(view.names[i]).find(needle) != std::string::npos ||
                lower(view.trace.names[i]).find(needle) != std::string::npos;
  }
  return wanted;
}

bool is_hit(const Event& event, const std::vector<bool>& wanted) {
  return event.row != timeline::kNoRow && wanted[event.name];
}

// The event of a lane, at `time_ns` or after it, or going back at it or before it, that `wanted`
// takes, in a part of time that ends at `limit_ns`.
template <typename Wanted>
std::optional<Event> next_of(const Lane& lane, int64_t time_ns, bool back, int64_t limit_ns,
                             Wanted wanted) {
  size_t i = lane.first_from(time_ns);
  if (!back) {
    for (; i < lane.size(); ++i) {
      const Event event = lane.event(i);
      if (event.start_ns > limit_ns) return {};
      if (wanted(event)) return event;
    }
    return {};
  }
  while (i < lane.size() && lane.event(i).start_ns == time_ns) ++i;
  while (i-- > 0) {
    const Event event = lane.event(i);
    if (event.start_ns < limit_ns) return {};
    if (wanted(event)) return event;
  }
  return {};
}

}  // namespace

std::string basics_json(const View& view, bool is_op, size_t row) {
  const trace::Trace& trace = view.trace;
  const int64_t start_ns = is_op ? trace.ops.start_ns[row] : trace.apis.start_ns[row];
  const int64_t end_ns = is_op ? trace.ops.end_ns[row] : trace.apis.end_ns[row];
  const trace::NameId name = is_op ? trace.label(row) : trace.apis.label[row];
  const auto lane = lane_of(view, is_op, row);
  return fmt::format(
      "\"name\": {}, \"start_ns\": {}, \"duration_ns\": {}, \"table\": \"{}\", \"row\": {}, "
      "\"lane\": {}",
      json_quote(view.names[name]), start_ns - trace.origin_ns, end_ns - start_ns,
      is_op ? "op" : "api", row, lane ? std::to_string(*lane) : "null");
}

Result<std::string> event_json(const View& view, const Request& request) {
  SONDE_ASSIGN(const std::string table, text_of(request, "table"));
  SONDE_ASSIGN(const int64_t number, number_of(request, "row"));
  const bool is_op = table == "op";
  if (!is_op && table != "api") return wrong_ask("is op or api", "table");
  const auto row = static_cast<size_t>(number);
  if (row >= (is_op ? view.trace.ops.size() : view.trace.apis.size())) {
    return make_error(ErrorCode::kNotFound, "there is no such row", std::to_string(number));
  }
  return is_op ? op_json(view, row) : api_json(view, row);
}

Result<std::string> next_json(const View& view, const Request& request) {
  SONDE_ASSIGN(const int64_t asked, number_of(request, "lane"));
  SONDE_ASSIGN(const int64_t after_ns, number_of(request, "time"));
  SONDE_ASSIGN(const int64_t direction, number_of(request, "back"));
  if (direction > 1) return wrong_ask("is 0 or 1", "back");
  const auto& lanes = view.timeline.lanes;
  if (static_cast<uint64_t>(asked) >= lanes.size()) {
    return make_error(ErrorCode::kNotFound, "there is no such lane", std::to_string(asked));
  }
  const bool back = direction == 1;
  const bool by_name = request.query.count("text") != 0;
  std::vector<bool> wanted;
  if (by_name) {
    SONDE_ASSIGN(wanted, wanted_names(view, request));
  }
  int64_t time_ns = 0;  // as events have it
  if (__builtin_add_overflow(after_ns, view.trace.origin_ns, &time_ns)) {
    return wrong_ask("is after all of it", "time");
  }
  // Events in the order of start, then lane.
  std::optional<Event> best;
  uint32_t best_lane = 0;
  for (uint32_t k = 0; k < lanes.size(); ++k) {
    const uint32_t number = back ? static_cast<uint32_t>(lanes.size()) - 1 - k : k;
    if (!by_name && number != asked) continue;
    const bool same_time_counts = by_name && (back ? number < asked : number > asked);
    const int64_t from_ns = same_time_counts ? time_ns : back ? time_ns - 1 : time_ns + 1;
    const int64_t none_ns =
        back ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
    const auto found = next_of(
        lanes[number], from_ns, back, best ? best->start_ns : none_ns, [&](const Event& event) {
          return event.row != timeline::kNoRow && (!by_name || wanted[event.name]);
        });
    if (!found || (best && found->start_ns == best->start_ns)) continue;
    best = found;
    best_lane = number;
  }
  if (!best) return std::string("null\n");
  const Track* track = track_of(view, best_lane);
  const bool is_op = track != nullptr && track->kind == Track::Kind::kQueue;
  return "{" + basics_json(view, is_op, best->row) + "}\n";
}

Result<std::string> search_json(const View& view, const Request& request) {
  SONDE_ASSIGN(const std::vector<bool> wanted, wanted_names(view, request));
  SONDE_ASSIGN(const int64_t from_ns, number_of(request, "from"));
  SONDE_ASSIGN(const int64_t to_ns, number_of(request, "to"));
  SONDE_ASSIGN(const int64_t bins, number_of(request, "bins"));
  if (to_ns <= from_ns) return wrong_ask("is not after from", "to");
  if (bins < 1 || bins > kMostBins) return wrong_ask("is not from 1 to 4096", "bins");
  const double width_ns = static_cast<double>(to_ns - from_ns) / static_cast<double>(bins);
  std::vector<uint64_t> events(wanted.size(), 0);
  std::string lanes;
  for (uint32_t number = 0; number < view.timeline.lanes.size(); ++number) {
    const Lane& lane = view.timeline.lanes[number];
    std::vector<bool> hit(static_cast<size_t>(bins), false);
    for (size_t i = 0; i < lane.size(); ++i) {
      const Event event = lane.event(i);
      if (!is_hit(event, wanted)) continue;
      ++events[event.name];
      const int64_t start_ns = event.start_ns - view.trace.origin_ns;
      if (start_ns < from_ns || start_ns >= to_ns) continue;
      const auto bin = static_cast<size_t>(static_cast<double>(start_ns - from_ns) / width_ns);
      hit[std::min(bin, hit.size() - 1)] = true;
    }
    std::string list;
    for (size_t bin = 0; bin < hit.size(); ++bin) {
      if (hit[bin]) list += (list.empty() ? "" : ", ") + std::to_string(bin);
    }
    if (list.empty()) continue;
    lanes +=
        fmt::format("{}{{\"lane\": {}, \"bins\": [{}]}}", lanes.empty() ? "" : ",\n", number, list);
  }
  std::vector<uint32_t> names;
  uint64_t all = 0;
  for (uint32_t id = 0; id < events.size(); ++id) {
    all += events[id];
    if (events[id] != 0) names.push_back(id);
  }
  std::stable_sort(names.begin(), names.end(),
                   [&](uint32_t a, uint32_t b) { return events[a] > events[b]; });
  std::string list;
  for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    list += fmt::format("{}{{\"name\": {}, \"events\": {}}}", list.empty() ? "" : ",\n",
                        json_quote(view.names[names[i]]), events[names[i]]);
  }
  return fmt::format("{{\"events\": {}, \"names\": {}, \"first\": [{}], \"lanes\": [{}]}}\n", all,
                     names.size(), list, lanes);
}

}  // namespace sonde::serve
