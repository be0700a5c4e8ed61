#include "serve/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/join.h"
#include "base/strings.h"
#include "base/time.h"
#include "serve/answers.h"
#include "serve/ask.h"
#include "serve/events.h"
#include "serve/jobs.h"
#include "serve/notes.h"
#include "serve/preview.h"
#include "serve/sql.h"
#include "serve/traces.h"
#include "store/limited_query.h"

namespace sonde::serve {
namespace {

using http::Answer;
using http::Request;

// A small trace is read before the page asks again.
constexpr int64_t kPatienceNs = 200'000'000;

View view_of(const Opened& opened) { return {opened.index, opened.full_names, *opened.details}; }

constexpr const char* kSvg = "image/svg+xml";

Result<Answer> as_answer(Result<std::string> json) {
  SONDE_ASSIGN(std::string bytes, std::move(json));
  return Answer{200, kJson, std::move(bytes), {}};
}

Answer ask_again(const char* why) {
  return {503, kJson, fmt::format("{{\"error\": \"{}; ask again\"}}\n", why), {}};
}

Answer still_reading(const TraceState& state) {
  return {503,
          kJson,
          fmt::format("{{\"error\": \"the trace is being read; ask again\", \"reading\": true, "
                      "\"what\": {}, \"done\": {:.3f}}}\n",
                      json_quote(state.what), state.done),
          {}};
}

// Lanes, counters and classes are numbered anew in each version, so none is answered with another.
Answer another_version() {
  return {409, kJson, "{\"error\": \"the trace has grown: this version of it is gone\"}\n", {}};
}

// Those that take a body.
bool takes_body(std::string_view path) {
  return path == "/api/names" || path == "/api/notes" || path == "/api/sql";
}

Result<std::string> sql_of(const Request& request) {
  if (request.method != "POST") return text_of(request, "sql");
  SONDE_ASSIGN(std::vector<std::string> texts, texts_of(request, 1));
  if (texts.empty()) return wrong_ask("is not one statement", "body");
  return std::move(texts.front());
}

std::string state_json(const TraceState& state) {
  const char* name = state.version != 0 ? "ready" : !state.error.empty() ? "failed" : "reading";
  return fmt::format(
      "\"state\": \"{}\", \"what\": {}, \"done\": {:.3f}, \"version\": {}, \"growing\": {}, "
      "\"error\": {}",
      name, json_quote(state.what), state.done, state.version, state.growing,
      json_quote(state.error));
}

std::string trace_json(const Source& source, const TraceState& state, const Opened* opened) {
  std::string json = fmt::format("{{\"path\": {}, \"as\": {}, {}", json_quote(source.path),
                                 json_quote(source.as), state_json(state));
  if (opened != nullptr) {
    const trace::Interval span = opened->index.timeline.span;
    json += fmt::format(
        ", \"origin_ns\": {}, \"start_ns\": {}, \"end_ns\": {}, \"ops\": {}, \"apis\": {}, \"counted\": {}, "
        "\"warnings\": [{}]",
        store::json_integer(opened->index.origin_ns), span.start_ns - opened->index.origin_ns,
        span.end_ns - opened->index.origin_ns, opened->ops(), opened->apis(), opened->counted,
        join(opened->index.warnings, ", ", json_quote));
  }
  return json + "}";
}

using Words = std::initializer_list<std::string_view>;

Result<PanelOptions> options_of(const Request& request, Words others) {
  PanelOptions options;
  for (const auto& [name, value] : request.query) {
    if (std::find(others.begin(), others.end(), name) != others.end()) continue;
    if (!options.emplace(name, value).second) return wrong_ask("is given twice", "--" + name);
  }
  return options;
}

}  // namespace

struct Api::State {
  Workers workers;
  std::unique_ptr<Traces> traces;
  mutable std::counting_semaphore<> places{4};  // of workers

  Answer list() const {
    const int64_t until_ns = monotonic_now_ns() + kPatienceNs;  // for all of them together
    std::string list;
    for (size_t i = 0; i < traces->size(); ++i) {
      const auto opened = traces->opened(i, std::max<int64_t>(0, until_ns - monotonic_now_ns()));
      list += (list.empty() ? "" : ",\n") +
              trace_json(traces->source(i), traces->state(i), opened.get());
    }
    return {200, kJson, "{\"traces\": [" + list + "]}\n", {}};
  }

  Answer states() const {
    std::string list;
    for (size_t i = 0; i < traces->size(); ++i) {
      list += fmt::format("{}{{\"trace\": {}, {}}}", list.empty() ? "" : ",\n", i,
                          state_json(traces->state(i)));
    }
    return {200, kJson, "{\"traces\": [" + list + "]}\n", {}};
  }

  Result<size_t> number_of_trace(const Request& request, const char* name = "trace") const {
    SONDE_ASSIGN(const int64_t number, number_of(request, name));
    if (static_cast<size_t>(number) >= traces->size()) {
      return make_error(ErrorCode::kNotFound, "there is no such trace", std::to_string(number));
    }
    return static_cast<size_t>(number);
  }

  // What reads a trace once more, in a worker: a few at a time.
  Result<std::string> worked(const JobText& job) const {
    struct Place {
      std::counting_semaphore<>& places;
      ~Place() { places.release(); }
    };
    if (!places.try_acquire()) return make_error(ErrorCode::kUnsupported, kBusy);
    const Place place{places};
    return workers.run(text_of(job));
  }
  static constexpr const char* kBusy = "other panels are being made";

  Result<Answer> work(const JobText& job, const char* type = kJson) const {
    auto made = worked(job);
    if (!made && made.error().message == kBusy) return ask_again(kBusy);
    SONDE_ASSIGN(std::string bytes, std::move(made));
    return Answer{200, type, std::move(bytes), {}};
  }

  // Uses what was made the first time. A request that comes while it is made is told to ask again.
  template <typename Kept, typename Make, typename Use>
  Result<Answer> kept(const Opened& opened, Kept& kept, const JobText& job, Make make,
                      Use use) const {
    std::unique_lock lock(opened.made->making, std::try_to_lock);
    if (!lock.owns_lock()) return ask_again("it is being made");
    if (!kept) {
      auto bytes = worked(job);
      if (!bytes && bytes.error().message == kBusy) return ask_again(kBusy);
      SONDE_ASSIGN(const std::string made, std::move(bytes));
      SONDE_ASSIGN(auto value, make(made));
      kept = std::make_shared<std::remove_const_t<typename Kept::element_type>>(std::move(value));
    }
    const Kept held = kept;
    lock.unlock();
    return use(*held);
  }

  Result<Answer> panel(const Source& source, const Request& request) const {
    std::string analysis = "info";
    if (request.path != "/api/info") {
      SONDE_ASSIGN(analysis, text_of(request, "analysis"));
    }
    SONDE_ASSIGN(const PanelOptions options, options_of(request, {"trace", "analysis"}));
    const auto format = options.find("format");
    const bool is_picture = format != options.end() && format->second == "svg";
    return work({"panel", analysis, {source}, options}, is_picture ? kSvg : kJson);
  }

  std::vector<Source> sources() const {
    std::vector<Source> all;
    for (size_t i = 0; i < traces->size(); ++i) all.push_back(traces->source(i));
    return all;
  }

  Result<Answer> joint_panel(const Request& request) const {
    SONDE_ASSIGN(const std::string analysis, text_of(request, "analysis"));
    SONDE_ASSIGN(const PanelOptions options, options_of(request, {"analysis"}));
    if (analysis == "diff") return wrong_ask("is of two traces: /api/diff", analysis);
    return work({"joint", analysis, sources(), options});
  }

  Result<Answer> pair(const char* what, size_t trace, const Request& request) const {
    SONDE_ASSIGN(const size_t base, number_of_trace(request, "base"));
    SONDE_ASSIGN(const PanelOptions options, options_of(request, {"trace", "base"}));
    return work({what, "diff", {traces->source(base), traces->source(trace)}, options});
  }

  template <typename Use>
  Result<Answer> with_layer(const Opened& opened, const Request& request, Use use) const {
    SONDE_ASSIGN(const std::string name, text_of(request, "layer"));
    if (std::find(std::begin(kLayers), std::end(kLayers), name) == std::end(kLayers)) {
      return make_error(ErrorCode::kNotFound, "there is no such layer", name);
    }
    return kept(
        opened, opened.made->layers.at(name), {"layer", name, {opened.source}, {}},
        [&](const std::string& bytes) {
          return unpacked_layer(bytes, opened.index.timeline.span, temporary_folder());
        },
        use);
  }

  template <typename Use>
  Result<Answer> with_counters(const Opened& opened, Use use) const {
    return kept(
        opened, opened.made->counters, {"counters", "", {opened.source}, {}},
        [&](const std::string& bytes) {
          return unpacked_counters(bytes, opened.index.timeline.span.end_ns);
        },
        use);
  }

  Result<Answer> steps(const Opened& opened) const {
    return kept(
        opened, opened.made->steps, {"steps", "", {opened.source}, {}},
        [](const std::string& json) { return Result<std::string>(json); },
        [](const std::string& json) { return as_answer(json); });
  }

  // One query at a time: each may take all the seconds that it is given.
  template <typename Use>
  Result<Answer> with_reader(const Opened& opened, Use use) const {
    const std::unique_lock lock(opened.sql->mutex, std::try_to_lock);
    if (!lock.owns_lock()) return ask_again("another query runs");
    SONDE_ASSIGN(store::Reader * reader, opened.sql->get());
    return as_answer(use(*reader));
  }

  Result<Answer> sql(const Opened& opened, const Request& request) const {
    SONDE_ASSIGN(const std::string text, sql_of(request));
    return with_reader(opened, [&](store::Reader& reader) { return sql_json(reader, text); });
  }

  Result<Answer> of_layer(const Opened& opened, const Request& request) const {
    return with_layer(opened, request, [&](const Layer& layer) -> Result<Answer> {
      if (request.path == "/api/tiles") return tiles(layer.timeline, request);
      if (request.path == "/api/layer") return as_answer(layer_json(layer));
      return as_answer(layer_event_json(view_of(opened), layer, request));
    });
  }

  Result<Answer> of_counters(const Opened& opened, const Request& request) const {
    return with_counters(opened, [&](const Counters& all) -> Result<Answer> {
      if (request.path == "/api/counters") return as_answer(counters_json(all));
      return counter_tiles(all, opened.index.timeline.span.start_ns, request);
    });
  }

  // What needs nothing but the file.
  Result<Answer> of_file(size_t trace, const Request& request) const {
    const Source& source = traces->source(trace);
    if (request.path == "/api/findings") return work({"findings", "", {source}, {}});
    if (request.path == "/api/panel" || request.path == "/api/info") return panel(source, request);
    if (request.path == "/api/diff") return pair("joint", trace, request);
    if (request.path == "/api/align") return pair("align", trace, request);
    if (request.path == "/api/preview") return as_answer(preview_json(source.path));
    const std::lock_guard lock(traces->noting());
    return request.method == "POST" ? write_notes(source.path, request.body)
                                    : read_notes(source.path);
  }

  // What needs the index.
  Result<Answer> of_index(const Opened& opened, const Request& request) const {
    const std::string& path = request.path;
    if (request.query.count("v") != 0) {
      SONDE_ASSIGN(const int64_t version, number_of(request, "v"));
      if (static_cast<uint64_t>(version) != opened.version) return another_version();
    }
    if (path == "/api/tracks") return tracks_of(opened);
    if (path == "/api/tiles" && request.query.count("layer") == 0) {
      return tiles(opened.index.timeline, request);
    }
    if (path == "/api/names") {
      return request.method == "POST" ? spelled(opened, request) : names_of(opened, request);
    }
    if (path == "/api/event") return as_answer(event_json(view_of(opened), request));
    if (path == "/api/next") return as_answer(next_json(view_of(opened), request));
    if (path == "/api/search") return as_answer(search_json(view_of(opened), request));
    if (path == "/api/sql") return sql(opened, request);
    if (path == "/api/schema") return with_reader(opened, schema_json);
    if (path == "/api/steps") return steps(opened);
    if (path == "/api/counters" || path == "/api/counter-tiles") {
      return of_counters(opened, request);
    }
    return of_layer(opened, request);
  }

  Result<Answer> answer(const Request& request) const {
    constexpr std::string_view kOfFile[] = {"/api/findings", "/api/panel", "/api/info",
                                            "/api/diff",     "/api/align", "/api/preview",
                                            "/api/notes"};
    constexpr std::string_view kOfIndex[] = {
        "/api/tracks",   "/api/tiles", "/api/names",      "/api/event", "/api/next",
        "/api/search",   "/api/sql",   "/api/schema",     "/api/steps", "/api/counter-tiles",
        "/api/counters", "/api/layer", "/api/layer-event"};
    const auto is_one_of = [&](const auto& paths) {
      return std::find(std::begin(paths), std::end(paths), request.path) != std::end(paths);
    };
    if (request.method != "GET" && !takes_body(request.path)) {
      return wrong_ask("is only to be read", request.path);
    }
    if (request.path == "/api/traces") return list();
    if (request.path == "/api/state") return states();
    if (request.path == "/api/ranks") return work({"ranks", "", sources(), {}});
    if (request.path == "/api/joint-panel") return joint_panel(request);
    if (request.path == "/api/explain") {
      SONDE_ASSIGN(const std::string analysis, text_of(request, "analysis"));
      return as_answer(definition_json(analysis));
    }
    const bool of_file_only = is_one_of(kOfFile);
    if (!of_file_only && !is_one_of(kOfIndex)) {
      return make_error(ErrorCode::kNotFound, "there is nothing here", request.path);
    }
    SONDE_ASSIGN(const size_t trace, number_of_trace(request));
    if (of_file_only) return of_file(trace, request);
    const auto opened = traces->opened(trace, kPatienceNs);
    if (opened) return of_index(*opened, request);
    const TraceState state = traces->state(trace);
    if (!state.error.empty()) return make_error(ErrorCode::kBadData, state.error);
    return still_reading(state);
  }
};

Api::Api(std::unique_ptr<State> state) : state_(std::move(state)) {}
Api::Api(Api&&) noexcept = default;
Api::~Api() = default;

Result<Api> Api::open(const std::vector<Source>& sources, const ApiOptions& options) {
  SONDE_ASSIGN(Workers workers, Workers::start(do_job, options.limits));  // before any thread
  SONDE_ASSIGN(std::unique_ptr<Traces> traces, Traces::open(sources, {options.cache_folder}));
  return Api(std::unique_ptr<State>(new State{std::move(workers), std::move(traces)}));
}

Answer Api::answer(const Request& request) const {
  auto answer = state_->answer(request);
  return answer ? std::move(*answer) : refusal(answer.error());
}

}  // namespace sonde::serve
