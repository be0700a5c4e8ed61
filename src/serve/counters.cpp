#include "serve/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/analysis.h"
#include "analysis/host/allocations.h"
#include "base/packed.h"
#include "base/possible_span.h"
#include "base/strings.h"
#include "importers/import.h"
#include "store/scan.h"
#include "trace/other_tools.h"

namespace sonde::serve {
namespace {

// What docs/metrics.md says that the ends of names mean.
std::string unit_of(std::string_view name) {
  struct Unit {
    std::string_view end, unit;
  };
  constexpr Unit kUnits[] = {
      {"sclk", "MHz"}, {"mclk", "MHz"},   {"_mhz", "MHz"},         {"_percent", "%"},
      {"_w", "W"},     {"_c", "\u00b0C"}, {"_bytes_per_s", "B/s"}, {"_bytes_s", "B/s"},
      {"_bytes", "B"}, {"_per_s", "/s"},  {"_rpm", "rpm"},         {"_j", "J"},
      {"_mj", "mJ"}};
  for (const Unit& each : kUnits) {
    if (name.size() >= each.end.size() && name.substr(name.size() - each.end.size()) == each.end) {
      return std::string(each.unit);
    }
  }
  return {};
}

struct Reading {
  int64_t time_ns = 0, end_ns = 0;  // the end is not known if it is no later
  double value = 0;
};
struct Series {
  Counters::About about;
  std::vector<Reading> readings;
};
// In the order in which the page shows them: memory, then GPUs, then the rest.
using Key = std::tuple<int, int64_t, std::string>;
using All = std::map<Key, Series>;

void add_reading(Series& series, const Reading& reading) {
  if (is_possible_span(reading.time_ns, reading.time_ns) && std::isfinite(reading.value)) {
    series.readings.push_back(reading);
  }
}

timeline::Counter counter_of(std::vector<Reading>& readings, int64_t end_ns) {
  std::stable_sort(readings.begin(), readings.end(),
                   [](const Reading& a, const Reading& b) { return a.time_ns < b.time_ns; });
  timeline::Counter counter;
  for (size_t i = 0; i < readings.size(); ++i) {
    const Reading& reading = readings[i];
    counter.add(reading.time_ns, reading.value);
    const bool is_last = i + 1 == readings.size();
    // A process or device that has gone has no value.
    const bool ends =
        reading.end_ns > reading.time_ns && (is_last || reading.end_ns < readings[i + 1].time_ns);
    if (ends) counter.add(reading.end_ns, std::numeric_limits<double>::quiet_NaN());
  }
  counter.finish(std::max(end_ns, readings.back().time_ns));
  return counter;
}

Status read_measured(store::Database& database, All& all) {
  SONDE_TRY(store::scan(
      database, "device_type, device_id, monitor_type, start_ns, end_ns, value", "v_monitor", {},
      [&](const store::Row& row) {
        const bool is_gpu = row.text(0) == "gpu";
        const int64_t device = row.integer_or(1, 0);
        const std::string what(row.text(2));
        Series& series = all[{is_gpu ? 1 : 2, device, std::string(row.text(0)) + " " + what}];
        if (series.readings.empty()) {
          const std::string type(row.text(0));
          const std::string of =
              type == "host" ? type : fmt::format("{} {}", is_gpu ? "GPU" : type, device);
          series.about = {what, of + " " + what, unit_of(what), {}};
          if (is_gpu) series.about.gpu = device;
        }
        add_reading(series, {row.integer(3), row.integer_or(4, 0), row.real(5)});
      }));
  return store::scan(
      database, "pid, time_ns, name, value", "v_counter", {}, [&](const store::Row& row) {
        const std::string what(row.text(2));
        Series& series = all[{3, row.integer(0), what}];
        series.about = {
            what, fmt::format("{} of process {}", what, row.integer(0)), unit_of(what), {}};
        if (!row.is_null(3)) add_reading(series, {row.integer(1), 0, row.real(3)});
      });
}

Status read_memory(const Source& source, All& all) {
  SONDE_ASSIGN(const trace::Trace trace,
               trace::load_file(source.path, source.as, analysis::needs_of("memory"), {}));
  uint64_t unpaired = 0;
  std::map<std::string, int64_t> in_use;
  for (const analysis::Allocation& each : analysis::allocations_of(trace, unpaired)) {
    int64_t& bytes = in_use[each.device];
    bytes = each.in_use_bytes.value_or(bytes + each.bytes);
    Series& series = all[{0, each.gpu.value_or(-1), each.device}];
    series.about = {"memory in use", each.device + " memory in use", "B", each.gpu};
    add_reading(series, {each.time_ns, 0, static_cast<double>(bytes)});
  }
  return ok_status();
}

}  // namespace

Result<std::string> packed_counters(const Source& source) {
  All all;
  {
    SONDE_ASSIGN(store::Reader reader, importers::open_trace(source.path, source.as));
    SONDE_TRY(read_measured(reader.database(), all));
  }
  SONDE_TRY(read_memory(source, all));
  std::string out;
  for (auto& [key, series] : all) {
    if (series.readings.empty()) continue;
    for (const std::string* text : {&series.about.what, &series.about.title, &series.about.unit}) {
      put_text(out, *text);
    }
    put_pod(out, series.about.gpu.has_value());
    put_pod(out, series.about.gpu.value_or(0));
    put_pods(out, series.readings);
  }
  return out;
}

Result<Counters> unpacked_counters(std::string_view bytes, int64_t end_ns) {
  Unpacker from(bytes);
  Counters counters;
  while (!from.at_end()) {
    Counters::About about;
    about.what = from.text();
    about.title = from.text();
    about.unit = from.text();
    const bool of_gpu = from.pod<bool>();
    const auto gpu = from.pod<int64_t>();
    if (of_gpu) about.gpu = gpu;
    auto readings = from.pods<Reading>();
    if (!from.is_whole() || readings.empty()) {
      return make_error(ErrorCode::kInternal, "are cut", "counters");
    }
    counters.about.push_back(std::move(about));
    counters.counters.push_back(counter_of(readings, end_ns));
  }
  return counters;
}

std::string counters_json(const Counters& counters) {
  std::string list;
  for (size_t i = 0; i < counters.counters.size(); ++i) {
    const Counters::About& about = counters.about[i];
    const timeline::Counter::Band band = counters.counters[i].whole();
    list += fmt::format(
        "{}{{\"counter\": {}, \"what\": {}, \"title\": {}, \"unit\": {}, \"gpu\": {}, \"min\": {}, "
        "\"max\": {}, \"readings\": {}}}",
        list.empty() ? "" : ",\n", i, json_quote(about.what), json_quote(about.title),
        json_quote(about.unit), about.gpu ? std::to_string(*about.gpu) : "null", band.least,
        band.greatest, counters.counters[i].size());
  }
  return "{\"counters\": [" + list + "]}\n";
}

}  // namespace sonde::serve
