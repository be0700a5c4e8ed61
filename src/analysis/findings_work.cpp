#include <fmt/format.h>

#include <algorithm>

#include "analysis/collectives.h"
#include "analysis/findings_rules.h"
#include "analysis/op_groups.h"
#include "base/strings.h"

namespace sonde::analysis {
namespace {

using trace::Category;
using trace::IntervalSet;

constexpr Rule kCommunicationRule = {
    "exposed-communication", "Communication runs while no kernel computes",
    "Overlap it with computation: buckets of gradients, prefetch of shards, another stream. sonde "
    "overlap shows how much is hidden, sonde collectives who was late.",
    "Exposed comm of sonde breakdown"};
constexpr Rule kCopyRule = {
    "exposed-copies", "Copies run while no kernel computes",
    "Copy from pinned memory, asynchronously and in another stream; keep on the GPU what is used "
    "again. sonde copies shows which copies, and how fast.",
    "Exposed copy and Exposed memset of sonde breakdown"};
constexpr Rule kSmallCopiesRule = {
    "small-copies", "Many small copies run while no kernel computes",
    "Put what belongs together into one buffer and copy it once; keep counters and flags on the "
    "GPU. sonde copies shows the sizes.",
    "the exposed time of copies of less than 64 KiB, if there are a hundred or more"};
constexpr Rule kPageableRule = {
    "pageable-copies", "Copies from or to pageable memory run while no kernel computes",
    "Pin the host's memory (pin_memory=True, hipHostMalloc): such copies are faster, and only they "
    "are asynchronous. sonde copies shows the rates.",
    "the exposed time of copies whose name says that a side is pageable"};
constexpr Rule kKernelRule = {
    "one-kernel", "One kernel takes most of the time",
    "Begin with this kernel: its algorithm, its library, its precision, its shapes. sonde kernels "
    "shows how its times spread, sonde operators who calls it.",
    "the time of the kernel with the largest total, if it has a quarter of the time of all kernels "
    "that compute"};
constexpr Rule kFloatRule = {
    "float32-products", "Matrix products run in float32, without tensor cores",
    "Where the accuracy allows it: torch.set_float32_matmul_precision('high') (TF32, from Ampere "
    "on), or autocast to bfloat16 or float16. sonde kernels --kernel sgemm lists them.",
    "the time of kernels of cuBLAS and CUTLASS whose name says sgemm and not tensorop, tf32 or a "
    "shape of an instruction of tensor cores"};
constexpr Rule kStragglerRule = {
    "straggler", "Ranks wait in collectives for one that comes late",
    "Look at what the late rank does before: its share of the data, its host, its clocks. sonde "
    "ranks compares them, sonde collectives shows who waited for whom.",
    "what ranks waited in collectives for the one that came last, if it was one rank in most of "
    "them, and longer than the clocks are apart"};

constexpr double kOneKernelPercentage = 25;
constexpr int64_t kSmallBytes = 64 << 10;
constexpr int64_t kManyCopies = 100;
constexpr double kMostOfThem = 0.6;

int64_t of_category(const Evidence& evidence, Category category) {
  return evidence.all.exposed_ns[static_cast<size_t>(category)];
}

void add_communication(const Evidence& evidence, Findings& findings) {
  const int64_t exposed_ns = of_category(evidence, Category::kCommunication);
  int64_t whole_ns = 0;
  for (const auto& [id, gpu] : evidence.gpus) {
    whole_ns += trace::length_ns(gpu.sets[static_cast<size_t>(Category::kCommunication)]);
  }
  if (whole_ns == 0) return;
  const double hidden =
      100 - 100.0 * static_cast<double>(exposed_ns) / static_cast<double>(whole_ns);
  findings.push_back(make_finding(
      kCommunicationRule, exposed_ns, evidence.all.total_ns,
      fmt::format("{} of {} of communication are not hidden behind computation ({:.1f} % are)",
                  time_text(exposed_ns), time_text(whole_ns), hidden)));
}

// Of the copies that `wanted` takes: how many, and for how long no kernel ran beside them.
struct Exposed {
  int64_t copies = 0, bytes = 0, time_ns = 0;
};

template <typename Wanted>
Exposed exposed_copies(const Evidence& evidence, Wanted wanted) {
  const trace::Trace& trace = evidence.trace;
  Exposed found;
  std::map<int32_t, IntervalSet> sets;
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    if (!trace::moves_memory(trace.class_of(i)) || !wanted(i)) continue;
    ++found.copies;
    found.bytes += std::max<int64_t>(0, trace.ops.bytes[i]);
    extend(sets[trace.ops.gpu[i]], {trace.ops.start_ns[i], trace.ops.end_ns[i]});
  }
  for (const auto& [id, set] : sets) {
    const auto& own = evidence.gpus.at(id).sets;
    const IntervalSet kernels = trace::unite(own[static_cast<size_t>(Category::kCompute)],
                                             own[static_cast<size_t>(Category::kCommunication)]);
    found.time_ns += trace::length_ns(trace::subtract(set, kernels));
  }
  return found;
}

void add_copies(const Evidence& evidence, Findings& findings) {
  const trace::Trace& trace = evidence.trace;
  const int64_t exposed_ns =
      of_category(evidence, Category::kCopy) + of_category(evidence, Category::kMemset);
  findings.push_back(make_finding(kCopyRule, exposed_ns, evidence.all.total_ns,
                                  time_text(exposed_ns) + " of copies and memsets are not hidden"));
  const Exposed small = exposed_copies(evidence, [&](size_t op) {
    return trace.ops.bytes[op] >= 0 && trace.ops.bytes[op] < kSmallBytes;
  });
  if (small.copies >= kManyCopies) {
    findings.push_back(
        make_finding(kSmallCopiesRule, small.time_ns, evidence.all.total_ns,
                     fmt::format("{} copies of {} on average, {} of their time is not hidden",
                                 format_count(static_cast<uint64_t>(small.copies)),
                                 format_size(static_cast<uint64_t>(small.bytes / small.copies)),
                                 time_text(small.time_ns))));
  }
  const Exposed pageable = exposed_copies(evidence, [&](size_t op) {
    return trace.names[trace.ops.name[op]].find("Pageable") != std::string::npos;
  });
  if (pageable.copies == 0) return;
  findings.push_back(make_finding(kPageableRule, pageable.time_ns, evidence.all.total_ns,
                                  fmt::format("{} copies, {}, {} of their time is not hidden",
                                              format_count(static_cast<uint64_t>(pageable.copies)),
                                              format_size(static_cast<uint64_t>(pageable.bytes)),
                                              time_text(pageable.time_ns))));
}

// cuBLAS: volta_sgemm_128x64_nn; CUTLASS: cutlass_80_simt_sgemm_... Names of kernels that use
// tensor cores say so: tensorop, tf32, or the shape of the instruction, as in s1688gemm and
// s16816gemm.
bool is_float_product(std::string_view name) {
  const bool is_sgemm = name.find("_sgemm_") != name.npos || name.find("simt_sgemm") != name.npos;
  return is_sgemm && name.find("tensorop") == name.npos && name.find("tf32") == name.npos &&
         name.find("1688") == name.npos && name.find("16816") == name.npos;
}

void add_kernels(const Evidence& evidence, Findings& findings) {
  const trace::Trace& trace = evidence.trace;
  const OpGroups kernels = group_ops(trace, {"name"}, ops_where(trace, [&](size_t op) {
                                       return trace.ops.category[op] == Category::kCompute;
                                     }));
  if (kernels.groups.empty()) return;
  const OpGroup& first = kernels.groups.front();
  const double share = 100.0 * static_cast<double>(first.time.total_ns) /
                       static_cast<double>(std::max<int64_t>(1, kernels.total_ns()));
  if (share >= kOneKernelPercentage) {
    findings.push_back(make_finding(
        kKernelRule, first.time.total_ns, evidence.all.total_ns,
        fmt::format("{}: {} call{}, {}, {:.1f} % of all kernels' time", short_name_of(first.name()),
                    first.time.calls, first.time.calls == 1 ? "" : "s",
                    time_text(first.time.total_ns), share)));
  }
  const OpGroup* largest = nullptr;
  int64_t calls = 0, total_ns = 0;
  for (const OpGroup& kernel : kernels.groups) {
    if (!is_float_product(kernel.name())) continue;
    if (largest == nullptr) largest = &kernel;
    calls += kernel.time.calls;
    total_ns += kernel.time.total_ns;
  }
  if (largest == nullptr) return;
  findings.push_back(make_finding(
      kFloatRule, total_ns, evidence.all.total_ns,
      fmt::format("{} products, {}, most of it in {}", format_count(static_cast<uint64_t>(calls)),
                  time_text(total_ns), short_name_of(largest->name()))));
}

void add_straggler(const Evidence& evidence, Findings& findings) {
  const std::span<const trace::Trace> traces(&evidence.trace, 1);
  const Collectives all = find_collectives(traces);
  if (all.members.size() < 2) return;
  const Matched matched = match_collectives(all);
  std::vector<int64_t> times_last(all.members.size(), 0);
  int64_t waited_ns = 0, waits = 0, instances = 0;
  for (const Instance& instance : matched.instances) {
    if (instance.parts.size() < 2) continue;
    ++instances;
    ++times_last[instance.last];
    int64_t last_ns = std::numeric_limits<int64_t>::min();
    const auto start_of = [&](size_t part) {
      return all.list[part].start_ns - matched.offset_ns[all.list[part].member];
    };
    for (const size_t part : instance.parts) last_ns = std::max(last_ns, start_of(part));
    for (const size_t part : instance.parts) waited_ns += last_ns - start_of(part);
    waits += static_cast<int64_t>(instance.parts.size()) - 1;
  }
  if (instances == 0 || waited_ns <= waits * matched.residual_ns) return;
  const auto most = std::max_element(times_last.begin(), times_last.end());
  if (static_cast<double>(*most) < kMostOfThem * static_cast<double>(instances)) return;
  const Member& late = all.members[static_cast<size_t>(most - times_last.begin())];
  findings.push_back(make_finding(
      kStragglerRule, waited_ns, evidence.all.total_ns,
      fmt::format("rank {} came last in {} of {} collectives; the others waited {}, {} each time",
                  late.rank, *most, instances, time_text(waited_ns),
                  time_text(waited_ns / waits))));
}

}  // namespace

std::vector<const Rule*> work_rules() {
  return {&kCommunicationRule, &kCopyRule,  &kSmallCopiesRule, &kPageableRule,
          &kKernelRule,        &kFloatRule, &kStragglerRule};
}

void add_work_findings(const Evidence& evidence, Findings& findings) {
  add_communication(evidence, findings);
  add_copies(evidence, findings);
  add_kernels(evidence, findings);
  add_straggler(evidence, findings);
}

}  // namespace sonde::analysis
