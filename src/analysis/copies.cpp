#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "analysis/analysis.h"
#include "analysis/totals.h"
#include "base/strings.h"

namespace sonde::analysis {
namespace {

using report::Kind;

struct Direction {
  Total time;
  int64_t sized_calls = 0;  // copies whose size is known
  int64_t bytes = 0;        // theirs
  int64_t sized_ns = 0;     // theirs
};

// Size classes are powers of four from 1 KiB on: [0, 1 KiB), [1 KiB, 4 KiB), ...
constexpr size_t kClasses = 16;

size_t class_of_size(int64_t bytes) {
  if (bytes < 1024) return 0;
  const auto bits = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(bytes)) - 1);  // >= 10
  return std::min(kClasses - 1, (bits - 10) / 2 + 1);
}

int64_t lower_bound_of(size_t size_class) {
  return size_class == 0 ? 0 : int64_t{1024} << (2 * (size_class - 1));
}

struct Sizes {
  int64_t calls = 0, bytes = 0, total_ns = 0;
};

struct Measured {
  std::vector<Direction> directions;                 // by NameId of the type
  std::vector<std::array<Sizes, kClasses>> by_size;  // the same
};

Measured measure(const trace::Trace& trace) {
  Measured measured;
  measured.directions.resize(trace.names.size());
  measured.by_size.resize(trace.names.size());
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    if (!trace::moves_memory(trace.class_of(i))) continue;
    const trace::NameId type = trace.ops.type[i];
    Direction& direction = measured.directions[type];
    direction.time.name = type;
    direction.time.add(trace.op_ns(i));
    if (trace.ops.bytes[i] < 0) continue;
    ++direction.sized_calls;
    direction.bytes += trace.ops.bytes[i];
    direction.sized_ns += trace.op_ns(i);
    Sizes& sizes = measured.by_size[type][class_of_size(trace.ops.bytes[i])];
    ++sizes.calls;
    sizes.bytes += trace.ops.bytes[i];
    sizes.total_ns += trace.op_ns(i);
  }
  return measured;
}

// SI gigabytes a second: bytes / ns.
report::Value rate(int64_t bytes, int64_t ns) {
  if (ns == 0) return std::monostate{};
  return static_cast<double>(bytes) / static_cast<double>(ns);
}

report::Section copies_section(const trace::Trace& trace, const Measured& measured,
                               const std::vector<Total>& order) {
  report::Section section;
  section.key = "copies";
  section.empty_text = "No copies.";
  section.table.add_column({"direction", "Direction", Kind::kText});
  section.table.add_column({"calls", "Calls", Kind::kInteger});
  section.table.add_column({"total_ns", "Total", Kind::kTime, 0, true});
  section.table.add_column({"mean_ns", "Mean", Kind::kTime, 0, true});
  section.table.add_column({"sized_calls", "With size", Kind::kInteger});
  section.table.add_column({"moved_bytes", "Bytes", Kind::kBytes});
  section.table.add_column({"gb_per_s", "GB/s", Kind::kReal, 3});
  for (const Total& total : order) {
    const Direction& direction = measured.directions[total.name];
    const bool sized = direction.sized_calls != 0;
    section.table.add_row({trace.names[total.name], total.calls, total.total_ns, total.mean_ns(),
                           direction.sized_calls,
                           sized ? report::Value(direction.bytes) : report::Value(),
                           sized ? rate(direction.bytes, direction.sized_ns) : report::Value()});
  }
  return section;
}

report::Section sizes_section(const trace::Trace& trace, const Measured& measured,
                              const std::vector<Total>& order) {
  report::Section section;
  section.key = "sizes";
  section.title = "By size";
  section.empty_text = "The file does not say how large the copies are.";
  section.table.add_column({"direction", "Direction", Kind::kText});
  section.table.add_column({"from_bytes", "From", Kind::kBytes});
  section.table.add_column({"below_bytes", "Below", Kind::kBytes});
  section.table.add_column({"calls", "Calls", Kind::kInteger});
  section.table.add_column({"moved_bytes", "Bytes", Kind::kBytes});
  section.table.add_column({"total_ns", "Total", Kind::kTime, 0, true});
  section.table.add_column({"gb_per_s", "GB/s", Kind::kReal, 3});
  for (const Total& total : order) {
    for (size_t c = 0; c < kClasses; ++c) {
      const Sizes& sizes = measured.by_size[total.name][c];
      if (sizes.calls == 0) continue;
      const bool open = c + 1 == kClasses;
      section.table.add_row({trace.names[total.name], lower_bound_of(c),
                             open ? report::Value() : report::Value(lower_bound_of(c + 1)),
                             sizes.calls, sizes.bytes, sizes.total_ns,
                             rate(sizes.bytes, sizes.total_ns)});
    }
  }
  return section;
}

// "Memcpy DtoH (Device -> Pageable)": what Kineto says of the memory on both sides.
std::string memory_of(const std::string& name) {
  const size_t begin = name.find('(');
  const size_t end = name.rfind(')');
  const bool is_pair =
      begin != name.npos && end != name.npos && begin < end && name.find("->", begin) < end;
  return is_pair ? name.substr(begin + 1, end - begin - 1) : std::string();
}

struct Transfer {
  Total time;
  int64_t bytes = 0, sized_ns = 0;
};

// Copies by the call that made them and the memory on both sides.
report::Section calls_section(const trace::Trace& trace, int64_t& pageable_async) {
  report::Section section;
  section.key = "calls";
  section.title = "By call";
  section.empty_text = "The file does not say which calls made the copies.";
  report::Table& table = section.table;
  table.add_column({"direction", "Direction", Kind::kText});
  table.add_column({"call", "Call", Kind::kText});
  table.add_column({"mode", "Mode", Kind::kText});
  table.add_column({"memory", "Memory", Kind::kText});
  table.add_column({"calls", "Calls", Kind::kInteger});
  table.add_column({"moved_bytes", "Bytes", Kind::kBytes});
  table.add_column({"total_ns", "Total", Kind::kTime, 0, true});
  table.add_column({"gb_per_s", "GB/s", Kind::kReal, 3});
  std::map<std::array<std::string, 4>, Transfer> transfers;
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    const trace::Row api = trace.ops.api[i];
    if (!trace::moves_memory(trace.class_of(i)) || api == trace::kNone) continue;
    const std::string& call = trace.names[trace.apis.name[static_cast<size_t>(api)]];
    const bool is_async = call.find("Async") != call.npos || call.find("Graph") != call.npos;
    const std::string memory = memory_of(trace.names[trace.ops.name[i]]);
    if (is_async && memory.find("Pageable") != memory.npos) ++pageable_async;
    Transfer& transfer =
        transfers[{trace.names[trace.ops.type[i]], call, is_async ? "async" : "sync", memory}];
    transfer.time.add(trace.op_ns(i));
    if (trace.ops.bytes[i] < 0) continue;
    transfer.bytes += trace.ops.bytes[i];
    transfer.sized_ns += trace.op_ns(i);
  }
  std::vector<std::pair<std::array<std::string, 4>, Transfer>> order(transfers.begin(),
                                                                     transfers.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.time.total_ns > b.second.time.total_ns;
  });
  for (const auto& [key, transfer] : order) {
    table.add_row({key[0], key[1], key[2], key[3].empty() ? report::Value() : key[3],
                   transfer.time.calls, transfer.bytes, transfer.time.total_ns,
                   rate(transfer.bytes, transfer.sized_ns)});
  }
  return section;
}

Result<report::Report> run(const trace::Trace& trace, const Parameters&) {
  report::Report report = begin_report("copies", trace);
  const Measured measured = measure(trace);
  std::vector<Total> order;
  for (const Direction& direction : measured.directions) {
    if (direction.time.calls != 0) order.push_back(direction.time);
  }
  sort_totals(order, trace.names);
  report.sections.push_back(copies_section(trace, measured, order));
  report.sections.push_back(sizes_section(trace, measured, order));
  int64_t pageable_async = 0;
  if (!order.empty()) report.sections.push_back(calls_section(trace, pageable_async));
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
    "FillBuffer, maps and migrations. Calls and Total are of all of them; With size counts those "
    "whose size the file holds. Bytes is the sum of these sizes and GB/s is Bytes / their time, "
    "with 1 GB = 1,000,000,000 bytes: the mean rate while such a copy ran, in which a large copy "
    "weighs more than a small one. Copies that ran at the same time share the link but each count "
    "with their whole duration. With --from or --to a copy that is cut by the window keeps its "
    "whole size and has only the part of its time inside, so rates at the edges are too high.\n"
    "\n"
    "By call tells which call made the copies: Mode is sync unless the call's name has Async or "
    "Graph in it, and Memory is the memory on both sides where the file says (pageable, pinned, "
    "device).\n"
    "\n"
    "By size sorts the copies of known size into classes that begin at 0, 1 KiB, 4 KiB, 16 KiB and "
    "so on. In files of RPD the size belongs to the API call; a call that made several operations "
    "(a graph launch) does not tell the size of each, and these count as unknown.\n";

}  // namespace

const Analysis& copies_analysis() {
  static const Analysis kAnalysis{
      "copies",
      "Show what was copied, how fast, and in pieces of which size",
      "Copies, fills, maps and migrations by direction, with bytes and rates, and then by size: "
      "many small copies are slower than a few large ones.",
      kDefinition,
      {{"sonde copies trace.rpd", "by direction and by size"},
       {"sonde copies trace.rpd --gpu 1 --format json", "of one GPU, for a script"}},
      {},
      [](const Parameters&) {
        return trace::Request{.ops = true, .op_bytes = true, .links = true, .all_apis = true};
      },
      run,
      true};
  return kAnalysis;
}

}  // namespace sonde::analysis
