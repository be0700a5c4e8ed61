// The CSV files of rocprof v1 (docs/formats.md): results.csv has a row for each kernel, with its
// counters and, with --timestamp on, its times. The files of --stats have no times; each of their
// rows becomes a note.
#include <fmt/format.h>

#include "base/strings.h"
#include "importers/importer.h"
#include "importers/input/csv_table.h"
#include "importers/rocprof/rows.h"

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

Status read_kernels(Source& source, Sink& sink, Tally& tally) {
  SONDE_ASSIGN(CsvTable table, CsvTable::open(source));
  RocprofRows rows(sink, tally);
  RocprofRecord record;
  while (true) {
    SONDE_ASSIGN(const bool more, table.next());
    if (!more) return sink.status();
    if (table.fields() != table.columns().size()) {
      tally.skip("rows of another length than the header", table.place());
      continue;
    }
    record.clear();
    for (size_t i = 0; i < table.columns().size(); ++i) {
      record.add(table.columns()[i], table.text(i));
    }
    rows.kernel(record, table.place());
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

Importer rocprof_csv_importer() {
  return {"rocprof-csv", "results.csv of rocprof v1: kernels and counters", sniff_kernels,
          read_kernels};
}

Importer rocprof_stats_importer() {
  return {"rocprof-stats", "the CSV files of rocprof --stats", sniff_stats, read_stats};
}

}  // namespace sonde::importers
