#include "serve/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/strings.h"
#include "importers/import.h"
#include "report/names.h"
#include "serve/ask.h"
#include "serve/compare.h"
#include "serve/counters.h"
#include "serve/events.h"
#include "serve/findings.h"
#include "serve/layer.h"
#include "serve/notes.h"
#include "serve/sql.h"
#include "serve/steps.h"
#include "timeline/counter.h"
#include "timeline/tile.h"
#include "trace/other_tools.h"

namespace sonde::serve {
namespace {

using http::Answer;
using http::Request;

constexpr const char* kBytes = "application/octet-stream";
constexpr size_t kMostIds = 4096;  // names of one ask

// What is made when it is first asked for, and kept.
struct Made {
  std::mutex making;
  std::map<std::string, std::shared_ptr<const Layer>> layers;
  std::shared_ptr<const Counters> counters;
  std::shared_ptr<const std::string> steps;

  Made() {
    for (const char* layer : kLayers) layers[layer];
  }
};

struct Opened {
  Source source;
  trace::Trace trace;
  timeline::Timeline timeline;
  std::vector<std::string> full_names, short_names;  // by NameId
  mutable std::optional<store::Reader> reader = {};  // from the first query on; under `querying`
  std::unique_ptr<Made> made = std::make_unique<Made>();
  std::unique_ptr<std::mutex> noting = std::make_unique<std::mutex>();
};

const char* kind_of(timeline::Track::Kind kind) {
  switch (kind) {
    case timeline::Track::Kind::kGpu:
      return "gpu";
    case timeline::Track::Kind::kQueue:
      return "queue";
    case timeline::Track::Kind::kThread:
      return "thread";
    case timeline::Track::Kind::kGaps:
      return "idle";
    case timeline::Track::Kind::kPath:
      return "critical-path";
  }
  return "";
}

std::string track_json(const Opened& opened, const timeline::Track& track) {
  uint64_t events = 0;
  for (uint32_t i = 0; i < track.lanes; ++i) {
    events += opened.timeline.lanes[track.first_lane + i].size();
  }
  std::string device;
  for (const trace::Device& each : opened.trace.devices) {
    if (track.kind == timeline::Track::Kind::kGpu && each.gpu == track.owner) device = each.name;
  }
  return fmt::format(
      "{{\"kind\": \"{}\", \"owner\": {}, \"number\": {}, \"first_lane\": {}, \"lanes\": {}, "
      "\"events\": {}, \"device\": {}}}",
      kind_of(track.kind), track.owner, track.number, track.first_lane, track.lanes, events,
      json_quote(device));
}

Result<Answer> tracks(const Opened& opened) {
  std::string list;
  for (const timeline::Track& track : opened.timeline.tracks) {
    list += (list.empty() ? "" : ",\n") + track_json(opened, track);
  }
  return Answer{200, kJson, "{\"tracks\": [" + list + "]}\n", {}};
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

Result<Answer> tiles(const timeline::Timeline& timeline, const Request& request) {
  SONDE_ASSIGN(const TileAsk ask, tile_ask(request, "lanes"));
  SONDE_ASSIGN(std::string bytes, timeline::make_tile(timeline, ask.lanes, ask.key));
  return Answer{200, kBytes, std::move(bytes), {}};
}

Result<Answer> counter_tiles(const Counters& counters, const Opened& opened,
                             const Request& request) {
  SONDE_ASSIGN(const TileAsk ask, tile_ask(request, "counters"));
  SONDE_ASSIGN(std::string bytes,
               timeline::make_counter_tile(counters.counters, opened.timeline.span.start_ns,
                                           ask.lanes, ask.key));
  return Answer{200, kBytes, std::move(bytes), {}};
}

// Names as they are recorded, a list of them in JSON: the same list, short. What the trace does not
// have stays as it is.
Result<Answer> spelled(const Opened& opened, const Request& request) {
  SONDE_ASSIGN(const std::vector<std::string> wanted, texts_of(request, kMostIds));
  std::unordered_map<std::string_view, size_t> ids;
  for (const std::string& name : wanted) ids.emplace(name, opened.trace.names.size());
  for (size_t id = 0; id < opened.trace.names.size(); ++id) {
    const auto found = ids.find(opened.trace.names[id]);
    if (found != ids.end()) found->second = id;
  }
  std::string list;
  for (const std::string& name : wanted) {
    const size_t id = ids.at(name);
    list += (list.empty() ? "" : ",\n") +
            json_quote(id < opened.short_names.size() ? opened.short_names[id] : name);
  }
  return Answer{200, kJson, "[" + list + "]\n", {}};
}

Result<Answer> names(const Opened& opened, const Request& request) {
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

View view_of(const Opened& opened) { return {opened.trace, opened.timeline, opened.full_names}; }

Result<Answer> as_answer(Result<std::string> json) {
  SONDE_ASSIGN(std::string bytes, std::move(json));
  return Answer{200, kJson, std::move(bytes), {}};
}

enum class What {
  kTracks,
  kTiles,
  kNames,
  kEvent,
  kNext,
  kSearch,
  kFindings,
  kPanel,
  kSql,
  kSchema,
  kSteps,
  kLayer,
  kLayerEvent,
  kCounters,
  kCounterTiles,
  kNotes,
  kDiff,
  kAlign
};
struct Ask {
  std::string_view path;
  What what;
};
constexpr Ask kAsks[] = {{"/api/tracks", What::kTracks},
                         {"/api/tiles", What::kTiles},
                         {"/api/names", What::kNames},
                         {"/api/event", What::kEvent},
                         {"/api/next", What::kNext},
                         {"/api/search", What::kSearch},
                         {"/api/findings", What::kFindings},
                         {"/api/panel", What::kPanel},
                         {"/api/sql", What::kSql},
                         {"/api/schema", What::kSchema},
                         {"/api/steps", What::kSteps},
                         {"/api/layer", What::kLayer},
                         {"/api/layer-event", What::kLayerEvent},
                         {"/api/counters", What::kCounters},
                         {"/api/counter-tiles", What::kCounterTiles},
                         {"/api/notes", What::kNotes},
                         {"/api/diff", What::kDiff},
                         {"/api/align", What::kAlign}};

// Those that take a body.
bool takes_body(std::string_view path) { return path == "/api/names" || path == "/api/notes"; }

Answer ask_again(const char* why) {
  return {503, kJson, fmt::format("{{\"error\": \"{}; ask again\"}}\n", why), {}};
}

}  // namespace

struct Api::State {
  std::vector<Opened> traces;
  mutable std::counting_semaphore<> panels{4};
  mutable std::mutex querying;

  Result<Answer> list() const {
    std::string list;
    for (const Opened& opened : traces) {
      const trace::Interval span = opened.timeline.span;
      std::string warnings;
      for (const std::string& warning : opened.trace.warnings) {
        warnings += (warnings.empty() ? "" : ", ") + json_quote(warning);
      }
      list += fmt::format(
          "{}{{\"path\": {}, \"as\": {}, \"start_ns\": {}, \"end_ns\": {}, \"ops\": {}, \"apis\": {}, "
          "\"warnings\": [{}]}}",
          list.empty() ? "" : ",\n", json_quote(opened.source.path), json_quote(opened.source.as),
          span.start_ns - opened.trace.origin_ns, span.end_ns - opened.trace.origin_ns,
          opened.trace.ops.size(), opened.trace.apis.size(), warnings);
    }
    return Answer{200, kJson, "{\"traces\": [" + list + "]}\n", {}};
  }

  Result<const Opened*> trace_of(const Request& request, const char* name = "trace") const {
    SONDE_ASSIGN(const int64_t number, number_of(request, name));
    if (static_cast<size_t>(number) >= traces.size()) {
      return make_error(ErrorCode::kNotFound, "there is no such trace", std::to_string(number));
    }
    return &traces[static_cast<size_t>(number)];
  }

  Result<PanelOptions> options_of(const Request& request,
                                  std::initializer_list<std::string_view> others) const {
    PanelOptions options;
    for (const auto& [name, value] : request.query) {
      if (std::find(others.begin(), others.end(), name) != others.end()) continue;
      if (!options.emplace(name, value).second) return wrong_ask("is given twice", "--" + name);
    }
    return options;
  }

  Result<Answer> panel(const Opened& opened, const Request& request) const {
    SONDE_ASSIGN(const std::string analysis, text_of(request, "analysis"));
    SONDE_ASSIGN(const PanelOptions options, options_of(request, {"trace", "analysis"}));
    return made([&] { return panel_json(opened.source, analysis, options); });
  }

  Result<Answer> joint_panel(const Request& request) const {
    SONDE_ASSIGN(const std::string analysis, text_of(request, "analysis"));
    SONDE_ASSIGN(const PanelOptions options, options_of(request, {"analysis"}));
    if (analysis == "diff") return wrong_ask("is of two traces: /api/diff", analysis);
    std::vector<Source> sources;
    for (const Opened& opened : traces) sources.push_back(opened.source);
    return made([&] { return joint_panel_json(sources, analysis, options); });
  }

  Result<Answer> ranks() const {
    std::vector<Source> sources;
    for (const Opened& opened : traces) sources.push_back(opened.source);
    return made([&] { return ranks_json(sources); });
  }

  Result<Answer> with_base(What what, const Opened& opened, const Request& request) const {
    SONDE_ASSIGN(const Opened* base, trace_of(request, "base"));
    if (what == What::kAlign) {
      return made([&] { return aligned_json(base->source, opened.source); });
    }
    SONDE_ASSIGN(const PanelOptions options, options_of(request, {"trace", "base"}));
    return made([&] { return joint_panel_json({base->source, opened.source}, "diff", options); });
  }

  // What reads the trace once more: a few at a time.
  template <typename Make>
  Result<Answer> made(Make make) const {
    if (!panels.try_acquire()) return ask_again("other panels are being made");
    // Made here and not returned at once: the place is given back in any case.
    std::optional<Result<std::string>> json;
    try {
      json = make();
    } catch (...) {
      panels.release();
      throw;
    }
    panels.release();
    SONDE_ASSIGN(std::string bytes, std::move(*json));
    return Answer{200, kJson, std::move(bytes), {}};
  }

  // Uses what make() gave `kept` the first time. Who comes while it is made asks again.
  template <typename Kept, typename Make, typename Use>
  Result<Answer> kept(const Opened& opened, Kept& kept, Make make, Use use) const {
    std::unique_lock lock(opened.made->making, std::try_to_lock);
    if (!lock.owns_lock()) return ask_again("it is being made");
    if (!kept) {
      if (!panels.try_acquire()) return ask_again("other panels are being made");
      std::optional<Result<std::remove_const_t<typename Kept::element_type>>> result;
      try {
        result = make();
      } catch (...) {
        panels.release();
        throw;
      }
      panels.release();
      SONDE_ASSIGN(auto value, std::move(*result));
      kept = std::make_shared<std::remove_const_t<typename Kept::element_type>>(std::move(value));
    }
    const Kept held = kept;
    lock.unlock();
    return use(*held);
  }

  template <typename Use>
  Result<Answer> with_layer(const Opened& opened, const Request& request, Use use) const {
    SONDE_ASSIGN(const std::string name, text_of(request, "layer"));
    if (std::find(std::begin(kLayers), std::end(kLayers), name) == std::end(kLayers)) {
      return make_error(ErrorCode::kNotFound, "there is no such layer", name);
    }
    return kept(
        opened, opened.made->layers.at(name),
        [&] { return make_layer(opened.source, name, opened.timeline.span); }, use);
  }

  template <typename Use>
  Result<Answer> with_counters(const Opened& opened, Use use) const {
    return kept(
        opened, opened.made->counters,
        [&] { return read_counters(opened.source, opened.timeline.span.end_ns); }, use);
  }

  Result<Answer> steps(const Opened& opened) const {
    return kept(
        opened, opened.made->steps, [&] { return steps_json(opened.source); },
        [](const std::string& json) { return as_answer(json); });
  }

  Answer notes(const Opened& opened, const Request& request) const {
    const std::lock_guard lock(*opened.noting);
    return request.method == "POST" ? write_notes(opened.source.path, request.body)
                                    : read_notes(opened.source.path);
  }

  // One query at a time: each may take all the seconds that it is given.
  template <typename Use>
  Result<Answer> with_reader(const Opened& opened, Use use) const {
    const std::unique_lock lock(querying, std::try_to_lock);
    if (!lock.owns_lock()) return ask_again("another query runs");
    if (!opened.reader) {
      SONDE_ASSIGN(store::Reader reader,
                   importers::open_trace(opened.source.path, opened.source.as));
      opened.reader.emplace(std::move(reader));
    }
    return as_answer(use(*opened.reader));
  }

  Result<Answer> sql(const Opened& opened, const Request& request) const {
    SONDE_ASSIGN(const std::string text, text_of(request, "sql"));
    return with_reader(opened,
                       [&](store::Reader& reader) { return sql_json(reader, text); });
  }

  Result<Answer> of_layer(What what, const Opened& opened, const Request& request) const {
    return with_layer(opened, request, [&](const Layer& layer) -> Result<Answer> {
      if (what == What::kTiles) return tiles(layer.timeline, request);
      if (what == What::kLayer) return as_answer(layer_json(layer));
      return as_answer(layer_event_json(view_of(opened), layer, request));
    });
  }

  Result<Answer> of_trace(What what, const Opened& opened, const Request& request) const {
    switch (what) {
      case What::kTracks:
        return tracks(opened);
      case What::kTiles:
        return request.query.count("layer") == 0 ? tiles(opened.timeline, request)
                                                 : of_layer(what, opened, request);
      case What::kNames:
        return request.method == "POST" ? spelled(opened, request) : names(opened, request);
      case What::kEvent:
        return as_answer(event_json(view_of(opened), request));
      case What::kNext:
        return as_answer(next_json(view_of(opened), request));
      case What::kSearch:
        return as_answer(search_json(view_of(opened), request));
      case What::kFindings:
        return made([&] { return findings_json(opened.source); });
      case What::kPanel:
        return panel(opened, request);
      case What::kSql:
        return sql(opened, request);
      case What::kSchema:
        return with_reader(opened, schema_json);
      case What::kSteps:
        return steps(opened);
      case What::kLayer:
      case What::kLayerEvent:
        return of_layer(what, opened, request);
      case What::kCounters:
        return with_counters(opened,
                             [](const Counters& all) { return as_answer(counters_json(all)); });
      case What::kCounterTiles:
        return with_counters(
            opened, [&](const Counters& all) { return counter_tiles(all, opened, request); });
      case What::kNotes:
        return notes(opened, request);
      case What::kDiff:
      case What::kAlign:
        return with_base(what, opened, request);
    }
    return wrong_ask("is not known", request.path);
  }

  Result<Answer> answer(const Request& request) const {
    if (request.method != "GET" && !takes_body(request.path)) {
      return wrong_ask("is only to be read", request.path);
    }
    if (request.path == "/api/traces") return list();
    if (request.path == "/api/ranks") return ranks();
    if (request.path == "/api/joint-panel") return joint_panel(request);
    const std::string_view path = request.path;
    const auto entry = std::find_if(std::begin(kAsks), std::end(kAsks),
                                    [&](const Ask& ask) { return ask.path == path; });
    if (entry == std::end(kAsks)) {
      return make_error(ErrorCode::kNotFound, "there is nothing here", request.path);
    }
    SONDE_ASSIGN(const Opened* opened, trace_of(request));
    return of_trace(entry->what, *opened, request);
  }
};

Api::Api(std::unique_ptr<State> state) : state_(std::move(state)) {}
Api::Api(Api&&) noexcept = default;
Api::~Api() = default;

Result<Api> Api::open(const std::vector<Source>& sources) {
  auto state = std::make_unique<State>();
  trace::Request wanted = timeline::needs();
  wanted.devices = wanted.links = wanted.op_shapes = wanted.op_bytes = true;
  for (const Source& source : sources) {
    SONDE_ASSIGN(trace::Trace trace, trace::load_file(source.path, source.as, wanted, {}));
    timeline::Timeline timeline = timeline::make_timeline(trace);
    std::vector<std::string> full = report::demangled_names(trace.names);
    std::vector<std::string> brief = report::short_names(full);
    state->traces.push_back(
        {source, std::move(trace), std::move(timeline), std::move(full), std::move(brief)});
  }
  return Api(std::move(state));
}

Answer Api::answer(const Request& request) const {
  auto answer = state_->answer(request);
  return answer ? std::move(*answer) : refusal(answer.error());
}

}  // namespace sonde::serve
