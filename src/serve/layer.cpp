#include "serve/layer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "analysis/analysis.h"
#include "analysis/critical_path/graph.h"
#include "analysis/time/idle_gaps.h"
#include "base/join.h"
#include "base/numbered.h"
#include "base/packed.h"
#include "base/strings.h"
#include "serve/ask.h"
#include "serve/sampled.h"
#include "trace/other_tools.h"

namespace sonde::serve {
namespace {

using timeline::Track;

// A layer in the making.
struct Making {
  std::vector<std::string> classes, texts = {""};
  std::vector<Layer::Place> places;
  std::vector<Layer::Evidence> evidence;
  std::unordered_map<std::string, uint32_t> known = {{"", 0}};

  // The process and thread of each of a trace.
  void add_places(const trace::Trace& trace) {
    for (const trace::Thread& thread : trace.threads) {
      const int64_t pid = thread.process == trace::kNone
                              ? 0
                              : trace.processes[static_cast<size_t>(thread.process)].pid;
      places.push_back({pid, thread.tid});
    }
  }

  uint32_t text(const std::string& text) { return numbered(known, texts, text); }
};

Status add_gaps(const trace::Trace& trace, Making& layer) {
  const analysis::Parameters defaults(analysis::find_analysis("idle")->options);
  SONDE_ASSIGN(const int64_t latency_ns, defaults.duration_ns("latency"));
  for (size_t i = 0; i < analysis::kIdleReasons; ++i) {
    layer.classes.emplace_back(analysis::idle_reason_name(static_cast<analysis::IdleReason>(i)));
  }
  const analysis::HostTime host(trace);
  for (const analysis::Gap& gap : analysis::idle_gaps(trace, host, latency_ns)) {
    Layer::Evidence evidence{gap.time.start_ns, gap.time.end_ns};
    evidence.kind = static_cast<uint32_t>(gap.reason);
    evidence.owner = static_cast<int32_t>(gap.gpu);
    if (gap.host.time_ns != 0) {
      evidence.text = layer.text(analysis::text_of(trace, gap.host));
      evidence.text_ns = gap.host.time_ns;
    }
    evidence.after = gap.previous;
    evidence.before = gap.next;
    layer.evidence.push_back(evidence);
  }
  return ok_status();
}

Status add_path(const trace::Trace& trace, Making& layer) {
  for (size_t i = 0; i < analysis::kBoundBy; ++i) {
    layer.classes.emplace_back(analysis::bound_by_name(static_cast<analysis::BoundBy>(i)));
  }
  layer.add_places(trace);
  for (const analysis::Step& step : analysis::critical_path_steps(trace)) {
    Layer::Evidence evidence{step.start_ns, step.end_ns};
    evidence.kind = static_cast<uint32_t>(step.bound);
    evidence.text =
        layer.text(fmt::format("{}, {}", analysis::edge_kind_name(step.kind), step.place));
    evidence.text_ns = step.weight_ns;
    evidence.event = step.event.row;
    evidence.is_op = step.event.is_op ? 1 : 0;
    const auto row = static_cast<size_t>(step.event.row);
    evidence.event_start_ns = step.event.is_op ? trace.ops.start_ns[row] : trace.apis.start_ns[row];
    if (!step.event.is_op) {
      evidence.place = trace.apis.thread[row];
      evidence.name = layer.text(trace.names[trace.apis.label[row]]);
    }
    layer.evidence.push_back(evidence);
  }
  return ok_status();
}

Status add_samples(const trace::Trace& trace, Making& layer) {
  layer.add_places(trace);
  std::unordered_map<std::string, uint32_t> known;
  for (const SampledFrame& each : sampled_frames(trace)) {
    const trace::CodeFrame& code = trace.stacks.frames[each.frame];
    Layer::Evidence evidence{each.time.start_ns, each.time.end_ns};
    evidence.kind = numbered(known, layer.classes, trace.names[code.function]);
    evidence.owner = static_cast<int32_t>(each.thread);
    const std::string& file = trace.names[code.file];
    const std::string line = code.line > 0 ? ":" + std::to_string(code.line) : "";
    evidence.text = layer.text(file.empty() ? "not known" : file + line);
    evidence.text_ns = each.cpu_ns;
    layer.evidence.push_back(evidence);
  }
  return ok_status();
}

trace::Request needs_of_layer(const std::string& name) {
  if (name != "samples") return analysis::needs_of(name);
  trace::Request request;
  request.apis = request.nesting = request.samples = true;
  return request;
}

void put_texts(std::string& out, const std::vector<std::string>& texts) {
  put_pod(out, static_cast<uint64_t>(texts.size()));
  for (const std::string& text : texts) put_text(out, text);
}

std::vector<std::string> take_texts(Unpacker& from) {
  std::vector<std::string> texts;
  for (uint64_t left = from.pod<uint64_t>(); left > 0 && from.is_whole(); --left) {
    texts.emplace_back(from.text());
  }
  return texts;
}

// If the file has changed since the index was made, its rows are others: better none than those.
std::optional<Placed> placed_op(const View& view, const Layer::Evidence& evidence, trace::Row row,
                                bool before) {
  if (row == trace::kNone) return {};
  const auto placed = place_of(view, true, static_cast<uint32_t>(row));
  if (!placed || placed->track->owner != evidence.owner) return {};
  const bool fits = before ? placed->event.start_ns >= evidence.end_ns
                           : placed->event.end_ns <= evidence.start_ns;
  return fits ? placed : std::nullopt;
}

// At its row, or beside it among those that begin together.
std::optional<Placed> placed_event(const View& view, const Layer& layer,
                                   const Layer::Evidence& evidence) {
  if (evidence.event == trace::kNone) return {};
  const bool is_op = evidence.is_op != 0;
  const auto is_it = [&](const Placed& placed) {
    if (is_op) return true;
    const Layer::Place& place = layer.places[evidence.place];
    return placed.track->owner == place.pid && placed.track->number == place.tid &&
           view.index.names[placed.event.name] == layer.texts[evidence.name];
  };
  for (const bool back : {false, true}) {
    auto row = static_cast<uint32_t>(evidence.event);
    for (; row != UINT32_MAX; back ? --row : ++row) {
      const auto placed = place_of(view, is_op, row);
      if (!placed || placed->event.start_ns != evidence.event_start_ns) break;
      if (is_it(*placed)) return placed;
    }
  }
  return {};
}

}  // namespace

Result<std::string> packed_layer(const Source& source, const std::string& name) {
  Making layer;
  {
    SONDE_ASSIGN(const trace::Trace trace,
                 trace::load_file(source.path, source.as, needs_of_layer(name), {}));
    SONDE_TRY(name == "idle"      ? add_gaps(trace, layer)
              : name == "samples" ? add_samples(trace, layer)
                                  : add_path(trace, layer));
  }
  std::string out;
  put_text(out, name);
  put_texts(out, layer.classes);
  put_texts(out, layer.texts);
  put_pods(out, layer.places);
  put_pods(out, layer.evidence);
  return out;
}

Result<Layer> unpacked_layer(std::string_view bytes, trace::Interval span,
                             const std::string& folder) {
  Unpacker from(bytes);
  Layer layer;
  layer.name = from.text();
  layer.classes = take_texts(from);
  layer.texts = take_texts(from);
  layer.places = from.pods<Layer::Place>();
  const std::string_view evidence = from.text();
  if (!from.is_whole()) return make_error(ErrorCode::kInternal, "is cut", "layer");
  SONDE_ASSIGN(const UniqueFd fd, timeline::unnamed_file(folder));
  timeline::Appender out(fd.get(), folder);
  out.append(evidence.data(), evidence.size());
  SONDE_TRY(out.finish());
  SONDE_ASSIGN(timeline::MappedFile file, timeline::MappedFile::map(fd.get(), false, folder));
  layer.file = std::make_shared<const timeline::MappedFile>(std::move(file));
  layer.evidence =
      layer.file->as<const Layer::Evidence>(0, layer.file->size() / sizeof(Layer::Evidence));
  layer.timeline.span = span;
  std::map<int64_t, std::vector<timeline::Event>> events;  // by track
  layer.class_ns.resize(layer.classes.size());
  for (uint32_t row = 0; row < layer.evidence.size(); ++row) {
    const Layer::Evidence& each = layer.evidence[row];
    layer.class_ns[each.kind] +=
        layer.name == "critical-path" ? each.text_ns : each.end_ns - each.start_ns;
    if (each.end_ns <= span.start_ns || each.start_ns >= span.end_ns) continue;  // of no tile
    events[each.owner].push_back({std::max(each.start_ns, span.start_ns),
                                  std::min(each.end_ns, span.end_ns), each.kind, row});
  }
  const auto kind = layer.name == "idle"      ? Track::Kind::kGaps
                    : layer.name == "samples" ? Track::Kind::kSamples
                                              : Track::Kind::kPath;
  for (auto& [owner, track] : events) {
    std::stable_sort(track.begin(), track.end(),
                     [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    add_track({kind, owner, 0}, track, layer.timeline);
  }
  return layer;
}

std::string layer_json(const Layer& layer) {
  std::string tracks;
  for (const Track& track : layer.timeline.tracks) {
    uint64_t events = 0;
    int64_t total_ns = 0;
    std::vector<size_t> lane_events;
    for (uint32_t i = 0; i < track.lanes; ++i) {
      const timeline::Lane& lane = layer.timeline.lanes[track.first_lane + i];
      events += lane.size();
      lane_events.push_back(lane.size());
      if (lane.size() == 0) continue;
      total_ns += lane.content({lane.event(0).start_ns, lane.end_ns(lane.size() - 1)}).busy_ns;
    }
    tracks += fmt::format(
        "{}{{\"kind\": {}, \"owner\": {}, \"first_lane\": {}, \"lanes\": {}, \"events\": {}, "
        "\"total_ns\": {}",
        tracks.empty() ? "" : ",\n", json_quote(layer.name), track.owner, track.first_lane,
        track.lanes, events, total_ns);
    if (layer.name == "samples") {
      const Layer::Place& place = layer.places[static_cast<size_t>(track.owner)];
      tracks += fmt::format(", \"pid\": {}, \"tid\": {}, \"lane_events\": [{}]", place.pid,
                            place.tid, fmt::join(lane_events, ", "));
    }
    tracks += "}";
  }
  return fmt::format(
      "{{\"layer\": {}, \"classes\": [{}],\n\"class_ns\": [{}],\n\"tracks\": [{}]}}\n",
      json_quote(layer.name), join(layer.classes, ", ", json_quote),
      fmt::join(layer.class_ns, ", "), tracks);
}

Result<std::string> layer_event_json(const View& view, const Layer& layer,
                                     const http::Request& request) {
  SONDE_ASSIGN(const int64_t row, number_of(request, "row"));
  if (static_cast<size_t>(row) >= layer.evidence.size()) {
    return make_error(ErrorCode::kNotFound, "there is no such row", std::to_string(row));
  }
  const Layer::Evidence& evidence = layer.evidence[static_cast<size_t>(row)];
  const struct {
    const char *text, *time;
  } titles = layer.name == "idle"      ? decltype(titles){"Host", "For"}
             : layer.name == "samples" ? decltype(titles){"Code", "CPU time of its samples"}
                                       : decltype(titles){"Edge", "Explains"};
  std::string facts, events;
  if (const std::string& text = layer.texts[evidence.text]; !text.empty()) {
    facts = fmt::format("{{\"title\": \"{}\", \"text\": {}}}, {{\"title\": \"{}\", \"text\": {}}}",
                        titles.text, json_quote(text), titles.time,
                        json_quote(format_duration(evidence.text_ns)));
  }
  const auto add = [&](const char* role, bool is_op, const std::optional<Placed>& placed) {
    if (!placed) return;
    events += fmt::format("{}{{\"role\": \"{}\", {}}}", events.empty() ? "" : ",\n", role,
                          basics_json(view, is_op, *placed));
  };
  add("after", true, placed_op(view, evidence, evidence.after, false));
  const auto before = placed_op(view, evidence, evidence.before, true);
  add("before", true, before);
  if (before) {
    const uint32_t api = view.index.op_api[before->event.row];
    if (api != timeline::kNoRow) add("launched by", false, place_of(view, false, api));
  }
  add("of", evidence.is_op != 0, placed_event(view, layer, evidence));
  return fmt::format(
      "{{\"class\": {}, \"start_ns\": {}, \"duration_ns\": {}, \"facts\": [{}], \"events\": [{}]}}\n",
      json_quote(layer.classes[evidence.kind]), evidence.start_ns - view.index.origin_ns,
      evidence.end_ns - evidence.start_ns, facts, events);
}

}  // namespace sonde::serve
