// Details of the plotted GPU that have no column in the table of GPUs.
#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "watch/view.h"

namespace sonde::watch {

namespace {

std::string bytes_text(double bytes) {
  return format_size(static_cast<uint64_t>(std::max(bytes, 0.0)));
}

std::string links_text(const Gpu& gpu) {
  std::string text;
  if (gpu.pcie_lanes) text = fmt::format("PCIe x{}", *gpu.pcie_lanes);
  if (gpu.pcie_gts) text += fmt::format("{} {:g} GT/s", text.empty() ? "PCIe" : "", *gpu.pcie_gts);
  if (gpu.pcie_replays.value_or(0) > 0) text += fmt::format(" {} replays", *gpu.pcie_replays);
  return text;
}

std::string errors_text(const Gpu& gpu) {
  if (!gpu.ecc_corrected && !gpu.ecc_uncorrected) return "";
  std::string text = fmt::format("ECC {} uncorrected {} corrected", gpu.ecc_uncorrected.value_or(0),
                                 gpu.ecc_corrected.value_or(0));
  std::string blocks;
  for (const BlockErrors& each : gpu.block_errors) {
    const int64_t count = each.uncorrected.value_or(0);
    if (count > 0) blocks += fmt::format("{}{} {}", blocks.empty() ? "" : ", ", each.block, count);
  }
  return blocks.empty() ? text : text + " (" + blocks + ")";
}

// The partition modes, and how busy each partition is if there are several.
std::string partitions_text(const Gpu& gpu) {
  std::string text = gpu.compute_partition;
  if (!gpu.memory_partition.empty()) text += (text.empty() ? "" : " ") + gpu.memory_partition;
  if (gpu.partitions.size() < 2) return text;
  std::string busy;
  for (const Partition& each : gpu.partitions) {
    busy += (busy.empty() ? "" : " ") +
            (each.busy_percent ? fmt::format("{:.0f}", *each.busy_percent) : std::string("-"));
  }
  return text + (text.empty() ? "" : " ") + "busy " + busy + " %";
}

// The most useful details first: those that do not fit are left out.
std::vector<std::string> details_of(const Gpu& gpu) {
  std::vector<std::string> words;
  const auto add = [&](std::string text) {
    if (!text.empty()) words.push_back(std::move(text));
  };
  const auto number = [&](const char* name, const Real& value, const char* unit) {
    if (value) add(fmt::format("{} {:.0f} {}", name, *value, unit));
  };
  number("edge", gpu.edge_c, "C");
  number("junction", gpu.junction_c, "C");
  number("memory", gpu.memory_c, "C");
  number("memory clock", gpu.mclk_mhz, "MHz");
  add(errors_text(gpu));
  add(partitions_text(gpu));
  add(links_text(gpu));
  if (gpu.xgmi_read_bytes_s && gpu.xgmi_written_bytes_s) {
    add(fmt::format("XGMI {}/s read {}/s written", bytes_text(*gpu.xgmi_read_bytes_s),
                    bytes_text(*gpu.xgmi_written_bytes_s)));
  }
  number("memory busy", gpu.memory_busy_percent, "%");
  number("media", gpu.media_percent, "%");
  number("fan", gpu.fan_percent, "%");
  if (gpu.gtt_used_bytes) add("GTT " + bytes_text(static_cast<double>(*gpu.gtt_used_bytes)));
  add(gpu.target);
  add(gpu.address);
  return words;
}

}  // namespace

// Returns the number of rows it used.
int View::draw_details(Cells& cells, int row, int rows) const {
  const Gpu& gpu = snapshot_.gpus[gpu_];
  if (gpu.state != GpuState::kAwake) return 0;
  int used = 0, column = cells.columns();
  for (const std::string& word : details_of(gpu)) {
    const int width = static_cast<int>(word.size()) + 2;
    if (column + width > cells.columns()) {
      if (used == rows) break;
      column = 1;
      ++used;
    }
    cells.put(row + used - 1, column, word, Style::kPlain, cells.columns() - column);
    column += width;
  }
  return used;
}

}  // namespace sonde::watch
