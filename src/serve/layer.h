// Layers: tracks that an analysis adds to the timeline, made when they are first asked for. The
// gaps of each GPU by cause, and the critical path. Their events have a class instead of a name, and
// evidence instead of a row of the file. Private to src/serve.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "serve/events.h"
#include "serve/panel.h"
#include "timeline/timeline.h"

namespace sonde::serve {

struct Layer {
  // An event of the trace. Rows of calls that are equally long and begin together may be in another
  // order there, so their thread and name tell them apart.
  struct Of {
    trace::Row row = trace::kNone;
    int64_t start_ns = 0, end_ns = 0;
    int64_t owner = 0, number = 0;  // of the track
    uint32_t name = 0;              // index into `texts`
  };
  // Why an event of a layer is what it is. Rows are those of the trace's tables.
  struct Evidence {
    trace::Interval time;
    uint32_t kind = 0, text = 0;  // indices into `classes` and `texts`
    int64_t owner = 0;            // of the track: the GPU
    int64_t text_ns = 0;          // for how long, of a gap; how much it explains, of the path
    Of after, before;  // operations around a gap
    Of op, api;        // whose time it is, of the path
  };
  std::string name;
  timeline::Timeline timeline;  // names of events are classes, rows are of `evidence`
  std::vector<std::string> classes, texts;
  std::vector<Evidence> evidence;
};

constexpr const char* kLayers[] = {"idle", "critical-path"};

// Reads the trace anew, and gives what unpacked_layer() makes a layer of. In between it may go from
// one process to another.
Result<std::string> packed_layer(const Source& source, const std::string& name);
// `span` is that of the trace's timeline, whose tiles these stand beside.
Result<Layer> unpacked_layer(std::string_view bytes, trace::Interval span);
std::string layer_json(const Layer& layer);
// ?row=N: the evidence of an event, with the events of the trace that it is about.
Result<std::string> layer_event_json(const View& view, const Layer& layer,
                                     const http::Request& request);

}  // namespace sonde::serve
