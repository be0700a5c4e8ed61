#include "monitor/metric.h"

#include "base/strings.h"

namespace sonde::monitor {

namespace {

constexpr Metric kTable[] = {
#define X(id, group, device, name, by_default, meaning) \
  {#group, #device, #name, meaning, by_default},
#include "monitor/metrics.inc"
#undef X
};

bool add(std::string_view word, Selection& selection) {
  bool found = false;
  for (size_t i = 0; i < kMetrics; ++i) {
    const Metric& each = kTable[i];
    const bool by_default = word == "default" && each.by_default;
    if (!by_default && word != "all" && word != each.group &&
        word != std::string(each.device) + "." + each.name) {
      continue;
    }
    selection.set(i);
    found = true;
  }
  return found;
}

}  // namespace

std::span<const Metric> all_metrics() { return kTable; }
const Metric& metric(Id id) { return kTable[static_cast<size_t>(id)]; }

Result<Selection> parse_selection(std::string_view list) {
  Selection selection;
  if (list == "off" || list == "none") return selection;
  for (const std::string_view word : split(list, ',')) {
    if (!add(trim(word), selection)) {
      return make_error(ErrorCode::kInvalidArgument, "no such metric: " + std::string(trim(word)),
                        "--metrics", "sonde avail --category metrics lists them");
    }
  }
  return selection;
}

bool selects_group(const Selection& selection, std::string_view group) {
  for (size_t i = 0; i < kMetrics; ++i) {
    if (selection.test(i) && kTable[i].group == group) return true;
  }
  return false;
}

}  // namespace sonde::monitor
