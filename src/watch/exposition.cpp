#include "watch/exposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

namespace sonde::watch {
namespace {

constexpr size_t kMostLabelBytes = 128;
constexpr double kMiB = 1 << 20;

struct Label {
  const char* name;
  std::string value;
};
using Labels = std::vector<Label>;

// A quoted label value. A name can be of any length and contain anything.
std::string in_label(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kMostLabelBytes)) {
    if (c == '\\' || c == '"') out += '\\';
    const bool is_plain = static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
    out += is_plain && static_cast<unsigned char>(c) < 0x80 ? c : '?';
  }
  return out + "\"";
}

// Groups series by family, since all series of a name must follow its help line.
class Families {
 public:
  void begin(const char* name, const char* help, const char* type = "gauge") {
    name_ = name;
    head_ = fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
  }
  void add(const Labels& labels, double value) {
    text_ += std::exchange(head_, {}) + name_;
    for (size_t i = 0; i < labels.size(); ++i) {
      text_ +=
          fmt::format("{}{}={}", i == 0 ? "{" : ",", labels[i].name, in_label(labels[i].value));
    }
    text_ += labels.empty() ? " " : "} ";
    // Whole numbers in full: bytes and joules have more digits than the short form keeps.
    const bool is_whole = std::abs(value) < 1e15 && value == std::floor(value);
    text_ +=
        is_whole ? fmt::format("{}\n", static_cast<int64_t>(value)) : fmt::format("{}\n", value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_, head_;
  const char* name_ = "";
};

Real real(const Whole& value) { return value ? Real(static_cast<double>(*value)) : std::nullopt; }

Real scaled(const Real& value, double by) { return value ? Real(*value * by) : std::nullopt; }

Real percent_of_vram(const Gpu& gpu) {
  const double total = static_cast<double>(gpu.vram_total_bytes.value_or(0));
  return gpu.vram_used_bytes && total > 0
             ? Real(100.0 * static_cast<double>(*gpu.vram_used_bytes) / total)
             : std::nullopt;
}

// A die without a sensor of its own reads 0.
Real power_of(const Gpu& gpu) { return gpu.power_of ? std::nullopt : gpu.power_w; }
Real cap_of(const Gpu& gpu) { return gpu.power_of ? std::nullopt : gpu.power_cap_w; }

Real free_bytes(const Gpu& gpu) {
  if (!gpu.vram_used_bytes || !gpu.vram_total_bytes) return std::nullopt;
  return static_cast<double>(*gpu.vram_total_bytes - *gpu.vram_used_bytes);
}

// A family with one series per GPU. `label`: an extra label, such as location="edge".
struct Metric {
  const char* name;
  const char* help;
  const char* type;
  std::function<Real(const Gpu&)> value;
  Label label = {nullptr, {}};
};

const std::vector<Metric>& omnistat_metrics() {
  static const std::vector<Metric> kMetrics = {
      {"rocm_utilization_percentage", "Time the GPU was busy, percent", "gauge",
       &Gpu::busy_percent},
      {"rocm_vram_used_percentage", "GPU memory in use, percent", "gauge", percent_of_vram},
      {"rocm_vram_total_bytes", "GPU memory, bytes", "gauge", &Gpu::vram_total_bytes},
      {"rocm_average_socket_power_watts", "Power, W", "gauge", power_of},
      {"rocm_energy_joules", "Energy since the driver was loaded, J", "counter", &Gpu::energy_j},
      {"rocm_sclk_clock_mhz", "Compute unit clock, MHz", "gauge", &Gpu::sclk_mhz},
      {"rocm_mclk_clock_mhz", "Memory clock, MHz", "gauge", &Gpu::mclk_mhz},
      {"rocm_temperature_celsius", "Temperature, C", "gauge", &Gpu::edge_c, {"location", "edge"}},
      {"rocm_temperature_celsius",
       "Temperature, C",
       "gauge",
       &Gpu::junction_c,
       {"location", "junction"}},
      {"rocm_temperature_memory_celsius",
       "Memory temperature, C",
       "gauge",
       &Gpu::memory_c,
       {"location", "memory"}},
      {"rocm_num_compute_units", "Compute units of the GPU", "gauge", &Gpu::compute_units},
      {"rocm_xgmi_total_read_kilobytes", "Read over XGMI since the driver was loaded, KB",
       "counter", &Gpu::xgmi_read_kb},
      {"rocm_xgmi_total_write_kilobytes", "Written over XGMI since the driver was loaded, KB",
       "counter", &Gpu::xgmi_written_kb},
      {"rocm_average_decoder_utilization_percentage", "Time the decoders were busy, percent",
       "gauge", &Gpu::media_percent},
      {"sonde_gpu_power_cap_watts", "Power limit, W", "gauge", cap_of},
      {"sonde_gpu_memory_busy_percent", "Time the memory was busy, percent", "gauge",
       &Gpu::memory_busy_percent},
      {"sonde_gpu_ecc_corrected_total", "Corrected memory errors", "counter", &Gpu::ecc_corrected},
      {"sonde_gpu_ecc_uncorrected_total", "Uncorrected memory errors", "counter",
       &Gpu::ecc_uncorrected},
      {"sonde_gpu_pcie_replays_total", "PCIe packets sent again", "counter", &Gpu::pcie_replays},
  };
  return kMetrics;
}

const std::vector<Metric>& dme_metrics() {
  static const std::vector<Metric> kMetrics = {
      {"gpu_gfx_activity", "Time the GPU was busy, percent", "gauge", &Gpu::busy_percent},
      {"gpu_umc_activity", "Time the memory was busy, percent", "gauge", &Gpu::memory_busy_percent},
      {"gpu_package_power", "Power, W", "gauge", power_of},
      {"gpu_edge_temperature", "Edge temperature, C", "gauge", &Gpu::edge_c},
      {"gpu_junction_temperature", "Hot spot temperature, C", "gauge", &Gpu::junction_c},
      {"gpu_memory_temperature", "Memory temperature, C", "gauge", &Gpu::memory_c},
      {"gpu_clock", "Clock, MHz", "gauge", &Gpu::sclk_mhz, {"clock_type", "GPU_CLOCK_TYPE_SYSTEM"}},
      {"gpu_clock", "Clock, MHz", "gauge", &Gpu::mclk_mhz, {"clock_type", "GPU_CLOCK_TYPE_MEMORY"}},
      {"gpu_total_vram", "GPU memory, MiB", "gauge",
       [](const Gpu& gpu) { return scaled(real(gpu.vram_total_bytes), 1 / kMiB); }},
      {"gpu_used_vram", "GPU memory in use, MiB", "gauge",
       [](const Gpu& gpu) { return scaled(real(gpu.vram_used_bytes), 1 / kMiB); }},
      {"gpu_free_vram", "Free GPU memory, MiB", "gauge",
       [](const Gpu& gpu) { return scaled(free_bytes(gpu), 1 / kMiB); }},
      {"gpu_energy_consumed", "Energy since the driver was loaded, uJ", "counter",
       [](const Gpu& gpu) { return scaled(gpu.energy_j, 1e6); }},
      {"gpu_ecc_correct_total", "Corrected memory errors", "counter", &Gpu::ecc_corrected},
      {"gpu_ecc_uncorrect_total", "Uncorrected memory errors", "counter", &Gpu::ecc_uncorrected},
      {"pcie_replay_count", "PCIe packets sent again", "counter", &Gpu::pcie_replays},
  };
  return kMetrics;
}

const std::vector<Metric>& dcgm_metrics() {
  static const std::vector<Metric> kMetrics = {
      {"DCGM_FI_DEV_SM_CLOCK", "Multiprocessor clock, MHz", "gauge", &Gpu::sclk_mhz},
      {"DCGM_FI_DEV_MEM_CLOCK", "Memory clock, MHz", "gauge", &Gpu::mclk_mhz},
      {"DCGM_FI_DEV_GPU_TEMP", "Temperature, C", "gauge",
       [](const Gpu& gpu) { return gpu.edge_c ? gpu.edge_c : gpu.junction_c; }},
      {"DCGM_FI_DEV_MEMORY_TEMP", "Memory temperature, C", "gauge", &Gpu::memory_c},
      {"DCGM_FI_DEV_POWER_USAGE", "Power, W", "gauge", power_of},
      {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "Energy since the driver was loaded, mJ", "counter",
       [](const Gpu& gpu) { return scaled(gpu.energy_j, 1e3); }},
      {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "PCIe packets sent again", "counter", &Gpu::pcie_replays},
      {"DCGM_FI_DEV_GPU_UTIL", "Time the GPU was busy, percent", "gauge", &Gpu::busy_percent},
      {"DCGM_FI_DEV_MEM_COPY_UTIL", "Time the memory was busy, percent", "gauge",
       &Gpu::memory_busy_percent},
      {"DCGM_FI_DEV_FB_FREE", "Free GPU memory, MiB", "gauge",
       [](const Gpu& gpu) { return scaled(free_bytes(gpu), 1 / kMiB); }},
      {"DCGM_FI_DEV_FB_USED", "GPU memory in use, MiB", "gauge",
       [](const Gpu& gpu) { return scaled(real(gpu.vram_used_bytes), 1 / kMiB); }},
  };
  return kMetrics;
}

// A process on the GPU that belongs to a job, or nullptr.
const Process* job_on(const Snapshot& snapshot, const Gpu& gpu) {
  for (const Process& process : snapshot.processes) {
    const bool is_here = std::any_of(process.gpus.begin(), process.gpus.end(),
                                     [&](const GpuUse& use) { return use.gpu == gpu.number; });
    if (is_here && !process.job.empty()) return &process;
  }
  return nullptr;
}

std::string job_id(const std::string& job) {
  const size_t colon = job.find(':');
  return colon == job.npos ? job : job.substr(colon + 1);
}

Labels labels_of(const Snapshot& snapshot, const Gpu& gpu, Naming naming, const std::string& host) {
  const std::string number = std::to_string(gpu.number);
  if (naming == Naming::kOmnistat) return {{"card", number}};
  const Process* job = job_on(snapshot, gpu);
  if (naming == Naming::kDme) {
    return {{"gpu_id", number},
            {"gpu_uuid", gpu.unique_id},
            {"serial_number", gpu.serial},
            {"card_model", gpu.name},
            {"job_id", job != nullptr ? job_id(job->job) : ""},
            {"job_user", job != nullptr ? job->user : ""}};
  }
  return {{"gpu", number},
          {"UUID", gpu.unique_id},
          {"device", gpu.address},
          {"modelName", gpu.name},
          {"Hostname", host}};
}

void add_gpus(const Snapshot& snapshot, Naming naming, const std::string& host,
              std::span<const Metric> metrics, Families& families) {
  const char* last = "";
  for (const Metric& metric : metrics) {
    if (std::string_view(metric.name) != last) {
      families.begin(metric.name, metric.help, metric.type);
    }
    last = metric.name;
    for (const Gpu& gpu : snapshot.gpus) {
      const Real value = gpu.state == GpuState::kAwake ? metric.value(gpu) : std::nullopt;
      if (!value || !std::isfinite(*value)) continue;
      Labels labels = labels_of(snapshot, gpu, naming, host);
      if (metric.label.name != nullptr) labels.push_back(metric.label);
      families.add(labels, *value);
    }
  }
}

void add_states(const Snapshot& snapshot, Families& families) {
  families.begin("sonde_gpu_awake", "1: awake, 0: asleep or gone, and not read");
  for (const Gpu& gpu : snapshot.gpus) {
    families.add({{"card", std::to_string(gpu.number)}}, gpu.state == GpuState::kAwake ? 1 : 0);
  }
  families.begin("sonde_gpu_throttled_percent", "Time the clocks were throttled, percent");
  for (const Gpu& gpu : snapshot.gpus) {
    for (const Throttle& throttle : gpu.throttles) {
      if (!throttle.percent) continue;
      families.add({{"card", std::to_string(gpu.number)}, {"reason", throttle.reason}},
                   *throttle.percent);
    }
  }
  families.begin("rocm_compute_unit_occupancy", "Compute units that currently have waves");
  for (const Gpu& gpu : snapshot.gpus) {
    Whole sum;
    for (const Process& process : snapshot.processes) {
      for (const GpuUse& use : process.gpus) {
        if (use.gpu == gpu.number && use.cus) sum = sum.value_or(0) + *use.cus;
      }
    }
    if (sum) families.add({{"card", std::to_string(gpu.number)}}, static_cast<double>(*sum));
  }
}

// A family for each block and kind, named as omnistat does: rocm_ras_umc_correctable_count.
void add_block_errors(const Snapshot& snapshot, Families& families) {
  struct Kind {
    const char* name;
    const char* help;
    Whole BlockErrors::*count;
  };
  constexpr Kind kKinds[] = {
      {"correctable", "Corrected errors", &BlockErrors::corrected},
      {"uncorrectable", "Uncorrected errors", &BlockErrors::uncorrected},
      {"deferred", "Errors in data that was not used yet", &BlockErrors::deferred}};
  std::map<std::string, std::vector<std::pair<int64_t, int64_t>>> counts;  // GPUs and their counts
  std::map<std::string, const char*> helps;
  for (const Gpu& gpu : snapshot.gpus) {
    if (gpu.state != GpuState::kAwake) continue;
    for (const BlockErrors& errors : gpu.block_errors) {
      for (const Kind& kind : kKinds) {
        const Whole& count = errors.*kind.count;
        if (!count) continue;
        const std::string name = fmt::format("rocm_ras_{}_{}_count", errors.block, kind.name);
        counts[name].emplace_back(gpu.number, *count);
        helps[name] = kind.help;
      }
    }
  }
  for (const auto& [name, each] : counts) {
    families.begin(name.c_str(), helps[name], "counter");
    for (const auto& [gpu, count] : each) {
      families.add({{"card", std::to_string(gpu)}}, static_cast<double>(count));
    }
  }
}

// One series for each of the largest uses; the rest of each GPU as pid="others".
void add_processes(const Snapshot& snapshot, Families& families) {
  std::vector<std::pair<const Process*, const GpuUse*>> uses;
  for (const Process& process : snapshot.processes) {
    for (const GpuUse& use : process.gpus) {
      if (use.vram_bytes) uses.emplace_back(&process, &use);
    }
  }
  std::stable_sort(uses.begin(), uses.end(), [](const auto& a, const auto& b) {
    return a.second->vram_bytes > b.second->vram_bytes;
  });
  families.begin("sonde_gpu_process_vram_bytes", "GPU memory of a process, bytes");
  std::map<int64_t, int64_t> others;
  for (size_t i = 0; i < uses.size(); ++i) {
    const auto& [process, use] = uses[i];
    if (i >= kMostProcessSeries) {
      others[use->gpu] += *use->vram_bytes;
      continue;
    }
    families.add({{"card", std::to_string(use->gpu)},
                  {"pid", std::to_string(process->pid)},
                  {"name", process->name},
                  {"user", process->user},
                  {"jobid", job_id(process->job)},
                  {"rank", process->rank}},
                 static_cast<double>(*use->vram_bytes));
  }
  for (const auto& [gpu, bytes] : others) {
    families.add({{"card", std::to_string(gpu)}, {"pid", "others"}}, static_cast<double>(bytes));
  }
}

void add_jobs(const Snapshot& snapshot, Families& families) {
  families.begin("rmsjob_info", "A job that has processes on GPUs of this node");
  std::set<std::tuple<std::string, std::string, std::string>> known;
  for (const Process& process : snapshot.processes) {
    if (process.job.empty() || !known.insert({process.job, process.step, process.user}).second) {
      continue;
    }
    if (known.size() > kMostProcessSeries) return;
    families.add({{"jobid", job_id(process.job)},
                  {"user", process.user},
                  {"jobstep", process.step},
                  {"type", process.job.substr(0, process.job.find(':'))}},
                 1);
  }
}

void add_host(const Host& host, Families& families) {
  const auto one = [&](const char* name, const char* help, const Real& value) {
    families.begin(name, help);
    if (value && std::isfinite(*value)) families.add({}, *value);
  };
  one("omnistat_host_cpu_aggregate_core_utilization", "CPU time of all cores in use, percent",
      host.cpu_percent);
  one("omnistat_host_cpu_load1", "Runnable tasks, average over a minute", host.load1);
  one("omnistat_host_cpu_num_logical_cores", "Logical cores", real(host.cores));
  if (host.memory_used_bytes && host.memory_available_bytes) {
    one("omnistat_mem_total_bytes", "Host memory, bytes",
        *host.memory_used_bytes + *host.memory_available_bytes);
  }
  one("omnistat_mem_available_bytes", "Available host memory, bytes", host.memory_available_bytes);
  one("sonde_host_cpu_pressure_percent", "Time a task waited for a CPU, percent",
      host.cpu_pressure);
  one("sonde_host_io_pressure_percent", "Time a task waited for a disk, percent", host.io_pressure);
  one("sonde_host_memory_pressure_percent", "Time a task waited for memory, percent",
      host.memory_pressure);
}

}  // namespace

std::optional<Naming> naming_of(std::string_view text) {
  if (text == "omnistat") return Naming::kOmnistat;
  if (text == "dme") return Naming::kDme;
  if (text == "dcgm") return Naming::kDcgm;
  return std::nullopt;
}

std::string exposition(const Snapshot& snapshot, Naming naming, const std::string& host) {
  Families families;
  const auto count = static_cast<double>(snapshot.gpus.size());
  if (naming == Naming::kDcgm) {
    add_gpus(snapshot, naming, host, dcgm_metrics(), families);
    return families.take();
  }
  if (naming == Naming::kDme) {
    families.begin("gpu_nodes_total", "GPUs of this node");
    families.add({{"hostname", host}}, count);
    add_gpus(snapshot, naming, host, dme_metrics(), families);
    return families.take();
  }
  families.begin("rocm_num_gpus", "GPUs of this node");
  families.add({}, count);
  add_gpus(snapshot, naming, host, omnistat_metrics(), families);
  add_block_errors(snapshot, families);
  add_states(snapshot, families);
  add_processes(snapshot, families);
  add_jobs(snapshot, families);
  add_host(snapshot.host, families);
  return families.take();
}

}  // namespace sonde::watch
