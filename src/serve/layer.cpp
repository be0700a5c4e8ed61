#include "serve/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analysis/analysis.h"
#include "analysis/critical_path/graph.h"
#include "analysis/time/idle_gaps.h"
#include "base/strings.h"
#include "serve/ask.h"
#include "trace/other_tools.h"

namespace sonde::serve {
namespace {

using timeline::Track;

// Texts of a layer, each once.
class Texts {
 public:
  explicit Texts(Layer& layer) : layer_(layer) { index(""); }
  uint32_t index(const std::string& text) {
    const auto [entry, is_new] =
        known_.try_emplace(text, static_cast<uint32_t>(layer_.texts.size()));
    if (is_new) layer_.texts.push_back(text);
    return entry->second;
  }

 private:
  Layer& layer_;
  std::unordered_map<std::string, uint32_t> known_;
};

timeline::Event event_of(const Layer::Evidence& evidence, size_t row) {
  return {evidence.time.start_ns, evidence.time.end_ns, evidence.kind, static_cast<uint32_t>(row)};
}

Status add_gaps(const trace::Trace& trace, Layer& layer) {
  const analysis::Parameters defaults(analysis::find_analysis("idle")->options);
  SONDE_ASSIGN(const int64_t latency_ns, defaults.duration_ns("latency"));
  for (size_t i = 0; i < analysis::kIdleReasons; ++i) {
    layer.classes.emplace_back(
        analysis::idle_reason_name(static_cast<analysis::IdleReason>(i)));
  }
  const analysis::HostTime host(trace);
  Texts texts(layer);
  std::map<int64_t, std::vector<timeline::Event>> gpus;
  for (const analysis::Gap& gap : analysis::idle_gaps(trace, host, latency_ns)) {
    Layer::Evidence evidence{gap.time, static_cast<uint32_t>(gap.reason)};
    if (gap.host.time_ns != 0) {
      const std::string& label = trace.names[gap.host.label];
      const std::string work = trace::host_work_name(gap.host.work);
      evidence.text = texts.index(label.empty() ? work : work + ": " + label);
      evidence.text_ns = gap.host.time_ns;
    }
    evidence.after = gap.previous;
    evidence.before = gap.next;
    gpus[gap.gpu].push_back(event_of(evidence, layer.evidence.size()));
    layer.evidence.push_back(evidence);
  }
  for (auto& [gpu, events] : gpus) {
    std::stable_sort(events.begin(), events.end(),
                     [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    add_track({Track::Kind::kGaps, gpu, 0}, events, layer.timeline);
  }
  return ok_status();
}

Status add_path(const trace::Trace& trace, Layer& layer) {
  for (size_t i = 0; i < analysis::kBoundBy; ++i) {
    layer.classes.emplace_back(analysis::bound_by_name(static_cast<analysis::BoundBy>(i)));
  }
  Texts texts(layer);
  std::vector<timeline::Event> events;
  for (const analysis::Step& step : analysis::critical_path_steps(trace)) {
    Layer::Evidence evidence{{step.start_ns, step.end_ns}, static_cast<uint32_t>(step.bound)};
    evidence.text = texts.index(fmt::format("{}, {}", analysis::edge_kind_name(step.kind),
                                            step.place));
    evidence.text_ns = step.weight_ns;
    (step.event.is_op ? evidence.op : evidence.api) = step.event.row;
    events.push_back(event_of(evidence, layer.evidence.size()));
    layer.evidence.push_back(evidence);
  }
  if (!events.empty()) add_track({Track::Kind::kPath, 0, 0}, events, layer.timeline);
  return ok_status();
}

}  // namespace

Result<Layer> make_layer(const Source& source, const std::string& name, trace::Interval span) {
  SONDE_ASSIGN(const trace::Trace trace,
               trace::load_file(source.path, source.as, analysis::needs_of(name), {}));
  Layer layer;
  layer.name = name;
  layer.timeline.span = span;
  SONDE_TRY(name == "idle" ? add_gaps(trace, layer) : add_path(trace, layer));
  return layer;
}

std::string layer_json(const Layer& layer) {
  std::string classes, tracks;
  for (const std::string& each : layer.classes) {
    classes += (classes.empty() ? "" : ", ") + json_quote(each);
  }
  for (const Track& track : layer.timeline.tracks) {
    uint64_t events = 0;
    int64_t total_ns = 0;
    for (uint32_t i = 0; i < track.lanes; ++i) {
      const timeline::Lane& lane = layer.timeline.lanes[track.first_lane + i];
      events += lane.size();
      if (lane.size() == 0) continue;
      total_ns += lane.content({lane.event(0).start_ns, lane.end_ns(lane.size() - 1)}).busy_ns;
    }
    tracks += fmt::format(
        "{}{{\"kind\": {}, \"owner\": {}, \"first_lane\": {}, \"lanes\": {}, \"events\": {}, "
        "\"total_ns\": {}}}",
        tracks.empty() ? "" : ",\n", json_quote(layer.name), track.owner, track.first_lane,
        track.lanes, events, total_ns);
  }
  return fmt::format("{{\"layer\": {}, \"classes\": [{}],\n\"tracks\": [{}]}}\n",
                     json_quote(layer.name), classes, tracks);
}

Result<std::string> layer_event_json(const View& view, const Layer& layer,
                                     const http::Request& request) {
  SONDE_ASSIGN(const int64_t row, number_of(request, "row"));
  if (static_cast<size_t>(row) >= layer.evidence.size()) {
    return make_error(ErrorCode::kNotFound, "there is no such row", std::to_string(row));
  }
  const Layer::Evidence& evidence = layer.evidence[static_cast<size_t>(row)];
  const bool is_gap = layer.name == "idle";
  std::string facts, events;
  if (const std::string& text = layer.texts[evidence.text]; !text.empty()) {
    facts = fmt::format("{{\"title\": \"{}\", \"text\": {}}}, {{\"title\": \"{}\", \"text\": {}}}",
                        is_gap ? "Host" : "Edge", json_quote(text), is_gap ? "For" : "Explains",
                        json_quote(format_duration(evidence.text_ns)));
  }
  const auto add = [&](const char* role, bool is_op, trace::Row of) {
    if (of == trace::kNone) return;
    events += fmt::format("{}{{\"role\": \"{}\", {}}}", events.empty() ? "" : ",\n", role,
                          basics_json(view, is_op, static_cast<size_t>(of)));
  };
  add("after", true, evidence.after);
  add("before", true, evidence.before);
  if (evidence.before != trace::kNone) {
    add("launched by", false, view.trace.ops.api[static_cast<size_t>(evidence.before)]);
  }
  add("of", true, evidence.op);
  add("of", false, evidence.api);
  return fmt::format(
      "{{\"class\": {}, \"start_ns\": {}, \"duration_ns\": {}, \"facts\": [{}], \"events\": [{}]}}\n",
      json_quote(layer.classes[evidence.kind]), evidence.time.start_ns - view.trace.origin_ns,
      evidence.time.end_ns - evidence.time.start_ns, facts, events);
}

}  // namespace sonde::serve
