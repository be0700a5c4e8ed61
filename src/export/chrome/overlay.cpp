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
    overlay_slice(slice, pid);
    if (before != nullptr && before->lane != slice.lane) {
      ++arrows;
      overlay_arrow("s", arrows, before->lane, before->start_ns, pid);
      overlay_arrow("f", arrows, slice.lane, slice.start_ns, pid);
    }
    before = &slice;
  }
}

void ChromeWriter::overlay_slice(const OverlaySlice& slice, int64_t pid) {
  begin_event();
  member("\"ph\":\"X\",\"cat\":\"critical_path\",\"name\":", slice.name);
  member(",\"pid\":", pid);
  member(",\"tid\":", static_cast<int64_t>(slice.lane) + 1);
  sink_.append(",\"ts\":");
  time(slice.start_ns);
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

void ChromeWriter::overlay_arrow(std::string_view phase, int64_t number, uint32_t lane,
                                 int64_t time_ns, int64_t pid) {
  begin_event();
  member("\"ph\":", phase);
  member(",\"id\":", number);
  member(",\"cat\":\"critical_path\",\"name\":\"critical path\",\"pid\":", pid);
  member(",\"tid\":", static_cast<int64_t>(lane) + 1);
  sink_.append(",\"ts\":");
  time(time_ns);
  sink_.append(phase == "f" ? ",\"bp\":\"e\"}" : "}");
}

}  // namespace sonde::exporting
