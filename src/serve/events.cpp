#include "serve/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "base/letters.h"
#include "base/strings.h"
#include "serve/ask.h"
#include "store/api_domain.h"
#include "store/limited_query.h"

namespace sonde::serve {
namespace {

using http::Request;
using timeline::Event;
using timeline::Lane;
using timeline::Track;

constexpr size_t kMostText = 256;
constexpr int64_t kMostBins = 4096;
constexpr size_t kMostNames = 50;
constexpr size_t kMostOperations = 256;   // of a call, that are told
constexpr size_t kMostScanned = 1 << 20;  // operations, to find them
constexpr int64_t kDetailsNs = 1'000'000'000;

const Track* track_of(const View& view, uint32_t lane) {
  for (const Track& track : view.index.timeline.tracks) {
    if (lane >= track.first_lane && lane - track.first_lane < track.lanes) return &track;
  }
  return nullptr;
}

// Behind them those of packed GPUs have the same operations once more.
uint32_t own_lanes(const View& view) {
  for (const Track& track : view.index.timeline.tracks) {
    if (track.kind == Track::Kind::kPacked) return track.first_lane;
  }
  return static_cast<uint32_t>(view.index.timeline.lanes.size());
}

// The lane of an operation among those of its packed GPU.
std::optional<uint32_t> packed_lane(const View& view, const Placed& placed) {
  for (const Track& track : view.index.timeline.tracks) {
    if (track.kind != Track::Kind::kPacked || track.owner != placed.track->owner) continue;
    for (uint32_t lane = track.first_lane; lane < track.first_lane + track.lanes; ++lane) {
      const size_t found = view.index.timeline.lanes[lane].with_row(placed.event.row);
      if (found != timeline::kNoEvent) return lane;
    }
  }
  return {};
}

// The first row of a query on the file, which may not take long: it is for a click. Values are
// JSON.
std::vector<std::string> first_row(const View& view, const std::string& sql) {
  const std::lock_guard lock(view.details.mutex);
  auto reader = view.details.get();
  if (!reader) return {};
  auto result = store::limited_query((*reader)->database(), sql, {kDetailsNs, 1, 1 << 20});
  return result && !result->rows.empty() ? result->rows.front() : std::vector<std::string>();
}

bool is_known(const std::string& json) { return json != "null"; }

std::string op_json(const View& view, const Placed& placed) {
  const uint32_t row = placed.event.row;
  const int64_t id = view.index.op_ids[row];
  auto details = first_row(
      view,
      fmt::format("SELECT t.string, d.bytes, d.grid_x, d.grid_y, d.grid_z, d.group_x, d.group_y, "
                  "d.group_z FROM v_op o LEFT JOIN v_string t ON t.id = o.type_id LEFT JOIN "
                  "v_op_detail d ON d.op_id = o.id WHERE o.id = {}",
                  id));
  if (details.empty()) {  // in files of other tools details take long
    details =
        first_row(view, fmt::format("SELECT t.string FROM v_op o LEFT JOIN v_string t ON t.id = "
                                    "o.type_id WHERE o.id = {}",
                                    id));
  }
  std::string json =
      fmt::format("{{{}, \"type\": {}, \"gpu\": {}, \"queue\": {}", basics_json(view, true, placed),
                  details.empty() ? "\"\"" : details[0], placed.track->owner, placed.track->number);
  if (details.size() > 1 && is_known(details[1])) json += ", \"bytes\": " + details[1];
  if (details.size() > 1 && is_known(details[2])) {
    for (std::string& number : details) number = is_known(number) ? number : "0";
    json += fmt::format(", \"grid\": [{}, {}, {}], \"group\": [{}, {}, {}]", details[2], details[3],
                        details[4], details[5], details[6], details[7]);
  }
  if (const uint32_t api = view.index.op_api[row]; api != timeline::kNoRow) {
    if (const auto call = place_of(view, false, api)) {
      json += ", \"call\": {" + basics_json(view, false, *call) + "}";
    }
  }
  return json + "}\n";
}

std::string api_json(const View& view, const Placed& placed) {
  const uint32_t row = placed.event.row;
  const auto details = first_row(
      view, fmt::format("SELECT d.string, n.string FROM v_api a LEFT JOIN v_string d ON d.id = "
                        "a.domain_id LEFT JOIN v_string n ON n.id = a.name_id WHERE a.id = {}",
                        view.index.api_ids[row]));
  std::string domain = details.empty() || !is_known(details[0]) ? "\"\"" : details[0];
  if (domain == "\"\"" && !details.empty()) {  // before schema 3
    const std::string& name = details[1];
    domain = json_quote(store::domain_of_api(std::string_view(name).substr(1, name.size() - 2)));
  }
  std::string json = fmt::format("{{{}, \"domain\": {}", basics_json(view, false, placed), domain);
  const uint32_t launched = view.index.api_op_count[row];
  if (launched == 0) return json + "}\n";
  // Operations of one call are near each other.
  std::string operations;
  const auto& op_api = view.index.op_api;
  size_t found = 0, op = view.index.api_op[row];
  const size_t end = std::min(op_api.size(), op + kMostScanned);
  for (; op < end && found < std::min<size_t>(launched, kMostOperations); ++op) {
    if (op_api[op] != row) continue;
    ++found;
    if (const auto place = place_of(view, true, static_cast<uint32_t>(op))) {
      operations += (operations.empty() ? "{" : ", {") + basics_json(view, true, *place) + "}";
    }
  }
  return json + fmt::format(", \"launched\": {}, \"operations\": [{}]}}\n", launched, operations);
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
                lower(view.index.names[i]).find(needle) != std::string::npos;
  }
  return wanted;
}

bool is_hit(const Event& event, const std::vector<bool>& wanted) {
  return event.row != timeline::kNoRow && event.name < wanted.size() && wanted[event.name];
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

std::string_view name_of(const View& view, uint32_t name) {
  if (name >= view.names.size()) return "<none>";  // of an index that is damaged
  return view.names[name];
}

std::optional<Placed> place_of(const View& view, bool is_op, uint32_t row) {
  for (const Track& track : view.index.timeline.tracks) {
    if (track.kind != (is_op ? Track::Kind::kQueue : Track::Kind::kThread)) continue;
    for (uint32_t number = track.first_lane; number < track.first_lane + track.lanes; ++number) {
      const Lane& lane = view.index.timeline.lanes[number];
      const size_t i = lane.with_row(row);
      if (i != timeline::kNoEvent) return Placed{number, lane.event(i), &track};
    }
  }
  return {};
}

std::string basics_json(const View& view, bool is_op, const Placed& placed) {
  const Event& event = placed.event;
  const auto packed = is_op && placed.track != nullptr ? packed_lane(view, placed) : std::nullopt;
  return fmt::format(
      "\"name\": {}, \"start_ns\": {}, \"duration_ns\": {}, \"table\": \"{}\", \"row\": {}, "
      "\"lane\": {}{}",
      json_quote(name_of(view, event.name)), event.start_ns - view.index.origin_ns,
      event.end_ns - event.start_ns, is_op ? "op" : "api", event.row, placed.lane,
      packed ? fmt::format(", \"packed\": {}", *packed) : "");
}

Result<std::string> event_json(const View& view, const Request& request) {
  SONDE_ASSIGN(const std::string table, text_of(request, "table"));
  SONDE_ASSIGN(const int64_t number, number_of(request, "row"));
  const bool is_op = table == "op";
  if (!is_op && table != "api") return wrong_ask("is op or api", "table");
  const uint64_t rows = is_op ? view.index.op_ids.size() : view.index.api_ids.size();
  const auto placed = static_cast<uint64_t>(number) < rows
                          ? place_of(view, is_op, static_cast<uint32_t>(number))
                          : std::nullopt;
  if (!placed)
    return make_error(ErrorCode::kNotFound, "there is no such row", std::to_string(number));
  return is_op ? op_json(view, *placed) : api_json(view, *placed);
}

Result<std::string> next_json(const View& view, const Request& request) {
  SONDE_ASSIGN(const int64_t asked, number_of(request, "lane"));
  SONDE_ASSIGN(const int64_t after_ns, number_of(request, "time"));
  SONDE_ASSIGN(const int64_t direction, number_of(request, "back"));
  if (direction > 1) return wrong_ask("is 0 or 1", "back");
  const auto& lanes = view.index.timeline.lanes;
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
  if (__builtin_add_overflow(after_ns, view.index.origin_ns, &time_ns)) {
    return wrong_ask("is after all of it", "time");
  }
  // Events in the order of start, then lane.
  std::optional<Event> best;
  uint32_t best_lane = 0;
  const uint32_t all = by_name ? own_lanes(view) : static_cast<uint32_t>(lanes.size());
  for (uint32_t k = 0; k < all; ++k) {
    const uint32_t number = back ? all - 1 - k : k;
    if (!by_name && number != asked) continue;
    const bool same_time_counts = by_name && (back ? number < asked : number > asked);
    const int64_t from_ns = same_time_counts ? time_ns : back ? time_ns - 1 : time_ns + 1;
    const int64_t none_ns =
        back ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
    const auto found = next_of(
        lanes[number], from_ns, back, best ? best->start_ns : none_ns, [&](const Event& event) {
          return by_name ? is_hit(event, wanted) : event.row != timeline::kNoRow;
        });
    if (!found || (best && found->start_ns == best->start_ns)) continue;
    best = found;
    best_lane = number;
  }
  if (!best) return std::string("null\n");
  const Track* track = track_of(view, best_lane);
  const bool is_op = track != nullptr &&
                     (track->kind == Track::Kind::kQueue || track->kind == Track::Kind::kPacked);
  return "{" + basics_json(view, is_op, {best_lane, *best, track}) + "}\n";
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
  const uint32_t own = own_lanes(view);
  for (uint32_t number = 0; number < view.index.timeline.lanes.size(); ++number) {
    const Lane& lane = view.index.timeline.lanes[number];
    std::vector<bool> hit(static_cast<size_t>(bins), false);
    for (size_t i = 0; i < lane.size(); ++i) {
      const Event event = lane.event(i);
      if (!is_hit(event, wanted)) continue;
      if (number < own) ++events[event.name];
      const int64_t start_ns = event.start_ns - view.index.origin_ns;
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
