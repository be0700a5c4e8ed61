// An overlay as a process of its own: a thread for each lane, an arrow wherever the lane changes.

#include "export/chrome/writer.h"

namespace sonde::exporting {

void ChromeWriter::overlay(const Overlay& overlay) {
  if (overlay.slices.empty()) return;
  const int64_t pid = numbers_.free_pid();
  metadata("process_name", pid, 0, overlay.title);
  sort_index("process_sort_index", pid, 0, -1);  // above all others
  for (size_t lane = 0; lane < overlay.lanes.size(); ++lane) {
    metadata("thread_name", pid, static_cast<int64_t>(lane) + 1, overlay.lanes[lane]);
  }
  const OverlaySlice* before = nullptr;
  int64_t arrows = 0;
  for (const OverlaySlice& slice : overlay.slices) {
    const auto place = [&](const OverlaySlice& of) { return Place{pid, int64_t{of.lane} + 1}; };
    overlay_slice(slice, place(slice));
    if (before != nullptr && before->lane != slice.lane) {
      ++arrows;
      overlay_arrow("s", arrows, place(*before), before->start_ns);
      overlay_arrow("f", arrows, place(slice), slice.start_ns);
    }
    before = &slice;
  }
}

void ChromeWriter::overlay_slice(const OverlaySlice& slice, const Place& place) {
  begin_event();
  member("\"ph\":\"X\",\"cat\":\"critical_path\",\"name\":", slice.name);
  at(place, slice.start_ns);
  sink_.append(",\"dur\":");
  append_thousandths(sink_, slice.end_ns - slice.start_ns);
  sink_.append(",\"args\":{");
  for (size_t i = 0; i < slice.facts.size(); ++i) {
    if (i != 0) sink_.append(",");
    text(slice.facts[i].first);
    member(":", slice.facts[i].second);
  }
  sink_.append("}}");
}

void ChromeWriter::overlay_arrow(std::string_view phase, int64_t number, const Place& place,
                                 int64_t time_ns) {
  begin_event();
  member("\"ph\":", phase);
  member(",\"id\":", number);
  sink_.append(",\"cat\":\"critical_path\",\"name\":\"critical path\"");
  at(place, time_ns);
  sink_.append(phase == "f" ? ",\"bp\":\"e\"}" : "}");
}

}  // namespace sonde::exporting
