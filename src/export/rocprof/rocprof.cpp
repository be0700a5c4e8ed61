// The CSV files of rocprof v1 (docs/exports.md), in a new folder: results.csv with a row for each
// kernel and its hardware counters, and the files of its --stats. What the trace does not know is
// None, as rocprof writes it; what was not counted is empty.
#include <fmt/format.h>

#include <map>
#include <string>

#include "export/events/name_statistics.h"
#include "export/output/csv.h"
#include "export/rocprof/counters.h"
#include "export/rocprof/words.h"

namespace sonde::exporting {

namespace {

const char* const kKernelHeader =
    "Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,arch_vgpr,accum_vgpr,"
    "sgpr,wave_size,sig,obj";
const char* const kTimes = ",DispatchNs,BeginNs,EndNs,CompleteNs";
const char* const kStatsHeader = R"("Name","Calls","TotalDurationNs","AverageNs","Percentage")";

class Tables {
 public:
  Tables(const Events& events, std::string folder)
      : events_(events), counters_(events), prefix_(std::move(folder) + "/results") {}

  Result<Counts> write() {
    SONDE_TRY(ops());
    for (size_t i = 0; i < events_.api_count(); ++i) {
      const Api& api = events_.apis[i];
      ++counts_.apis;
      const std::string word = events_.is_mark(api) ? "roctx" : file_word(events_.domain(api));
      statistics_[word + "_stats"].add(events_.title(api), api.duration_ns());
    }
    SONDE_TRY(statistics());
    counts_.skipped = events_.skipped + events_.samples.size();
    return counts_;
  }

 private:
  Status ops();
  std::string kernel_header() const;
  void kernel_row(CsvFile& file, const Op& op, int64_t index);
  Status statistics();

  const Events& events_;
  CounterTable counters_;
  const std::string prefix_;
  std::map<std::string, NameStatistics> statistics_;  // by the part of the file's name
  Counts counts_;
};

Status Tables::ops() {
  CsvFile file(prefix_ + ".csv", kernel_header());
  int64_t index = 0;
  for (const Op& op : events_.ops) {
    ++counts_.ops;
    if (store::moves_memory(events_.class_of(op))) {
      statistics_["copy_stats"].add(events_.names.at(op.name), op.duration_ns());
      continue;
    }
    statistics_["stats"].add(events_.names.at(op.name), op.duration_ns());
    kernel_row(file, op, index++);
  }
  return file.finish();
}

std::string Tables::kernel_header() const {
  std::string header = kKernelHeader;
  for (const std::string_view name : counters_.names()) header += "," + csv_name(name);
  return header + kTimes;
}

void Tables::kernel_row(CsvFile& file, const Op& op, int64_t index) {
  const auto known = [&](int64_t value) {
    if (value < 0) {
      file.bare("None");
    } else {
      file.number(value);
    }
  };
  const Queue& queue = events_.queues[op.queue];
  file.number(index);
  file.text(events_.names.at(op.name));
  file.number(queue.gpu_id);
  file.number(queue.queue_id);
  file.number(index);
  for (const int64_t figure : kernel_figures(events_, op)) known(figure);
  for (int i = 0; i < 3; ++i) file.bare("None");  // wave size, signal, object
  counts_.counters += counters_.write(file, static_cast<uint32_t>(&op - events_.ops.data()));
  file.bare("None");  // DispatchNs
  file.number(op.start_ns);
  file.number(op.end_ns);
  file.bare("None");  // CompleteNs
  file.end_row();
}

// As Python prints a float: "100.0", "33.333333333333336".
std::string python_float(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

Status Tables::statistics() {
  for (const auto& [name, names] : statistics_) {
    CsvFile file(fmt::format("{}.{}.csv", prefix_, name), kStatsHeader);
    for (const NameStatistics::Row& row : names.rows()) {
      file.text(row.name);
      file.number(row.figures->calls);
      file.number(row.figures->total_ns);
      file.number(row.figures->total_ns / row.figures->calls);
      file.bare(python_float(row.percent));
      file.end_row();
    }
    SONDE_TRY(file.finish());
  }
  return ok_status();
}

}  // namespace

Exporter rocprof_exporter() {
  return {"rocprof",
          "a folder with the CSV files of rocprof v1 and its --stats",
          {".rocprof"},
          write_tables<Tables>,
          true};
}

}  // namespace sonde::exporting
