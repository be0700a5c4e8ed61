// The CSV files of rocprof v1 (docs/formats.md): results.csv has a row for each kernel, with its
// counters and, with --timestamp on, its times. The files of --stats have no times; each of their
// rows becomes a note.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/strings.h"
#include "importers/csv_table.h"
#include "importers/importer.h"

namespace sonde::importers {

namespace {

Sure sniff_kernels(const Head& head) {
  return has_columns(head.bytes, {"KernelName", "gpu-id", "queue-id", "grd", "wgr"})
             ? Sure::kCertain
             : Sure::kNo;
}

Sure sniff_stats(const Head& head) {
  return has_columns(head.bytes, {"Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage"})
             ? Sure::kCertain
             : Sure::kNo;
}

// Columns that are no counters.
constexpr std::string_view kFacts[] = {
    "Index",      "KernelName", "gpu-id", "queue-id", "queue-index", "pid",        "tid",
    "grd",        "wgr",        "lds",    "scr",      "arch_vgpr",   "accum_vgpr", "vgpr",
    "sgpr",       "wave_size",  "sig",    "obj",      "DispatchNs",  "BeginNs",    "EndNs",
    "CompleteNs", "DurationNs", "fbar",   "XCC_INDEX"};
constexpr std::string_view kArguments[] = {"queue-index", "tid",       "arch_vgpr", "accum_vgpr",
                                           "vgpr",        "sgpr",      "wave_size", "sig",
                                           "obj",         "CompleteNs"};

class KernelReader {
 public:
  KernelReader(CsvTable& table, Sink& sink, Tally& tally)
      : table_(table), sink_(sink), tally_(tally), type_(sink.name("KernelExecution")) {
    for (size_t i = 0; i < table.columns().size(); ++i) {
      const std::string& column = table.columns()[i];
      if (std::find(std::begin(kFacts), std::end(kFacts), column) == std::end(kFacts)) {
        counters_.push_back({i, sink.name(valid_utf8(column))});
      }
    }
  }

  void row() {
    Op op;
    const auto start = table_.integer("BeginNs"), end = table_.integer("EndNs");
    if (!start || !end) {
      tally_.skip("kernels without times (rocprof --timestamp on records them)", table_.place());
      return;
    }
    if (*end < *start || *start < 0) {
      tally_.skip("kernels that end before they start", table_.place());
      return;
    }
    op.start_ns = *start;
    op.end_ns = *end;
    op.gpu = table_.integer_or("gpu-id", 0);
    op.queue = table_.integer_or("queue-id", 0);
    op.name = sink_.name(valid_utf8(table_.text("KernelName")));
    op.type = type_;
    std::string args;
    for (const std::string_view column : kArguments) {
      const std::string_view value = table_.text(column);
      if (value.empty()) continue;
      args += fmt::format("{}{} = {}", args.empty() ? "" : " | ", column, value);
    }
    op.args = args;
    const int64_t id = sink_.op(op);
    launch(op, id);
    for (const auto& [column, name] : counters_) {
      if (const auto value = table_.real(column)) sink_.op_counter(id, name, *value);
    }
    tally_.count("kernels");
  }

 private:
  void launch(const Op& op, int64_t id) {
    Launch launch;
    launch.op = id;
    launch.process = sink_.process(table_.integer_or("pid", 0));
    launch.name = op.name;
    launch.op_class = store::OpClass::kKernel;
    launch.submitted_ns = table_.integer_or("DispatchNs", -1);
    launch.group_segment_bytes = table_.integer_or("lds", -1);
    launch.private_segment_bytes = table_.integer_or("scr", -1);
    // The file has the product of the axes.
    if (const auto items = table_.integer("grd")) set_axes(launch.grid, *items);
    if (const auto group = table_.integer("wgr")) set_axes(launch.group, *group);
    sink_.launch(launch);
  }
  static void set_axes(int64_t (&axes)[3], int64_t product) {
    axes[0] = product;
    axes[1] = axes[2] = 1;
  }

  CsvTable& table_;
  Sink& sink_;
  Tally& tally_;
  const Name type_;
  std::vector<std::pair<size_t, Name>> counters_;
};

Status read_kernels(Source& source, Sink& sink, Tally& tally) {
  SONDE_ASSIGN(CsvTable table, CsvTable::open(source));
  KernelReader reader(table, sink, tally);
  while (true) {
    SONDE_ASSIGN(const bool more, table.next());
    if (!more) return sink.status();
    if (table.fields() != table.columns().size()) {
      tally.skip("rows of another length than the header", table.place());
      continue;
    }
    reader.row();
  }
}

Status read_stats(Source& source, Sink& sink, Tally& tally) {
  SONDE_ASSIGN(CsvTable table, CsvTable::open(source));
  while (true) {
    SONDE_ASSIGN(const bool more, table.next());
    if (!more) break;
    const auto calls = table.integer("Calls"), total = table.integer("TotalDurationNs");
    if (!calls || !total) {
      tally.skip("rows without calls and total", table.place());
      continue;
    }
    sink.note(0, fmt::format("statistics: {}", valid_utf8(table.text("Name"))),
              fmt::format("calls = {} | total_ns = {}", *calls, *total));
    tally.count("statistics");
  }
  tally.remark("statistics have no times; they are in sonde_note, and there is no timeline");
  return sink.status();
}

}  // namespace

const Importer& rocprof_csv_importer() {
  static const Importer kImporter{"rocprof-csv", "results.csv of rocprof v1: kernels and counters",
                                  sniff_kernels, read_kernels};
  return kImporter;
}

const Importer& rocprof_stats_importer() {
  static const Importer kImporter{"rocprof-stats", "the CSV files of rocprof --stats", sniff_stats,
                                  read_stats};
  return kImporter;
}

}  // namespace sonde::importers
