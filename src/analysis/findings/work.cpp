#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/rules.h"
#include "base/strings.h"
#include "trace/steps.h"

namespace sonde::analysis {
namespace {

using trace::Category;
using trace::IntervalSet;

constexpr const char* kHidden =
    "as much of it as there is computation with nothing else running, in each step where steps are known";

constexpr Rule kCommunicationRule = {
    "exposed-communication", "Communication runs while no kernel computes",
    "Overlap it with computation: gradient buckets, prefetch of shards, another stream. sonde "
    "overlap shows how much is hidden, sonde collectives which ranks were late.",
    "Exposed comm of sonde breakdown", kHidden};
constexpr Rule kCopyRule = {
    "exposed-copies", "Copies run while no kernel computes",
    "Copy asynchronously and in another stream, with pinned memory on the host; keep data that is "
    "used again on the GPU. sonde copies shows which copies, and how fast.",
    "Exposed copy and Exposed memset of sonde breakdown", kHidden};
constexpr Rule kSmallCopiesRule = {
    "small-copies",
    "Many small copies run while no kernel computes",
    "Put what belongs together into one buffer and copy it once; keep counters and flags on the "
    "GPU. sonde copies shows the sizes.",
    "the exposed time of copies of less than 64 KiB, if there are a hundred or more",
    "all of it",
    true};
constexpr Rule kPageableRule = {
    "pageable-copies",
    "Copies from or to pageable memory run while no kernel computes",
    "Pin the host memory (pin_memory=True, hipHostMalloc): such copies are faster, and only they "
    "are asynchronous. sonde copies shows the rates.",
    "the exposed time of copies whose name says that one side is pageable memory",
    "half of it: pinned memory is about twice as fast",
    true};
constexpr Rule kDeviceCopiesRule = {
    "device-copies",
    "Copies within the GPU run while no kernel computes",
    "Let the operators work in place or on views: .contiguous(), torch.cat, clone() and "
    "assignments to slices copy; a fused kernel or torch.compile removes such copies. Pinned "
    "memory does not matter here. sonde copies shows the rates, sonde operators what copies.",
    "the exposed time of copies within one device",
    "all of it",
    true};

constexpr Rule kPeerCopiesRule = {
    "peer-copies",
    "Copies between GPUs run while no kernel computes",
    "Copy in another stream, and in parts, so that the other GPU can begin with the first; send each "
    "tensor once. Where the GPUs have no direct link (XGMI, NVLink), or access of peers is not "
    "enabled (hipDeviceEnablePeerAccess), such copies go through the host. sonde copies shows the "
    "rates.",
    "the exposed time of copies between two devices",
    kHidden,
    true};

constexpr int64_t kSmallBytes = 64 << 10;
constexpr int64_t kManyCopies = 100;
constexpr double kGainOfPinning = 0.5;

Lanes without_kernels(const Evidence& evidence, Lanes lanes) {
  std::erase_if(lanes, [&](const auto& lane) { return !evidence.gpus.contains(lane.first); });
  for (auto& [id, set] : lanes) {
    set = trace::subtract(set, trace::unite(evidence.set_of(id, Category::kCompute),
                                            evidence.set_of(id, Category::kCommunication)));
  }
  return lanes;
}

// When the steps of a trace begin, those of the process with most: ranks of a job work on the same
// ones.
std::vector<int64_t> step_starts(const trace::Trace& trace) {
  const auto found = trace::find_steps(trace, "");
  std::map<int32_t, std::vector<int64_t>> starts;
  if (found.ok()) {
    for (const trace::Step& step : found->steps) {
      starts[step.process].push_back(step.time.start_ns);
    }
  }
  std::vector<int64_t> most;
  for (auto& [process, list] : starts) {
    if (list.size() > most.size()) most = std::move(list);
  }
  return most;
}

// How much of a normalised set lies before the first of these times, between each two of them, and
// behind the last.
std::vector<int64_t> lengths_between(const IntervalSet& set, std::span<const int64_t> times) {
  std::vector<int64_t> lengths(times.size() + 1, 0);
  size_t part = 0;
  for (trace::Interval rest : set) {
    while (part < times.size() && times[part] <= rest.start_ns) ++part;
    for (; part < times.size() && times[part] < rest.end_ns; ++part) {
      lengths[part] += times[part] - rest.start_ns;
      rest.start_ns = times[part];
    }
    lengths[part] += rest.end_ns - rest.start_ns;
  }
  return lengths;
}

// The share of exposed time that computation which runs alone in the same step could hide.
double part_to_hide(const Evidence& evidence, std::span<const int64_t> steps,
                    const Lanes& exposed) {
  int64_t hidden_ns = 0;
  for (const auto& [id, set] : exposed) {
    IntervalSet alone = evidence.set_of(id, Category::kCompute);
    for (const Category other : {Category::kCommunication, Category::kCopy, Category::kMemset}) {
      alone = trace::subtract(alone, evidence.set_of(id, other));
    }
    const std::vector<int64_t> hiding = lengths_between(alone, steps);
    const std::vector<int64_t> to_hide = lengths_between(set, steps);
    for (size_t i = 0; i < hiding.size(); ++i) hidden_ns += std::min(hiding[i], to_hide[i]);
  }
  const int64_t exposed_ns = length_ns(exposed);
  return exposed_ns == 0 ? 0 : static_cast<double>(hidden_ns) / static_cast<double>(exposed_ns);
}

// Whether work of a kind is what limits the time: it takes nearly all of it, alone or not.
bool fills(const Evidence& evidence, int64_t kind_ns) {
  constexpr double kNearlyAll = 0.8;
  return static_cast<double>(kind_ns) >= kNearlyAll * static_cast<double>(evidence.all.total_ns);
}
std::string fills_text(const Evidence& evidence, int64_t kind_ns, const char* kind) {
  if (!fills(evidence, kind_ns)) return "";
  return fmt::format(
      "; {} takes {:.1f} % of the time in all", kind,
      100.0 * static_cast<double>(kind_ns) / static_cast<double>(evidence.all.total_ns));
}

void add_communication(const Evidence& evidence, std::span<const int64_t> steps, Claims& claims) {
  Lanes exposed;
  int64_t whole_ns = 0;
  for (const auto& [id, gpu] : evidence.gpus) {
    const IntervalSet& set = evidence.set_of(id, Category::kCommunication);
    whole_ns += trace::length_ns(set);
    exposed[id] = trace::subtract(set, evidence.set_of(id, Category::kCompute));
  }
  if (whole_ns == 0) return;
  const int64_t exposed_ns = length_ns(exposed);
  const double hidden =
      100 - 100.0 * static_cast<double>(exposed_ns) / static_cast<double>(whole_ns);
  const double part = part_to_hide(evidence, steps, exposed);
  claims.push_back(
      {&kCommunicationRule, std::move(exposed), part,
       fmt::format("{} of {} of communication are not hidden behind computation ({:.1f} % are){}",
                   time_text(exposed_ns), time_text(whole_ns), hidden,
                   fills_text(evidence, whole_ns, "communication")),
       fills(evidence, whole_ns)});
}

// Copies and memsets that `wanted` accepts: how many, and when no kernel ran beside them.
struct Exposed {
  int64_t copies = 0, bytes = 0;
  Lanes lanes;
  std::string text() const {
    return fmt::format("{} copies, {}, {} of their time is not hidden",
                       format_count(static_cast<uint64_t>(copies)),
                       format_size(static_cast<uint64_t>(bytes)), time_text(length_ns(lanes)));
  }
};

bool is_copying(const trace::Trace& trace, size_t op) {
  return trace.ops.category[op] == Category::kCopy || trace.ops.category[op] == Category::kMemset;
}

template <typename Wanted>
Exposed exposed_copies(const Evidence& evidence, Wanted wanted) {
  const trace::Trace& trace = evidence.trace;
  Exposed found;
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    if (!is_copying(trace, i) || !wanted(i)) continue;
    ++found.copies;
    found.bytes += std::max<int64_t>(0, trace.ops.bytes[i]);
    extend(found.lanes[trace.ops.gpu[i]], {trace.ops.start_ns[i], trace.ops.end_ns[i]});
  }
  found.lanes = without_kernels(evidence, std::move(found.lanes));
  return found;
}

// AMD's runtime copies and fills by kernels of its own, too. What they copy from where is not
// known, and sonde copies does not have them.
std::string copy_kernels_text(const Evidence& evidence) {
  const trace::Trace& trace = evidence.trace;
  const Exposed kernels =
      exposed_copies(evidence, [&](size_t op) { return !trace::moves_memory(trace.class_of(op)); });
  if (kernels.copies == 0) return "";
  return fmt::format("; {} of it in {} kernel{} of the runtime, which sonde kernels shows",
                     time_text(length_ns(kernels.lanes)),
                     format_count(static_cast<uint64_t>(kernels.copies)),
                     kernels.copies == 1 ? "" : "s");
}

// A copy with both ends on devices, by the names that profilers and runtimes use.
bool is_of_devices(const trace::Trace& trace, size_t op) {
  for (const trace::NameId id : {trace.ops.name[op], trace.ops.type[op]}) {
    const std::string& name = trace.names[id];
    for (const char* word : {"DtoD", "PtoP", "DeviceToDevice"}) {
      if (name.find(word) != name.npos) return true;
    }
  }
  return false;
}

// As far as the file says: by the devices of both ends, or the name of the copy or of its call.
bool is_between_devices(const trace::Trace& trace, size_t op) {
  if (!is_of_devices(trace, op)) return false;
  if (trace.names[trace.ops.name[op]].find("PtoP") != std::string::npos) return true;
  const trace::Row row = trace.ops.api[op];
  if (row == trace::kNone) return false;
  const auto api = static_cast<size_t>(row);
  if (trace.names[trace.apis.name[api]].find("Peer") != std::string::npos) return true;
  return !trace.apis.between_gpus.empty() && trace.apis.between_gpus[api] != 0;
}

void add_copies(const Evidence& evidence, std::span<const int64_t> steps, Claims& claims) {
  const trace::Trace& trace = evidence.trace;
  Exposed all = exposed_copies(evidence, [](size_t) { return true; });
  if (all.copies == 0) return;
  const double part = part_to_hide(evidence, steps, all.lanes);
  int64_t whole_ns = 0;
  for (const auto& [id, gpu] : evidence.gpus) {
    whole_ns += trace::length_ns(
        trace::unite(evidence.set_of(id, Category::kCopy), evidence.set_of(id, Category::kMemset)));
  }
  std::string text = time_text(length_ns(all.lanes)) + " of copies and memsets are not hidden" +
                     copy_kernels_text(evidence) + fills_text(evidence, whole_ns, "copying");
  claims.push_back(
      {&kCopyRule, std::move(all.lanes), part, std::move(text), fills(evidence, whole_ns)});
  Exposed small = exposed_copies(evidence, [&](size_t op) {
    return trace::moves_memory(trace.class_of(op)) && trace.ops.bytes[op] >= 0 &&
           trace.ops.bytes[op] < kSmallBytes && !is_of_devices(trace, op);
  });
  if (small.copies >= kManyCopies) {
    text = fmt::format("{} copies of {} on average, {} of their time is not hidden",
                       format_count(static_cast<uint64_t>(small.copies)),
                       format_size(static_cast<uint64_t>(small.bytes / small.copies)),
                       time_text(length_ns(small.lanes)));
    claims.push_back({&kSmallCopiesRule, std::move(small.lanes), 1.0, std::move(text)});
  }
  Exposed pageable = exposed_copies(evidence, [&](size_t op) {
    return trace.names[trace.ops.name[op]].find("Pageable") != std::string::npos;
  });
  text = pageable.text();
  claims.push_back({&kPageableRule, std::move(pageable.lanes), kGainOfPinning, std::move(text)});
  Exposed between =
      exposed_copies(evidence, [&](size_t op) { return is_between_devices(trace, op); });
  text = between.text();
  const double part_of_peers = part_to_hide(evidence, steps, between.lanes);
  claims.push_back({&kPeerCopiesRule, std::move(between.lanes), part_of_peers, std::move(text)});
  Exposed within = exposed_copies(evidence, [&](size_t op) {
    return is_of_devices(trace, op) && !is_between_devices(trace, op);
  });
  text = within.text();
  claims.push_back({&kDeviceCopiesRule, std::move(within.lanes), 1.0, std::move(text)});
}

}  // namespace

std::vector<const Rule*> work_rules() {
  return {&kCommunicationRule, &kCopyRule,         &kSmallCopiesRule,
          &kPageableRule,      &kDeviceCopiesRule, &kPeerCopiesRule};
}

void add_work_claims(const Evidence& evidence, Claims& claims) {
  const std::vector<int64_t> steps = step_starts(evidence.trace);
  add_communication(evidence, steps, claims);
  add_copies(evidence, steps, claims);
}

}  // namespace sonde::analysis
