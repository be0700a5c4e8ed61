#include <algorithm>
#include <map>

#include "analysis/analysis.h"
#include "analysis/operations/op_groups.h"
#include "analysis/totals.h"
#include "base/strings.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;

bool is_copy(const trace::Trace& trace, size_t op) {
  return trace::moves_memory(trace.class_of(op));
}

// SI gigabytes a second: bytes / ns.
Value rate(int64_t bytes, int64_t ns) { return ratio_of(bytes, ns); }

report::Section copies_section(const OpGroups& directions) {
  report::Section section{.key = "copies", .empty_text = "No copies."};
  section.table.add_columns({text("direction", "Direction"), integer("calls", "Calls"),
                             time("total_ns", "Total"), time("mean_ns", "Mean"),
                             integer("sized_calls", "With size"), bytes("moved_bytes", "Bytes"),
                             real("gb_per_s", "GB/s")});
  for (const OpGroup& copies : directions.groups) {
    const bool sized = copies.sized_calls != 0;
    section.table.add_row({copies.name(), copies.time.calls, copies.time.total_ns,
                           copies.time.mean_ns(), copies.sized_calls,
                           sized ? Value(copies.bytes) : Value(),
                           sized ? rate(copies.bytes, copies.sized_ns) : Value()});
  }
  return section;
}

// The classes of each direction, the smallest first.
report::Section sizes_section(const trace::Trace& trace, const OpGroups& directions) {
  report::Section section{.key = "sizes",
                          .title = "By size",
                          .empty_text = "The file does not say how large the copies are."};
  section.table.add_columns({text("direction", "Direction"), bytes("from_bytes", "From"),
                             bytes("below_bytes", "Below"), integer("calls", "Calls"),
                             bytes("moved_bytes", "Bytes"), time("total_ns", "Total"),
                             real("gb_per_s", "GB/s")});
  std::map<std::string, size_t> place;
  for (const OpGroup& direction : directions.groups) place.emplace(direction.name(), place.size());
  OpGroups sizes = group_ops(trace, {"type", "size"}, ops_where(trace, [&](size_t op) {
                               return is_copy(trace, op) && trace.ops.bytes[op] >= 0;
                             }));
  std::sort(sizes.groups.begin(), sizes.groups.end(), [&](const OpGroup& a, const OpGroup& b) {
    return a.name() != b.name() ? place[a.name()] < place[b.name()] : a.key < b.key;
  });
  for (const OpGroup& copies : sizes.groups) {
    std::vector<Value> row = copies.key;
    row.insert(row.end(), {copies.time.calls, copies.bytes, copies.time.total_ns,
                           rate(copies.bytes, copies.sized_ns)});
    section.table.add_row(std::move(row));
  }
  return section;
}

// Copies by the call that made them and the memory on both sides.
report::Section calls_section(const trace::Trace& trace, int64_t& pageable_async) {
  report::Section section{.key = "calls",
                          .title = "By call",
                          .empty_text = "The file does not say which calls made the copies."};
  report::Table& table = section.table;
  table.add_columns({text("direction", "Direction"), text("call", "Call"), text("mode", "Mode"),
                     text("memory", "Memory"), integer("calls", "Calls"),
                     bytes("moved_bytes", "Bytes"), time("total_ns", "Total"),
                     real("gb_per_s", "GB/s")});
  const OpGroups calls =
      group_ops(trace, {"type", "call", "memory"}, ops_where(trace, [&](size_t op) {
                  return is_copy(trace, op) && trace.ops.api[op] != trace::kNone;
                }));
  for (const OpGroup& copies : calls.groups) {
    const auto& call = std::get<std::string>(copies.key[1]);
    const bool is_async = call.find("Async") != call.npos || call.find("Graph") != call.npos;
    const auto* memory = std::get_if<std::string>(&copies.key[2]);
    if (is_async && memory != nullptr && memory->find("Pageable") != memory->npos) {
      pageable_async += copies.time.calls;
    }
    table.add_row({copies.name(), call, is_async ? "async" : "sync", copies.key[2],
                   copies.time.calls, copies.bytes, copies.time.total_ns,
                   rate(copies.bytes, copies.sized_ns)});
  }
  return section;
}

Result<report::Report> run(const trace::Trace& trace, const Parameters&) {
  report::Report report = begin_report("copies", trace);
  const OpGroups directions =
      group_ops(trace, {"type"}, ops_where(trace, [&](size_t op) { return is_copy(trace, op); }));
  report.sections.push_back(copies_section(directions));
  report.sections.push_back(sizes_section(trace, directions));
  int64_t pageable_async = 0;
  if (!directions.groups.empty()) report.sections.push_back(calls_section(trace, pageable_async));
  if (pageable_async != 0) {
    report.notes.push_back(
        format_count(static_cast<uint64_t>(pageable_async)) +
        " asynchronous copies are from or to pageable memory: the call waits for them, and they "
        "are slower than with pinned memory");
  }
  return report;
}

constexpr const char* kDefinition =
    "copies: one row for each type of operation that moves or sets memory: Copy* by direction, "
    "FillBuffer, maps and migrations. Calls and Total cover all of them; With size counts those "
    "whose size the file has. Bytes is the sum of these sizes and GB/s is Bytes / their time, "
    "with 1 GB = 1,000,000,000 bytes: the mean rate while such a copy ran, in which a large copy "
    "weighs more than a small one. Copies that ran at the same time share the link but each count "
    "with their whole duration. With --from or --to a copy that is cut by the window keeps its "
    "whole size and has only the part of its time inside, so rates at the edges are too high.\n\n"
    "By call says which call made the copies: Mode is sync unless the call's name has Async or "
    "Graph in it, and Memory is the memory on both sides where the file says (pageable, pinned, "
    "device).\n\n"
    "By size sorts the copies of known size into classes that begin at 0, 1 KiB, 4 KiB, 16 KiB "
    "and so on. In files of RPD the size belongs to the API call; a call that made several "
    "operations (a graph launch) does not give the size of each, and these count as unknown.\n";

}  // namespace

Analysis copies_analysis() {
  return {
      "copies",
      "Show what was copied, how fast, and in what sizes",
      "Shows copies, fills, maps and migrations by direction, with bytes and rates, and then by "
      "size: many small copies are slower than a few large ones.",
      kDefinition,
      {{"sonde copies trace.rpd", "by direction and by size"},
       {"sonde copies trace.rpd --gpu 1 --format json", "of one GPU, for a script"}},
      {},
      [](const Parameters&) {
        return trace::Request{.ops = true, .op_bytes = true, .links = true, .all_apis = true};
      },
      run,
      true};
}

}  // namespace sonde::analysis
