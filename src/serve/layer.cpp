#include "serve/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "analysis/analysis.h"
#include "analysis/critical_path/graph.h"
#include "analysis/time/idle_gaps.h"
#include "base/packed.h"
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

Layer::Of of_op(const trace::Trace& trace, trace::Row row, Texts& texts) {
  if (row == trace::kNone) return {};
  const auto op = static_cast<size_t>(row);
  const trace::Queue& queue = trace.queues[trace.ops.queue[op]];
  return {row,       trace.ops.start_ns[op], trace.ops.end_ns[op],
          queue.gpu, queue.queue,            texts.index(trace.names[trace.label(op)])};
}

Layer::Of of_api(const trace::Trace& trace, trace::Row row, Texts& texts) {
  if (row == trace::kNone) return {};
  const auto api = static_cast<size_t>(row);
  const trace::Thread& thread = trace.threads[trace.apis.thread[api]];
  const int64_t pid = thread.process == trace::kNone
                          ? 0
                          : trace.processes[static_cast<size_t>(thread.process)].pid;
  return {row, trace.apis.start_ns[api],
          trace.apis.end_ns[api], pid,
          thread.tid, texts.index(trace.names[trace.apis.label[api]])};
}

// The event in the index: at its row, or beside it among those that begin together.
std::optional<Placed> find(const View& view, const Layer& layer, bool is_op, const Layer::Of& of) {
  if (of.row == trace::kNone) return {};
  const auto row = static_cast<uint32_t>(of.row);
  const auto is_it = [&](const Placed& placed) {
    return placed.event.start_ns == of.start_ns && placed.event.end_ns == of.end_ns &&
           placed.track->owner == of.owner && placed.track->number == of.number &&
           view.index.names[placed.event.name] == layer.texts[of.name];
  };
  for (const bool back : {false, true}) {
    for (uint32_t at = row; at != UINT32_MAX; back ? --at : ++at) {
      const auto placed = place_of(view, is_op, at);
      if (!placed || placed->event.start_ns != of.start_ns) break;
      if (is_it(*placed)) return placed;
    }
  }
  return {};
}

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
  for (const analysis::Gap& gap : analysis::idle_gaps(trace, host, latency_ns)) {
    Layer::Evidence evidence{gap.time, static_cast<uint32_t>(gap.reason)};
    if (gap.host.time_ns != 0) {
      const std::string& label = trace.names[gap.host.label];
      const std::string work = trace::host_work_name(gap.host.work);
      evidence.text = texts.index(label.empty() ? work : work + ": " + label);
      evidence.text_ns = gap.host.time_ns;
    }
    evidence.after = of_op(trace, gap.previous, texts);
    evidence.before = of_op(trace, gap.next, texts);
    evidence.owner = gap.gpu;
    layer.evidence.push_back(evidence);
  }
  return ok_status();
}

Status add_path(const trace::Trace& trace, Layer& layer) {
  for (size_t i = 0; i < analysis::kBoundBy; ++i) {
    layer.classes.emplace_back(analysis::bound_by_name(static_cast<analysis::BoundBy>(i)));
  }
  Texts texts(layer);
  for (const analysis::Step& step : analysis::critical_path_steps(trace)) {
    Layer::Evidence evidence{{step.start_ns, step.end_ns}, static_cast<uint32_t>(step.bound)};
    evidence.text = texts.index(fmt::format("{}, {}", analysis::edge_kind_name(step.kind),
                                            step.place));
    evidence.text_ns = step.weight_ns;
    if (step.event.is_op) evidence.op = of_op(trace, step.event.row, texts);
    if (!step.event.is_op) evidence.api = of_api(trace, step.event.row, texts);
    layer.evidence.push_back(evidence);
  }
  return ok_status();
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

}  // namespace

Result<std::string> packed_layer(const Source& source, const std::string& name) {
  SONDE_ASSIGN(const trace::Trace trace,
               trace::load_file(source.path, source.as, analysis::needs_of(name), {}));
  Layer layer;
  SONDE_TRY(name == "idle" ? add_gaps(trace, layer) : add_path(trace, layer));
  std::string out;
  put_text(out, name);
  put_texts(out, layer.classes);
  put_texts(out, layer.texts);
  put_pods(out, layer.evidence);
  return out;
}

Result<Layer> unpacked_layer(std::string_view bytes, trace::Interval span) {
  Unpacker from(bytes);
  Layer layer;
  layer.name = from.text();
  layer.classes = take_texts(from);
  layer.texts = take_texts(from);
  layer.evidence = from.pods<Layer::Evidence>();
  if (!from.is_whole()) return make_error(ErrorCode::kInternal, "is cut", "layer");
  layer.timeline.span = span;
  std::map<int64_t, std::vector<timeline::Event>> events;  // by track
  for (size_t row = 0; row < layer.evidence.size(); ++row) {
    events[layer.evidence[row].owner].push_back(event_of(layer.evidence[row], row));
  }
  const auto kind = layer.name == "idle" ? Track::Kind::kGaps : Track::Kind::kPath;
  for (auto& [owner, track] : events) {
    std::stable_sort(track.begin(), track.end(),
                     [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    add_track({kind, owner, 0}, track, layer.timeline);
  }
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
  const auto add = [&](const char* role, bool is_op, const std::optional<Placed>& placed) {
    if (!placed) return;
    events += fmt::format("{}{{\"role\": \"{}\", {}}}", events.empty() ? "" : ",\n", role,
                          basics_json(view, is_op, *placed));
  };
  add("after", true, find(view, layer, true, evidence.after));
  const auto before = find(view, layer, true, evidence.before);
  add("before", true, before);
  if (before) {
    const uint32_t api = view.index.op_api[before->event.row];
    if (api != timeline::kNoRow) add("launched by", false, place_of(view, false, api));
  }
  add("of", true, find(view, layer, true, evidence.op));
  add("of", false, find(view, layer, false, evidence.api));
  return fmt::format(
      "{{\"class\": {}, \"start_ns\": {}, \"duration_ns\": {}, \"facts\": [{}], \"events\": [{}]}}\n",
      json_quote(layer.classes[evidence.kind]), evidence.time.start_ns - view.index.origin_ns,
      evidence.time.end_ns - evidence.time.start_ns, facts, events);
}

}  // namespace sonde::serve
