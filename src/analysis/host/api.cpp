#include <algorithm>
#include <unordered_map>

#include "analysis/analysis.h"
#include "analysis/host/api_totals.h"
#include "analysis/totals.h"
#include "trace/group_names.h"

namespace sonde::analysis {

// Markers by what the program called them: RPD has one name for all.
std::vector<ApiTotal> api_totals(const trace::Trace& trace) {
  const trace::GroupNames groups(trace);
  std::unordered_map<uint64_t, size_t> row_of;  // (domain, name)
  std::vector<ApiTotal> totals;
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    if (!trace::is_on_a_thread(trace.apis.kind[i])) continue;
    const trace::NameId name = groups.of(trace.apis.label[i]);
    const uint64_t key = uint64_t{trace.apis.domain[i]} << 32 | name;
    const auto [entry, is_new] = row_of.try_emplace(key, totals.size());
    if (is_new) totals.push_back({trace.apis.domain[i], groups.text(name), {}});
    totals[entry->second].time.add(trace.api_ns(i));
  }
  std::sort(totals.begin(), totals.end(), [&](const ApiTotal& a, const ApiTotal& b) {
    if (a.time.total_ns != b.time.total_ns) return a.time.total_ns > b.time.total_ns;
    if (a.name != b.name) return a.name < b.name;
    return trace.names[a.domain] < trace.names[b.domain];
  });
  return totals;
}

namespace {

using namespace report::columns;

Result<report::Report> run(const trace::Trace& trace, const Parameters&) {
  report::Report report = begin_report("api", trace);
  report::Section section{.key = "api", .empty_text = "No API calls."};
  report::Table& table = section.table;
  table.add_columns({text("domain", "Domain"), name("name", "Name"), integer("calls", "Calls"),
                     time("total_ns", "Total"), time("mean_ns", "Mean"), time("min_ns", "Min"),
                     time("max_ns", "Max"), percent("percentage", "Share")});
  const auto totals = api_totals(trace);
  int64_t whole = 0;
  for (const ApiTotal& total : totals) whole += total.time.total_ns;
  for (const ApiTotal& total : totals) {
    const Total& time = total.time;
    table.add_row({trace.names[total.domain], total.name, time.calls, time.total_ns, time.mean_ns(),
                   time.min_ns, time.max_ns, percent_of(time.total_ns, whole)});
  }
  report.sections.push_back(std::move(section));
  return report;
}

constexpr const char* kDefinition =
    "api: one row for each function of an API, and for each marker by its own name, that the "
    "program called; those that differ only in their number are one row (ProfilerStep#N, "
    "nn.Module: Linear_N). Domain is the API as the recorder named it; files before RPD schema 3 "
    "have none, and it is derived from the name (hip..., hsa_..., cl..., cuda..., nccl...). Total "
    "adds up the time from entering to leaving the function on the CPU, over all threads; calls "
    "and ranges that nest each count in full. Markers and waits as seen by a device are not "
    "program time and are left out. Mean is Total / Calls rounded down. Share is Total in percent "
    "of the total of all rows. In SQL: sonde_api_top, where each numbered name has its own row.\n";

}  // namespace

Analysis api_analysis() {
  return {"api",
          "List API calls and markers by CPU time, most expensive first",
          "Adds up, by name, the calls into HIP, OpenCL and other recorded APIs, and the program's "
          "own markers.",
          kDefinition,
          {{"sonde api trace.rpd", "the 25 names with the largest total"},
           {"sonde api trace.rpd --name Memcpy --sort max", "the slowest single copies first"}},
          {},
          [](const Parameters&) { return trace::Request{.apis = true, .nesting = true}; },
          run};
}

}  // namespace sonde::analysis
