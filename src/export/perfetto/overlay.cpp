// An overlay as tracks of its own: one for each lane, with a flow wherever the lane changes.
#include "export/perfetto/writer.h"

namespace sonde::exporting {

void PerfettoWriter::overlay(const Overlay& overlay) {
  if (overlay.slices.empty()) return;
  const uint64_t parent = named_track(0, overlay.title);
  std::vector<uint64_t> tracks;
  for (const std::string& lane : overlay.lanes) tracks.push_back(named_track(parent, lane));
  // Launches have the flows 1 to the number of links.
  uint64_t flow = uint64_t{events_.links.size()} + 1;
  for (size_t i = 0; i < overlay.slices.size(); ++i) {
    const OverlaySlice& slice = overlay.slices[i];
    const auto changes = [&](size_t a, size_t b) {
      return b < overlay.slices.size() && overlay.slices[a].lane != overlay.slices[b].lane;
    };
    const uint64_t ends = i > 0 && changes(i - 1, i) ? flow++ : 0;
    const uint64_t begins = changes(i, i + 1) ? flow : 0;
    overlay_slice(slice, tracks[slice.lane], ends, begins);
  }
}

void PerfettoWriter::overlay_slice(const OverlaySlice& slice, uint64_t track, uint64_t ends,
                                   uint64_t begins) {
  const uint64_t category = categories_.iid("critical_path");
  for (const auto& [key, value] : slice.facts) annotation_names_.iid(key);
  {
    const TrackEvent event(stream_, kBegin, track, slice.start_ns);
    out_.varint(kCategoryIids, category);
    out_.bytes(kName, fit_text(slice.name, scratch_));
    for (const auto& [key, value] : slice.facts) {
      const ProtoMessage annotation(out_, kAnnotation);
      out_.varint(kAnnotationNameIid, annotation_names_.iid(key));
      out_.bytes(kAnnotationText, value);
    }
    if (begins != 0) out_.fixed64(kFlow, begins);
    if (ends != 0) out_.fixed64(kTerminatingFlow, ends);
  }
  end_event(slice.end_ns, track);
}

}  // namespace sonde::exporting
