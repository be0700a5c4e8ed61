// Layers: tracks that an analysis adds to the timeline, made when they are first asked for. The
// gaps of each GPU by cause, the critical path, and the frames of sampled stacks. Their events have
// a class instead of a name, and evidence instead of a row of the file. Private to src/serve.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "serve/events.h"
#include "serve/panel.h"
#include "timeline/mapped_file.h"
#include "timeline/timeline.h"

namespace sonde::serve {

struct Layer {
  // Why an event of a layer is what it is; there may be millions of them. Rows are those of the
  // trace's tables. Calls that are equally long and begin together may be in another order there,
  // so their thread and name tell them apart.
  struct Evidence {
    int64_t start_ns = 0, end_ns = 0;
    int64_t text_ns = 0;          // for how long, of a gap; how much it explains, of the path
    int64_t event_start_ns = 0;   // of `event`
    uint32_t kind = 0, text = 0;  // indices into `classes` and `texts`
    int32_t owner = 0;            // of the track: the GPU; of samples an index into `places`
    trace::Row after = trace::kNone, before = trace::kNone;  // operations around a gap
    trace::Row event = trace::kNone;                         // whose time it is, of the path
    uint32_t is_op = 0;                                      // the event
    uint32_t place = 0, name = 0;  // of a call: indices into `places` and `texts`
    uint32_t zero = 0;
  };
  struct Place {
    int64_t pid = 0, tid = 0;
  };
  std::string name;
  timeline::Timeline timeline;  // names of events are classes, rows are of `evidence`
  std::vector<std::string> classes, texts;
  std::vector<int64_t> class_ns;  // time of each class; of the path as much as it explains
  std::vector<Place> places;
  std::span<const Evidence> evidence;                // lies in the file
  std::shared_ptr<const timeline::MappedFile> file;  // without a name
};

constexpr const char* kLayers[] = {"idle", "critical-path", "samples"};

// Reads the trace again, and returns what unpacked_layer() makes a layer of. In between it may go
// from one process to another.
Result<std::string> packed_layer(const Source& source, const std::string& name);
// `span` is that of the trace's timeline, whose tiles these stand beside; `folder` has room for the
// evidence.
Result<Layer> unpacked_layer(std::string_view bytes, trace::Interval span,
                             const std::string& folder);
std::string layer_json(const Layer& layer);
// ?row=N: the evidence of an event, with the events of the trace that it is about.
Result<std::string> layer_event_json(const View& view, const Layer& layer,
                                     const http::Request& request);

}  // namespace sonde::serve
