#include "serve/answers.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/join.h"
#include "base/strings.h"
#include "serve/ask.h"
#include "timeline/counter.h"
#include "timeline/tile.h"

namespace sonde::serve {
namespace {

using http::Answer;
using http::Request;

constexpr const char* kBytes = "application/octet-stream";
constexpr size_t kMostIds = 4096;  // names of one ask

// In the order of timeline::Track::Kind.
constexpr const char* kKinds[] = {"gpu",  "queue",         "thread", "packed",
                                  "idle", "critical-path", "samples"};
static_assert(std::size(kKinds) == static_cast<size_t>(timeline::Track::Kind::kSamples) + 1);

std::string track_json(const Opened& opened, const timeline::Track& track) {
  uint64_t events = 0;
  std::string by_lane;
  for (uint32_t i = 0; i < track.lanes; ++i) {
    const size_t size = opened.index.timeline.lanes[track.first_lane + i].size();
    events += size;
    by_lane += (i == 0 ? "" : ", ") + std::to_string(size);
  }
  std::string device;
  for (const trace::Device& each : opened.index.devices) {
    if (track.kind == timeline::Track::Kind::kGpu && each.gpu == track.owner) device = each.name;
  }
  const bool is_thread = track.kind == timeline::Track::Kind::kThread;
  const auto name_of = [&](int64_t tid) {
    const auto found = opened.threads.find({track.owner, tid});
    return is_thread && found != opened.threads.end() ? json_quote(found->second) : "\"\"";
  };
  return fmt::format(
      "{{\"kind\": \"{}\", \"owner\": {}, \"number\": {}, \"first_lane\": {}, \"lanes\": {}, "
      "\"events\": {}, \"lane_events\": [{}], \"device\": {}, \"name\": {}, \"process\": {}}}",
      kKinds[static_cast<size_t>(track.kind)], track.owner, track.number, track.first_lane,
      track.lanes, events, by_lane, json_quote(device), name_of(track.number),
      name_of(track.owner));
}

struct TileAsk {
  std::vector<uint32_t> lanes;
  timeline::TileKey key;
};

Result<TileAsk> tile_ask(const Request& request, const char* lanes_name) {
  TileAsk ask;
  SONDE_ASSIGN(ask.lanes, numbers_of(request, lanes_name, timeline::kMostLanes));
  SONDE_ASSIGN(const int64_t level, number_of(request, "level"));
  SONDE_ASSIGN(ask.key.number, number_of(request, "tile"));
  if (level > timeline::kMostLevel) return wrong_ask("is at most 40", "level");
  ask.key.level = static_cast<int>(level);
  return ask;
}

}  // namespace

Result<Answer> tracks_of(const Opened& opened) {
  const std::string list =
      join(opened.index.timeline.tracks, ",\n",
           [&](const timeline::Track& track) { return track_json(opened, track); });
  return Answer{200, kJson, "{\"tracks\": [" + list + "]}\n", {}};
}

Result<Answer> tiles(const timeline::Timeline& timeline, const Request& request) {
  SONDE_ASSIGN(const TileAsk ask, tile_ask(request, "lanes"));
  SONDE_ASSIGN(std::string bytes, timeline::make_tile(timeline, ask.lanes, ask.key));
  return Answer{200, kBytes, std::move(bytes), {}};
}

Result<Answer> counter_tiles(const Counters& counters, int64_t start_ns, const Request& request) {
  SONDE_ASSIGN(const TileAsk ask, tile_ask(request, "counters"));
  SONDE_ASSIGN(std::string bytes,
               timeline::make_counter_tile(counters.counters, start_ns, ask.lanes, ask.key));
  return Answer{200, kBytes, std::move(bytes), {}};
}

Result<Answer> spelled(const Opened& opened, const Request& request) {
  SONDE_ASSIGN(const std::vector<std::string> wanted, texts_of(request, kMostIds));
  std::unordered_map<std::string_view, size_t> ids;
  for (const std::string& name : wanted) ids.emplace(name, opened.index.names.size());
  for (size_t id = 0; id < opened.index.names.size(); ++id) {
    const auto found = ids.find(opened.index.names[id]);
    if (found != ids.end()) found->second = id;
  }
  const std::string list = join(wanted, ",\n", [&](const std::string& name) {
    const size_t id = ids.at(name);
    return json_quote(id < opened.short_names.size() ? opened.short_names[id] : name);
  });
  return Answer{200, kJson, "[" + list + "]\n", {}};
}

Result<Answer> names_of(const Opened& opened, const Request& request) {
  SONDE_ASSIGN(const auto ids, numbers_of(request, "ids", kMostIds));
  const bool is_short = request.query.count("short") != 0;
  const auto& texts = is_short ? opened.short_names : opened.full_names;
  std::string list;
  for (const uint32_t id : ids) {
    if (id >= texts.size()) {
      return make_error(ErrorCode::kNotFound, "there is no such name", std::to_string(id));
    }
    list += fmt::format("{}\"{}\": {}", list.empty() ? "" : ",\n", id, json_quote(texts[id]));
  }
  return Answer{200, kJson, "{" + list + "}\n", {}};
}

}  // namespace sonde::serve
