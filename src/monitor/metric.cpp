#include "monitor/metric.h"

#include <iterator>

#include "base/strings.h"

namespace sonde::monitor {

namespace {

constexpr Metric kTable[] = {
    {"process", "process", "rss_bytes", "resident memory of the process", true},
    {"process", "process", "pss_bytes",
     "the same with shared pages divided among the processes that share them; the kernel walks "
     "through the memory for it",
     false},
    {"process", "process", "minor_faults", "page faults without I/O since the process began", true},
    {"process", "process", "major_faults", "page faults with I/O since the process began", true},
    {"process", "process", "voluntary_ctxt",
     "context switches by which its threads gave up the CPU, since they began", true},
    {"process", "process", "involuntary_ctxt",
     "context switches by which its threads lost the CPU, since they began", true},
    {"process", "process", "cpu_wait_ms",
     "time in which its threads were ready to run but had no CPU, since they began", true},
    {"process", "process", "cpu_user_ms", "CPU time in the program since the process began", true},
    {"process", "process", "cpu_system_ms", "CPU time in the kernel since the process began", true},
    {"process", "process", "read_bytes", "read from storage since the process began", true},
    {"process", "process", "written_bytes", "written to storage since the process began", true},
    {"process", "process", "threads", "threads of the process", true},
    {"cpu", "host", "cpu_percent", "share of the time of all cores that was not idle", true},
    {"cpu", "host", "cpu_mhz", "mean clock of the cores (of eight at most)", true},
    {"cores", "core", "busy_percent", "share of the core's time that was not idle", false},
    {"cores", "core", "mhz", "clock of the core", false},
    {"memory", "host", "mem_used_bytes", "memory that is neither free nor can be freed", true},
    {"memory", "host", "mem_avail_bytes", "memory that programs can still get", true},
    {"memory", "host", "swap_used_bytes", "swap space in use", true},
    {"pressure", "host", "psi_cpu_some", "percent of the time that some task waited for a CPU",
     true},
    {"pressure", "host", "psi_io_some", "percent of the time that some task waited for I/O", true},
    {"pressure", "host", "psi_io_full", "percent of the time that all tasks waited for I/O", true},
    {"pressure", "host", "psi_mem_some", "percent of the time that some task waited for memory",
     true},
    {"pressure", "host", "psi_mem_full", "percent of the time that all tasks waited for memory",
     true},
    {"disk", "disk", "read_bytes_s", "bytes read from the disk per second", true},
    {"disk", "disk", "written_bytes_s", "bytes written to the disk per second", true},
    {"disk", "disk", "busy_percent", "share of the time that the disk was busy", true},
    {"network", "net", "rx_bytes_s", "bytes received by the interface per second", true},
    {"network", "net", "tx_bytes_s", "bytes sent by the interface per second", true},
    {"power", "rapl", "power_w", "power of a part of the host (RAPL)", true},
    {"gpu", "gpu", "busy_percent", "share of the time that the GPU computed", true},
    {"gpu", "gpu", "mem_busy_percent", "share of the time that its memory was accessed", true},
    {"gpu", "gpu", "media_percent", "share of the time that its video engines worked", true},
    {"gpu", "gpu", "vram_used_bytes", "memory of the GPU in use by all processes", true},
    {"gpu", "gpu", "power_w", "power of the GPU", true},
    {"gpu", "gpu", "temp_edge_c", "temperature at the edge of the die", true},
    {"gpu", "gpu", "temp_junction_c", "temperature at the hottest place of the die", true},
    {"gpu", "gpu", "temp_mem_c", "temperature of its memory", true},
    {"gpu", "gpu", "sclk", "clock of its compute units in MHz", true},
    {"gpu", "gpu", "mclk", "clock of its memory in MHz", true},
    {"gpu", "gpu", "throttle", "why its clocks are throttled: the driver's bits, 0 if they are not",
     true},
};
static_assert(std::size(kTable) == kMetrics);

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
