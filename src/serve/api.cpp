#include "serve/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
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
#include "serve/events.h"
#include "serve/findings.h"
#include "store/limited_query.h"
#include "timeline/tile.h"
#include "trace/other_tools.h"

namespace sonde::serve {
namespace {

using http::Answer;
using http::Request;

constexpr size_t kMostIds = 4096;  // names of one ask

struct Opened {
  Source source;
  trace::Trace trace;
  timeline::Timeline timeline;
  std::vector<std::string> full_names, short_names;  // by NameId
  mutable std::optional<store::Reader> reader = {};  // from the first query on; under `querying`
};

const char* kind_of(timeline::Track::Kind kind) {
  switch (kind) {
    case timeline::Track::Kind::kGpu:
      return "gpu";
    case timeline::Track::Kind::kQueue:
      return "queue";
    case timeline::Track::Kind::kThread:
      return "thread";
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

Result<Answer> tiles(const Opened& opened, const Request& request) {
  SONDE_ASSIGN(const auto lanes, numbers_of(request, "lanes", timeline::kMostLanes));
  SONDE_ASSIGN(const int64_t level, number_of(request, "level"));
  SONDE_ASSIGN(const int64_t tile, number_of(request, "tile"));
  if (level > timeline::kMostLevel) return wrong_ask("is at most 40", "level");
  SONDE_ASSIGN(std::string bytes,
               timeline::make_tile(opened.timeline, lanes, {static_cast<int>(level), tile}));
  return Answer{200, "application/octet-stream", std::move(bytes), {}};
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

std::string json_of(const store::QueryResult& result) {
  std::string columns, rows;
  for (const std::string& column : result.columns) {
    columns += (columns.empty() ? "" : ", ") + json_quote(column);
  }
  for (const std::vector<std::string>& row : result.rows) {
    rows += (rows.empty() ? "" : ",\n") + fmt::format("[{}]", fmt::join(row, ", "));
  }
  return fmt::format("{{\"columns\": [{}], \"cut\": {}, \"rows\": [{}]}}\n", columns, result.cut,
                     rows);
}

View view_of(const Opened& opened) { return {opened.trace, opened.timeline, opened.full_names}; }

Result<Answer> as_answer(Result<std::string> json) {
  SONDE_ASSIGN(std::string bytes, std::move(json));
  return Answer{200, kJson, std::move(bytes), {}};
}

enum class What { kTracks, kTiles, kNames, kEvent, kNext, kSearch, kFindings, kPanel, kSql };
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
                         {"/api/sql", What::kSql}};

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

  Result<const Opened*> trace_of(const Request& request) const {
    SONDE_ASSIGN(const int64_t number, number_of(request, "trace"));
    if (static_cast<size_t>(number) >= traces.size()) {
      return make_error(ErrorCode::kNotFound, "there is no such trace", std::to_string(number));
    }
    return &traces[static_cast<size_t>(number)];
  }

  Result<Answer> panel(const Opened& opened, const Request& request) const {
    SONDE_ASSIGN(const std::string analysis, text_of(request, "analysis"));
    PanelOptions options;
    for (const auto& [name, value] : request.query) {
      if (name == "trace" || name == "analysis") continue;
      if (!options.emplace(name, value).second) return wrong_ask("is given twice", "--" + name);
    }
    return made([&] { return panel_json(opened.source, analysis, options); });
  }

  // What reads the trace once more: a few at a time.
  template <typename Make>
  Result<Answer> made(Make make) const {
    if (!panels.try_acquire()) {
      return Answer{503, kJson, "{\"error\": \"other panels are being made; ask again\"}\n", {}};
    }
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

  // One query at a time: each may take all the seconds that it is given.
  Result<Answer> sql(const Opened& opened, const Request& request) const {
    SONDE_ASSIGN(const std::string text, text_of(request, "sql"));
    const std::unique_lock lock(querying, std::try_to_lock);
    if (!lock.owns_lock()) {
      return Answer{503, kJson, "{\"error\": \"another query runs; ask again\"}\n", {}};
    }
    if (!opened.reader) {
      SONDE_ASSIGN(store::Reader reader,
                   importers::open_trace(opened.source.path, opened.source.as));
      opened.reader.emplace(std::move(reader));
    }
    auto result = store::limited_query(opened.reader->database(), text);
    if (!result) {
      Error error = result.error();
      error.code = ErrorCode::kInvalidArgument;
      return refusal(error);
    }
    return Answer{200, kJson, json_of(*result), {}};
  }

  Result<Answer> answer(const Request& request) const {
    const bool is_list = request.method == "POST" && request.path == "/api/names";
    if (request.method != "GET" && !is_list) return wrong_ask("is only to be read", request.path);
    if (request.path == "/api/traces") return list();
    const std::string_view path = request.path;
    const auto entry = std::find_if(std::begin(kAsks), std::end(kAsks),
                                    [&](const Ask& ask) { return ask.path == path; });
    if (entry == std::end(kAsks)) {
      return make_error(ErrorCode::kNotFound, "there is nothing here", request.path);
    }
    SONDE_ASSIGN(const Opened* opened, trace_of(request));
    switch (entry->what) {
      case What::kTracks:
        return tracks(*opened);
      case What::kTiles:
        return tiles(*opened, request);
      case What::kNames:
        return is_list ? spelled(*opened, request) : names(*opened, request);
      case What::kEvent:
        return as_answer(event_json(view_of(*opened), request));
      case What::kNext:
        return as_answer(next_json(view_of(*opened), request));
      case What::kSearch:
        return as_answer(search_json(view_of(*opened), request));
      case What::kFindings:
        return made([&] { return findings_json(opened->source); });
      case What::kPanel:
        return panel(*opened, request);
      case What::kSql:
        return sql(*opened, request);
    }
    return wrong_ask("is not known", request.path);
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
