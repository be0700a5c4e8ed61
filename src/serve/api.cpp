#include "serve/api.h"

#include <fmt/format.h>

#include <mutex>
#include <optional>
#include <semaphore>
#include <utility>

#include "base/strings.h"
#include "importers/import.h"
#include "store/limited_query.h"
#include "timeline/tile.h"
#include "trace/other_tools.h"

namespace sonde::serve {
namespace {

using http::Answer;
using http::Request;

constexpr const char* kJson = "application/json";
constexpr size_t kMostIds = 4096;  // names of one ask

struct Opened {
  Source source;
  trace::Trace trace;
  timeline::Timeline timeline;
  mutable std::optional<store::Reader> reader = {};  // from the first query on; under `querying`
};

Answer refusal(const Error& error) {
  const int status = error.code == ErrorCode::kInvalidArgument ? 400
                     : error.code == ErrorCode::kNotFound      ? 404
                                                               : 500;
  return {status, kJson, "{\"error\": " + json_quote(error.to_line()) + "}\n", {}};
}

Error wrong(const std::string& what, const std::string& on) {
  return make_error(ErrorCode::kInvalidArgument, what, on);
}

// The one value of a parameter.
Result<std::string> text_of(const Request& request, const char* name) {
  const auto [first, end] = request.query.equal_range(name);
  if (first == end || std::next(first) != end) return wrong("is to be given once", name);
  return first->second;
}

Result<int64_t> number_of(const Request& request, const char* name) {
  SONDE_ASSIGN(const std::string text, text_of(request, name));
  const auto number = parse_int(text);
  if (!number || *number < 0) return wrong("is not a whole number", name);
  return *number;
}

Result<std::vector<uint32_t>> numbers_of(const Request& request, const char* name, size_t most) {
  SONDE_ASSIGN(const std::string text, text_of(request, name));
  std::vector<uint32_t> numbers;
  for (const std::string_view word : split(text, ',')) {
    const auto number = parse_int(word);
    if (!number || *number < 0 || *number > int64_t{UINT32_MAX} || numbers.size() == most) {
      return wrong(fmt::format("is not a list of at most {} whole numbers", most), name);
    }
    numbers.push_back(static_cast<uint32_t>(*number));
  }
  return numbers;
}

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
  if (level > timeline::kMostLevel) return wrong("is at most 40", "level");
  SONDE_ASSIGN(std::string bytes,
               timeline::make_tile(opened.timeline, lanes, {static_cast<int>(level), tile}));
  return Answer{200, "application/octet-stream", std::move(bytes), {}};
}

Result<Answer> names(const Opened& opened, const Request& request) {
  SONDE_ASSIGN(const auto ids, numbers_of(request, "ids", kMostIds));
  std::string list;
  for (const uint32_t id : ids) {
    if (id >= opened.trace.names.size()) {
      return make_error(ErrorCode::kNotFound, "there is no such name", std::to_string(id));
    }
    list += fmt::format("{}\"{}\": {}", list.empty() ? "" : ",\n", id,
                        json_quote(opened.trace.names[id]));
  }
  return Answer{200, kJson, "{" + list + "}\n", {}};
}

Result<Answer> event(const Opened& opened, const Request& request) {
  SONDE_ASSIGN(const std::string table, text_of(request, "table"));
  SONDE_ASSIGN(const int64_t number, number_of(request, "row"));
  const trace::Trace& trace = opened.trace;
  const bool is_op = table == "op";
  if (!is_op && table != "api") return wrong("is op or api", "table");
  const auto row = static_cast<size_t>(number);
  if (row >= (is_op ? trace.ops.size() : trace.apis.size())) {
    return make_error(ErrorCode::kNotFound, "there is no such row", std::to_string(number));
  }
  const int64_t start_ns = is_op ? trace.ops.start_ns[row] : trace.apis.start_ns[row];
  const int64_t end_ns = is_op ? trace.ops.end_ns[row] : trace.apis.end_ns[row];
  const trace::NameId name = is_op ? trace.label(row) : trace.apis.label[row];
  const trace::NameId kind = is_op ? trace.ops.type[row] : trace.apis.domain[row];
  return Answer{
      200,
      kJson,
      fmt::format("{{\"name\": {}, \"{}\": {}, \"start_ns\": {}, \"duration_ns\": {}}}\n",
                  json_quote(trace.names[name]), is_op ? "type" : "domain",
                  json_quote(trace.names[kind]), start_ns - trace.origin_ns, end_ns - start_ns),
      {}};
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
          "{}{{\"path\": {}, \"start_ns\": {}, \"end_ns\": {}, \"ops\": {}, \"apis\": {}, "
          "\"warnings\": [{}]}}",
          list.empty() ? "" : ",\n", json_quote(opened.source.path),
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
      if (!options.emplace(name, value).second) return wrong("is given twice", "--" + name);
    }
    if (!panels.try_acquire()) {
      return Answer{503, kJson, "{\"error\": \"other panels are being made; ask again\"}\n", {}};
    }
    // Made here and not returned at once: the place is given back in any case.
    std::optional<Result<std::string>> json;
    try {
      json = panel_json(opened.source, analysis, options);
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
    if (request.method != "GET") return wrong("is only to be read", request.path);
    if (request.path == "/api/traces") return list();
    const bool known = request.path == "/api/tracks" || request.path == "/api/tiles" ||
                       request.path == "/api/names" || request.path == "/api/event" ||
                       request.path == "/api/panel" || request.path == "/api/sql";
    if (!known) return make_error(ErrorCode::kNotFound, "there is nothing here", request.path);
    SONDE_ASSIGN(const Opened* opened, trace_of(request));
    if (request.path == "/api/tracks") return tracks(*opened);
    if (request.path == "/api/tiles") return tiles(*opened, request);
    if (request.path == "/api/names") return names(*opened, request);
    if (request.path == "/api/event") return event(*opened, request);
    if (request.path == "/api/sql") return sql(*opened, request);
    return panel(*opened, request);
  }
};

Api::Api(std::unique_ptr<State> state) : state_(std::move(state)) {}
Api::Api(Api&&) noexcept = default;
Api::~Api() = default;

Result<Api> Api::open(const std::vector<Source>& sources) {
  auto state = std::make_unique<State>();
  trace::Request wanted = timeline::needs();
  wanted.devices = true;
  for (const Source& source : sources) {
    SONDE_ASSIGN(trace::Trace trace, trace::load_file(source.path, source.as, wanted, {}));
    timeline::Timeline timeline = timeline::make_timeline(trace);
    state->traces.push_back({source, std::move(trace), std::move(timeline)});
  }
  return Api(std::move(state));
}

Answer Api::answer(const Request& request) const {
  auto answer = state_->answer(request);
  return answer ? std::move(*answer) : refusal(answer.error());
}

}  // namespace sonde::serve
