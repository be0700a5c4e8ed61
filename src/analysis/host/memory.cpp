#include <algorithm>
#include <map>

#include "analysis/analysis.h"
#include "analysis/host/allocations.h"
#include "analysis/totals.h"
#include "base/strings.h"
#include "report/layout.h"
#include "trace/frames.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;

struct Usage {
  int64_t allocations = 0, frees = 0, allocated_bytes = 0, freed_bytes = 0;
  int64_t in_use_bytes = 0, peak_bytes = 0, peak_at_ns = 0;
  std::optional<int64_t> peak_reserved_bytes;
  bool totals_known = false;                  // the file says what is in use
  std::vector<std::optional<int64_t>> peaks;  // by part of the time
};

struct Span {
  int64_t origin_ns = 0, start_ns = 0, length_ns = 1, parts = 1;  // origin: of the trace
  size_t part_of(int64_t time_ns) const {
    return static_cast<size_t>(std::min(parts - 1, (time_ns - start_ns) / part_ns()));
  }
  int64_t part_ns() const { return std::max<int64_t>(1, (length_ns + parts - 1) / parts); }
};

// By name, GPUs before CPUs: questions about memory are usually about theirs.
using Devices = std::vector<std::pair<std::string, Usage>>;

Devices usage_of(const std::vector<Allocation>& allocations, Span span) {
  std::map<std::string, Usage> devices;
  for (const Allocation& allocation : allocations) {
    Usage& device = devices[allocation.device];
    device.peaks.resize(static_cast<size_t>(span.parts));
    ++(allocation.bytes < 0 ? device.frees : device.allocations);
    (allocation.bytes < 0 ? device.freed_bytes : device.allocated_bytes) +=
        std::abs(allocation.bytes);
    device.totals_known |= allocation.in_use_bytes.has_value();
    device.in_use_bytes = allocation.in_use_bytes.value_or(device.in_use_bytes + allocation.bytes);
    if (allocation.reserved_bytes) {
      device.peak_reserved_bytes =
          std::max(device.peak_reserved_bytes.value_or(0), *allocation.reserved_bytes);
    }
    if (device.in_use_bytes > device.peak_bytes) {
      device.peak_bytes = device.in_use_bytes;
      device.peak_at_ns = allocation.time_ns - span.origin_ns;
    }
    auto& peak = device.peaks[span.part_of(allocation.time_ns)];
    peak = std::max(peak.value_or(device.in_use_bytes), device.in_use_bytes);
  }
  Devices order(devices.begin(), devices.end());
  std::stable_partition(order.begin(), order.end(),
                        [](const auto& device) { return !device.first.starts_with("CPU"); });
  return order;
}

report::Section devices_section(const Devices& devices) {
  report::Section section{
      .key = "memory",
      .empty_text =
          "No allocations in the file (torch.profiler: profile_memory=True; sonde record: hipMalloc)."};
  report::Table& table = section.table;
  table.add_columns({text("device", "Device"), integer("allocations", "Allocations"),
                     integer("frees", "Frees"), bytes("allocated_bytes", "Allocated"),
                     bytes("freed_bytes", "Freed"), bytes("peak_in_use_bytes", "Peak in use"),
                     time("peak_at_ns", "Peak at"), bytes("last_in_use_bytes", "In use at the end"),
                     bytes("peak_reserved_bytes", "Peak reserved")});
  for (const auto& [name, device] : devices) {
    table.add_row({name, device.allocations, device.frees, device.allocated_bytes,
                   device.freed_bytes, device.peak_bytes, device.peak_at_ns, device.in_use_bytes,
                   device.peak_reserved_bytes ? Value(*device.peak_reserved_bytes) : Value()});
  }
  return section;
}

report::Section series_section(const Devices& devices, Span span) {
  report::Section section{.key = "series", .title = "In use over time", .empty_text = "None."};
  section.table.add_columns({text("device", "Device"), time("from_ns", "From"),
                             bytes("peak_in_use_bytes", "Most in use")});
  report::Chart chart;
  chart.key = section.key;
  chart.title = "Memory in use";
  chart.x = {"Time", Kind::kTime};
  chart.y = {"Most in use", Kind::kBytes};
  for (const auto& [name, device] : devices) {
    report::Series series{name, {}, {}, report::Mark::kSteps, {}};
    for (size_t part = 0; part < device.peaks.size(); ++part) {
      if (!device.peaks[part]) continue;  // nothing changed
      const int64_t from_ns =
          span.start_ns - span.origin_ns + static_cast<int64_t>(part) * span.part_ns();
      section.table.add_row({name, from_ns, *device.peaks[part]});
      series.places.push_back(static_cast<double>(from_ns));
      series.values.push_back(static_cast<double>(*device.peaks[part]));
    }
    chart.series.push_back(std::move(series));
  }
  if (!chart.series.empty()) section.charts.push_back(std::move(chart));
  return section;
}

struct Site {
  int64_t allocations = 0, bytes = 0, largest_bytes = 0;
};

report::Section sites_section(const trace::Trace& trace, const std::vector<Allocation>& allocations,
                              const trace::UserFrames& user) {
  report::Section section{.key = "sites", .title = "Where it was allocated", .empty_text = "None."};
  report::Table& table = section.table;
  table.add_columns({text("device", "Device"), text("operator", "Operator"), text("frame", "Frame"),
                     integer("allocations", "Allocations"), bytes("total_bytes", "Bytes"),
                     bytes("largest_bytes", "Largest")});
  report::lead_with(table, "frame");
  report::leave_first(table, {"largest_bytes", "allocations"});
  const trace::OpTree tree = trace::build_op_tree(trace);
  const auto text = [&](Row api) {
    return api == kNone ? std::string() : trace.names[trace.apis.label[static_cast<size_t>(api)]];
  };
  std::map<std::array<std::string, 3>, Site> sites;
  for (const Allocation& allocation : allocations) {
    if (allocation.bytes <= 0) continue;
    const Row op = tree.nearest(
        allocation.api, [&](size_t i) { return trace.apis.kind[i] == trace::ApiKind::kOperator; });
    const Row frame = tree.nearest(allocation.api, [&](size_t i) { return user.contains(i); });
    Site& site = sites[{allocation.device, text(op), text(frame)}];
    ++site.allocations;
    site.bytes += allocation.bytes;
    site.largest_bytes = std::max(site.largest_bytes, allocation.bytes);
  }
  std::vector<std::pair<std::array<std::string, 3>, Site>> order(sites.begin(), sites.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  const auto known = [](const std::string& name) { return name.empty() ? Value() : Value(name); };
  for (const auto& [key, site] : order) {
    table.add_row(
        {key[0], known(key[1]), known(key[2]), site.allocations, site.bytes, site.largest_bytes});
  }
  return section;
}

Result<report::Report> run(const trace::Trace& trace, const Parameters& parameters) {
  SONDE_ASSIGN(const int64_t parts, parameters.count("parts"));
  SONDE_ASSIGN(const auto user, trace::UserFrames::create(trace, parameters.text("user")));
  report::Report report = begin_report("memory", trace);
  uint64_t unpaired = 0;
  std::vector<Allocation> allocations = allocations_of(trace, unpaired);
  if (trace.gpu) {
    const size_t elsewhere = std::erase_if(
        allocations, [&](const Allocation& allocation) { return allocation.gpu != trace.gpu; });
    if (elsewhere != 0) {
      report.notes.push_back(format_count(elsewhere) +
                             " events of other devices, or of one that is not known, are left out");
    }
  }
  Span span;
  span.parts = std::max<int64_t>(1, parts);
  span.origin_ns = trace.origin_ns;
  if (!allocations.empty()) {
    span.start_ns = allocations.front().time_ns;
    span.length_ns = std::max<int64_t>(1, allocations.back().time_ns - span.start_ns);
  }
  const auto devices = usage_of(allocations, span);
  report.sections = {devices_section(devices), series_section(devices, span),
                     sites_section(trace, allocations, user)};
  for (const auto& [name, device] : devices) {
    if (device.totals_known) continue;
    report.notes.push_back(name +
                           ": the file does not say what was in use before its first "
                           "allocation, so amounts in use count from there");
  }
  if (unpaired != 0) {
    report.notes.push_back(format_count(unpaired) +
                           " frees of memory that was allocated before the recording are left out");
  }
  return report;
}

constexpr const char* kDefinition =
    "memory: memory in use over time, from the allocations in the file: torch's [memory] events "
    "(recorded with profile_memory=True), and calls such as hipMalloc and hipFree with their "
    "arguments.\n\n"
    "Allocated and Freed are sums of sizes. In use is what the file reports after each event "
    "(Total Allocated of torch's caching allocator). Without such a report it is the running sum "
    "of all sizes, starting from 0 at the first allocation. Peak at counts from the first "
    "allocation in the file. Peak reserved is the largest Total Reserved: the memory that torch's "
    "allocator held, used or not. If several processes allocate memory, each has its own rows for "
    "its devices.\n\n"
    "In use over time divides the time between the first and the last allocation into --parts "
    "equal parts. Each row shows the largest amount in use after an event in that part. Peak at "
    "and From count from the start of the trace, like --from. Where it was allocated sums the "
    "sizes by the innermost operator and the innermost frame of the user's own code (as in sonde "
    "stacks) around each allocation.\n";

trace::Request needs(const Parameters&) {
  return {.apis = true, .nesting = true, .args_of = bit_of(trace::ApiKind::kMemory)};
}

}  // namespace

Analysis memory_analysis() {
  return {
      "memory",
      "Show memory in use over time, and where it was allocated",
      "Shows for each device the peak, the memory in use over time, and the operators and lines "
      "that allocated most.",
      kDefinition,
      {{"sonde memory trace.json", "for a trace of torch.profiler with profile_memory=True"},
       {"sonde memory trace.json --parts 100 --format csv",
        "memory in use over time, in more "
        "detail"}},
      {{"parts", "N", "number of equal parts of the time", "20"},
       {"user", "REGEX",
        "frames that are the user's own code [those of no library that Sonde knows]", ""}},
      needs,
      run,
      true};
}

}  // namespace sonde::analysis
