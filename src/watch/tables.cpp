#include "watch/tables.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <functional>

#include "base/join.h"
#include "watch/judge.h"

namespace sonde::watch {

namespace {

using report::Column;
using report::Kind;
using report::Section;
using report::Value;

Value value_of(const Real& real) { return real ? Value(*real) : Value(); }
Value value_of(const Whole& whole) { return whole ? Value(*whole) : Value(); }
Value value_of(const std::string& text) { return text.empty() ? Value() : Value(text); }

// A column of a table of things, and how to fill it from a thing.
template <typename Thing>
struct Filled {
  Column column;
  std::function<Value(const Thing&)> value;
};

template <typename Thing>
Section section_of(const char* key, const char* title, const std::vector<Thing>& things,
                   const std::vector<Filled<Thing>>& columns) {
  Section section;
  section.key = key;
  section.title = title;
  for (const auto& each : columns) section.table.add_column(each.column);
  for (const Thing& thing : things) {
    std::vector<Value> row;
    for (const auto& each : columns) row.push_back(each.value(thing));
    section.table.add_row(std::move(row));
  }
  return section;
}

Filled<Gpu> real(const char* key, const char* title, Real Gpu::*member, int priority = 1) {
  return {Column{key, title, Kind::kReal, false, priority},
          [=](const Gpu& gpu) { return value_of(gpu.*member); }};
}
Filled<Gpu> percent(const char* key, const char* title, Real Gpu::*member, int priority = 1) {
  return {Column{key, title, Kind::kPercent, false, priority},
          [=](const Gpu& gpu) { return value_of(gpu.*member); }};
}
Filled<Gpu> bytes(const char* key, const char* title, Whole Gpu::*member, int priority = 1) {
  return {Column{key, title, Kind::kBytes, false, priority},
          [=](const Gpu& gpu) { return value_of(gpu.*member); }};
}
Filled<Gpu> whole(const char* key, const char* title, Whole Gpu::*member) {
  return {Column{key, title, Kind::kInteger, false, 1},
          [=](const Gpu& gpu) { return value_of(gpu.*member); }};
}
Filled<Gpu> text(const char* key, const char* title, std::string Gpu::*member, int priority = 1) {
  return {Column{key, title, Kind::kText, false, priority},
          [=](const Gpu& gpu) { return value_of(gpu.*member); }};
}
Filled<Gpu> number_of() {
  return {Column{"gpu", "GPU", Kind::kId, false, 9},
          [](const Gpu& gpu) { return Value(gpu.number); }};
}
Filled<Gpu> throttled() {
  return {Column{"throttled", "Throttled by", Kind::kText, false, 3},
          [](const Gpu& gpu) { return value_of(throttle_text(gpu)); }};
}

// A die without a sensor names the GPU whose sensor covers it.
Filled<Gpu> card_power(const Snapshot& snapshot, const char* key, const char* title,
                       Real Gpu::*member) {
  return {Column{key, title, Kind::kText, false, 7}, [&snapshot, member](const Gpu& gpu) {
            if (gpu.power_of) return Value(fmt::format("with {}", *gpu.power_of));
            const Real value = gpu.*member;
            return value ? Value(fmt::format("{:.0f}", *value)) : Value();
          }};
}

std::vector<Filled<Gpu>> brief_columns(const Snapshot& snapshot) {
  return {
      number_of(),
      {Column{"name", "Name", Kind::kName, false, 8},
       [](const Gpu& gpu) {
         if (gpu.state == GpuState::kAwake) return Value(gpu.name);
         return Value(gpu.name + " (" + state_text(gpu.state) + ")");
       }},
      percent("busy_percent", "Busy", &Gpu::busy_percent, 8),
      bytes("vram_used_bytes", "VRAM", &Gpu::vram_used_bytes, 8),
      bytes("vram_total_bytes", "of", &Gpu::vram_total_bytes, 5),
      card_power(snapshot, "power_w", "Power W", &Gpu::power_w),
      card_power(snapshot, "power_cap_w", "of W", &Gpu::power_cap_w),
      {Column{"temperature_c", "Temp C", Kind::kReal, false, 6},
       [](const Gpu& gpu) { return value_of(hottest_c(gpu)); }},
      real("sclk_mhz", "SCLK MHz", &Gpu::sclk_mhz, 4),
      real("mclk_mhz", "MCLK MHz", &Gpu::mclk_mhz, 2),
      throttled(),
  };
}

std::vector<Filled<Gpu>> health_columns() {
  return {number_of(),
          text("address", "Address", &Gpu::address),
          text("target", "Target", &Gpu::target),
          whole("compute_units", "CUs", &Gpu::compute_units),
          real("edge_c", "Edge C", &Gpu::edge_c),
          real("junction_c", "Junction C", &Gpu::junction_c),
          real("memory_c", "Memory C", &Gpu::memory_c),
          percent("fan_percent", "Fan", &Gpu::fan_percent),
          percent("memory_busy_percent", "Memory busy", &Gpu::memory_busy_percent),
          percent("media_percent", "Media", &Gpu::media_percent),
          bytes("gtt_used_bytes", "GTT", &Gpu::gtt_used_bytes),
          whole("ecc_corrected", "ECC corrected", &Gpu::ecc_corrected),
          whole("ecc_uncorrected", "not corrected", &Gpu::ecc_uncorrected)};
}

std::vector<Filled<Gpu>> link_columns() {
  return {number_of(),
          real("pcie_gts", "PCIe GT/s", &Gpu::pcie_gts),
          whole("pcie_lanes", "Lanes", &Gpu::pcie_lanes),
          whole("pcie_replays", "Replays", &Gpu::pcie_replays),
          real("xgmi_read_bytes_s", "XGMI read B/s", &Gpu::xgmi_read_bytes_s),
          real("xgmi_written_bytes_s", "written B/s", &Gpu::xgmi_written_bytes_s),
          text("performance_level", "Level", &Gpu::performance_level),
          text("compute_partition", "Compute", &Gpu::compute_partition),
          text("memory_partition", "Memory", &Gpu::memory_partition),
          text("gpu_metrics", "gpu_metrics", &Gpu::table_version)};
}

std::string partition_text(const Gpu& gpu) {
  std::string text;
  for (const Partition& each : gpu.partitions) {
    if (!text.empty()) text += ';';
    text += each.busy_percent ? fmt::format("{:g}", *each.busy_percent) : "-";
  }
  return text;
}

std::vector<Filled<Gpu>> data_columns(const Snapshot& snapshot) {
  std::vector<Filled<Gpu>> columns = {
      {Column{"time", "Time", Kind::kText},
       [&](const Gpu&) { return Value(time_text(snapshot.unix_time_ns)); }},
      number_of(),
      text("address", "Address", &Gpu::address),
      text("vendor", "Vendor", &Gpu::vendor),
      text("name", "Name", &Gpu::name),
      {Column{"state", "State", Kind::kText},
       [](const Gpu& gpu) { return Value(std::string(state_text(gpu.state))); }},
      percent("busy_percent", "Busy", &Gpu::busy_percent),
      bytes("vram_used_bytes", "VRAM", &Gpu::vram_used_bytes),
      bytes("vram_total_bytes", "VRAM total", &Gpu::vram_total_bytes),
      real("power_w", "Power W", &Gpu::power_w),
      real("power_cap_w", "Cap W", &Gpu::power_cap_w),
      whole("power_of_gpu", "Power is of GPU", &Gpu::power_of),
      real("energy_j", "Energy J", &Gpu::energy_j),
      real("sclk_mhz", "SCLK MHz", &Gpu::sclk_mhz),
      real("mclk_mhz", "MCLK MHz", &Gpu::mclk_mhz),
      throttled(),
      text("unique_id", "Unique id", &Gpu::unique_id),
      text("serial", "Serial", &Gpu::serial),
      bytes("gtt_total_bytes", "GTT total", &Gpu::gtt_total_bytes),
      real("fan_rpm", "Fan rpm", &Gpu::fan_rpm),
      {Column{"partitions_busy_percent", "Partitions busy", Kind::kText},
       [](const Gpu& gpu) { return value_of(partition_text(gpu)); }},
  };
  const auto add = [&](const std::vector<Filled<Gpu>>& more) {
    for (const auto& each : more) {
      const auto same = [&](const auto& other) { return other.column.key == each.column.key; };
      if (std::none_of(columns.begin(), columns.end(), same)) columns.push_back(each);
    }
  };
  add(health_columns());
  add(link_columns());
  return columns;
}

// The GPUs of a process: "0,3".
std::string gpus_text(const Process& process) {
  return join(process.gpus, ",", [](const GpuUse& use) { return std::to_string(use.gpu); });
}

template <typename Get>
auto sum_of(const Process& process, Get get) {
  decltype(get(GpuUse())) sum;
  for (const GpuUse& use : process.gpus) {
    if (const auto value = get(use)) sum = sum.value_or(0) + *value;
  }
  return sum;
}

Filled<Process> process_text(const char* key, const char* title, std::string Process::*member,
                             int priority) {
  return {Column{key, title, Kind::kText, false, priority},
          [=](const Process& process) { return value_of(process.*member); }};
}

std::vector<Filled<Process>> process_columns() {
  return {
      {Column{"pid", "PID", Kind::kId, false, 9},
       [](const Process& process) { return Value(process.pid); }},
      process_text("user", "User", &Process::user, 6),
      {Column{"gpus", "GPUs", Kind::kText, false, 8},
       [](const Process& process) { return value_of(gpus_text(process)); }},
      {Column{"vram_bytes", "VRAM", Kind::kBytes, false, 8},
       [](const Process& process) { return value_of(process.vram_bytes()); }},
      {Column{"cus", "CUs", Kind::kInteger, false, 5},
       [](const Process& process) {
         return value_of(sum_of(process, [](const GpuUse& use) { return use.cus; }));
       }},
      {Column{"sdma_percent", "SDMA", Kind::kPercent, false, 2},
       [](const Process& process) {
         return value_of(sum_of(process, [](const GpuUse& use) { return use.sdma_percent; }));
       }},
      {Column{"cpu_percent", "CPU", Kind::kPercent, false, 4},
       [](const Process& process) { return value_of(process.cpu_percent); }},
      {Column{"rss_bytes", "Memory", Kind::kBytes, false, 3},
       [](const Process& process) { return value_of(process.rss_bytes); }},
      process_text("job", "Job", &Process::job, 5),
      process_text("step", "Step", &Process::step, 1),
      process_text("rank", "Rank", &Process::rank, 4),
      process_text("container", "Container", &Process::container, 2),
      {Column{"command", "Command", Kind::kName, false, 7},
       [](const Process& process) {
         if (!process.command.empty() || process.name.empty()) return value_of(process.command);
         return Value("[" + process.name + "]");  // as ps shows threads of the kernel
       }},
  };
}

struct PartOfProcess {
  const Process* process;
  GpuUse use;
};

Section uses_section(const std::vector<Process>& processes) {
  std::vector<PartOfProcess> parts;
  for (const Process& process : processes) {
    for (const GpuUse& use : process.gpus) parts.push_back({&process, use});
  }
  const auto column = [](const char* key, const char* title, Kind kind) {
    return Column{key, title, kind};
  };
  return section_of<PartOfProcess>(
      "process_gpus", "Processes by GPU", parts,
      {{column("pid", "PID", Kind::kId),
        [](const PartOfProcess& part) { return Value(part.process->pid); }},
       {column("gpu", "GPU", Kind::kId),
        [](const PartOfProcess& part) { return Value(part.use.gpu); }},
       {column("vram_bytes", "VRAM", Kind::kBytes),
        [](const PartOfProcess& part) { return value_of(part.use.vram_bytes); }},
       {column("queues", "Queues", Kind::kInteger),
        [](const PartOfProcess& part) { return value_of(part.use.queues); }},
       {column("cus", "CUs", Kind::kInteger),
        [](const PartOfProcess& part) { return value_of(part.use.cus); }},
       {column("sdma_percent", "SDMA", Kind::kPercent),
        [](const PartOfProcess& part) { return value_of(part.use.sdma_percent); }},
       {column("sdma_us", "SDMA us", Kind::kInteger),
        [](const PartOfProcess& part) { return value_of(part.use.sdma_us); }},
       {column("evicted_ms", "Evicted ms", Kind::kInteger),
        [](const PartOfProcess& part) { return value_of(part.use.evicted_ms); }}});
}

Section alerts_section(const std::vector<Alert>& alerts) {
  Section section = section_of<Alert>(
      "alerts", "Alerts", alerts,
      {{Column{"gpu", "GPU", Kind::kId}, [](const Alert& alert) { return value_of(alert.gpu); }},
       {Column{"what", "What", Kind::kText, false, 2},
        [](const Alert& alert) { return Value(alert.what); }},
       {Column{"severity", "Severity", Kind::kText},
        [](const Alert& alert) {
          constexpr const char* kTexts[] = {"note", "warning", "trouble"};
          return Value(std::string(kTexts[static_cast<int>(alert.severity)]));
        }},
       {Column{"why", "Why", Kind::kText, false, 3},
        [](const Alert& alert) { return Value(alert.why); }}});
  return section;
}

Section host_section(const Snapshot& snapshot, bool data) {
  const Host& host = snapshot.host;
  Section section;
  section.key = "host";
  section.title = "Host";
  if (data) {
    section.add_fact({"time", "Time", Kind::kText, time_text(snapshot.unix_time_ns)});
  }
  const auto add = [&](const char* key, const char* title, Kind kind, const Real& value) {
    if (!value) return;
    const bool is_whole = kind == Kind::kBytes;
    section.add_fact(
        {key, title, kind, is_whole ? Value(static_cast<int64_t>(*value)) : Value(*value)});
  };
  add("cpu_percent", "CPU", Kind::kPercent, host.cpu_percent);
  if (host.cores) section.add_fact({"cores", "Cores", Kind::kInteger, *host.cores});
  add("load1", "Load", Kind::kReal, host.load1);
  add("memory_used_bytes", "Memory used", Kind::kBytes, host.memory_used_bytes);
  add("memory_available_bytes", "Memory available", Kind::kBytes, host.memory_available_bytes);
  add("swap_used_bytes", "Swap used", Kind::kBytes, host.swap_used_bytes);
  add("cpu_pressure_percent", "Waiting for a CPU", Kind::kPercent, host.cpu_pressure);
  add("memory_pressure_percent", "Waiting for memory", Kind::kPercent, host.memory_pressure);
  add("io_pressure_percent", "Waiting for I/O", Kind::kPercent, host.io_pressure);
  add("disk_read_per_s_bytes", "Read from disks a second", Kind::kBytes, host.disk_read_bytes_s);
  add("disk_written_per_s_bytes", "Written to disks a second", Kind::kBytes,
      host.disk_written_bytes_s);
  add("received_per_s_bytes", "Received a second", Kind::kBytes, host.received_bytes_s);
  add("sent_per_s_bytes", "Sent a second", Kind::kBytes, host.sent_bytes_s);
  return section;
}

struct TableRow {
  int64_t gpu;
  const TableValue* value;
};

Section table_section(const std::vector<Gpu>& gpus) {
  std::vector<TableRow> rows;
  for (const Gpu& gpu : gpus) {
    for (const TableValue& each : gpu.table) rows.push_back({gpu.number, &each});
  }
  return section_of<TableRow>(
      "gpu_metrics", "gpu_metrics, raw", rows,
      {{Column{"gpu", "GPU", Kind::kId}, [](const TableRow& row) { return Value(row.gpu); }},
       {Column{"field", "Field", Kind::kText},
        [](const TableRow& row) { return Value(row.value->field); }},
       {Column{"value", "Value", Kind::kId},
        [](const TableRow& row) { return value_of(row.value->value); }},
       {Column{"unit", "Unit", Kind::kText},
        [](const TableRow& row) { return value_of(row.value->unit); }}});
}

}  // namespace

std::string time_text(int64_t unix_time_ns) {
  const time_t seconds = unix_time_ns / 1'000'000'000;
  tm parts = {};
  ::gmtime_r(&seconds, &parts);
  char text[40];
  ::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:03}Z", text, unix_time_ns / 1'000'000 % 1000);
}

const char* state_text(GpuState state) {
  constexpr const char* kTexts[] = {"awake", "asleep", "gone"};
  return kTexts[static_cast<int>(state)];
}

Real hottest_c(const Gpu& gpu) {
  Real most;
  for (const Real& each : {gpu.edge_c, gpu.junction_c, gpu.memory_c}) {
    if (each) most = std::max(most.value_or(*each), *each);
  }
  return most;
}

report::Report report_of(const Snapshot& snapshot, Detail detail) {
  report::Report report;
  report.name = "monitor";
  report.subject = "this machine";
  const bool data = detail == Detail::kData;
  report.sections.push_back(section_of("gpus", "GPUs", snapshot.gpus,
                                       data ? data_columns(snapshot) : brief_columns(snapshot)));
  report.sections.back().empty_text = "no GPU found (sonde doctor says why)";
  if (detail == Detail::kAll) {
    report.sections.push_back(section_of("health", "Health", snapshot.gpus, health_columns()));
    report.sections.push_back(section_of("links", "Links", snapshot.gpus, link_columns()));
  }
  report.sections.push_back(
      section_of("processes", "Processes", snapshot.processes, process_columns()));
  report.sections.back().empty_text = "no process uses a GPU";
  if (detail != Detail::kBrief) report.sections.push_back(uses_section(snapshot.processes));
  if (data || !snapshot.alerts.empty()) report.sections.push_back(alerts_section(snapshot.alerts));
  report.sections.push_back(host_section(snapshot, data));
  const auto has_table = [](const Gpu& gpu) { return !gpu.table.empty(); };
  if (std::any_of(snapshot.gpus.begin(), snapshot.gpus.end(), has_table)) {
    report.sections.push_back(table_section(snapshot.gpus));
  }
  for (const Gpu& gpu : snapshot.gpus) {
    for (const std::string& line : gpu.unreadable) {
      report.warnings.push_back(fmt::format("GPU {}: {}", gpu.number, line));
    }
  }
  if (detail != Detail::kBrief) report.notes = snapshot.missing;
  return report;
}

}  // namespace sonde::watch
