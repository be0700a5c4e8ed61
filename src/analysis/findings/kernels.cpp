#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/rules.h"
#include "analysis/operations/op_groups.h"
#include "analysis/perf/roofline.h"
#include "analysis/perf/work.h"
#include "base/strings.h"

namespace sonde::analysis {
namespace {

using trace::Category;
using trace::kNone;

constexpr Rule kKernelRule = {
    "one-kernel", "One kernel takes at least a quarter of all kernels' time",
    "Start with this kernel: its algorithm, its library, its precision, its shapes. sonde kernels "
    "shows how its durations vary, sonde operators what calls it.",
    "the time of the kernel with the largest total, if it has a quarter of the time of all kernels "
    "that compute, without what runs beside other work",
    "half of the kernel's time, as if it were twice as fast, and at most what runs alone"};
// The same where a file has whole graphs in place of their kernels.
constexpr Rule kGraphRule = {
    kKernelRule.id,
    "One CUDA graph takes a good part of the time, and its kernels were not recorded",
    "Record with nsys profile --cuda-graph-trace=node, which lists the kernels of graphs at some "
    "cost, and ask again.",
    kKernelRule.definition, kKernelRule.saving};
constexpr Rule kFloatRule = {
    "float32-products",
    "Matrix products run in float32, without tensor cores",
    "If the accuracy allows it, use torch.set_float32_matmul_precision('high') (TF32, from Ampere "
    "on), or autocast to bfloat16 or float16. sonde kernels --kernel sgemm lists them.",
    "the time of kernels of cuBLAS and CUTLASS whose name has sgemm, but not tensorop, tf32 or a "
    "shape of a tensor core instruction",
    "half of it, as if they were twice as fast",
    true};
// The same for GPUs whose tensor cores support float16 only, such as Volta.
constexpr Rule kFloatRuleOfFloat16 = {
    kFloatRule.id,
    kFloatRule.title,
    "If the accuracy allows it, autocast to float16, with a GradScaler: the tensor cores of this "
    "GPU support neither TF32 nor bfloat16. sonde kernels --kernel sgemm lists them.",
    kFloatRule.definition,
    kFloatRule.saving,
    true};
constexpr Rule kRooflineRule = {
    "below-roofline",
    "Operators take much longer than the GPU's peaks allow",
    "Try larger or rounder shapes (multiples of 64), another memory format (channels_last), a "
    "lower precision, another library or torch.compile with max-autotune for these shapes. sonde "
    "perf shows each shape against the roofline.",
    "the time of kernels of operators whose sizes are recorded, if they reach less than half of "
    "the roofline of sonde perf and a kernel takes 10 us or longer on average",
    "the time beyond twice the roofline",
    true};

constexpr double kOneKernelPercentage = 25;
constexpr double kGainOfKernel = 0.5;
constexpr double kAttainable = 0.5;         // of the roofline
constexpr int64_t kShortKernelNs = 10'000;  // below it the time is that of launching, not of work

// cuBLAS: volta_sgemm_128x64_nn; CUTLASS: cutlass_80_simt_sgemm_... Names of kernels that use
// tensor cores say so: tensorop, tf32, or the shape of the instruction, as in s1688gemm and
// s16816gemm.
bool is_float_product(std::string_view name) {
  const bool is_sgemm = name.find("_sgemm_") != name.npos || name.find("simt_sgemm") != name.npos;
  return is_sgemm && name.find("tensorop") == name.npos && name.find("tf32") == name.npos &&
         name.find("1688") == name.npos && name.find("16816") == name.npos;
}

// When kernels ran that `wanted` takes.
template <typename Wanted>
Lanes times_of(const trace::Trace& trace, Wanted wanted) {
  Lanes lanes;
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    if (wanted(op))
      extend(lanes[trace.ops.gpu[op]], {trace.ops.start_ns[op], trace.ops.end_ns[op]});
  }
  return lanes;
}

// What of it ran while nothing else did: beside other work it may be hidden, and no time would be
// saved.
Lanes alone(const trace::Trace& trace, Lanes lanes, const auto& is_it) {
  const Lanes others = times_of(trace, [&](size_t op) { return !is_it(op); });
  for (auto& [gpu, set] : lanes) {
    const auto other = others.find(gpu);
    if (other != others.end()) set = trace::subtract(set, other->second);
  }
  return lanes;
}

bool is_compute(const trace::Trace& trace, size_t op) {
  return trace.ops.category[op] == Category::kCompute;
}

void add_largest_kernel(const trace::Trace& trace, const OpGroups& kernels, Claims& claims) {
  if (kernels.groups.empty()) return;
  const OpGroup& first = kernels.groups.front();
  const double share = 100.0 * static_cast<double>(first.time.total_ns) /
                       static_cast<double>(std::max<int64_t>(1, kernels.total_ns()));
  if (share < kOneKernelPercentage) return;
  const std::string& name = first.name();
  const auto is_it = [&](size_t op) {
    return is_compute(trace, op) && trace.names[trace.label(op)] == name;
  };
  Lanes lanes = times_of(trace, is_it);
  const double gain = kGainOfKernel * static_cast<double>(length_ns(lanes));
  lanes = alone(trace, std::move(lanes), is_it);
  const auto alone_ns = static_cast<double>(std::max<int64_t>(1, length_ns(lanes)));
  claims.push_back(
      {name.starts_with("CUDA graph ") ? &kGraphRule : &kKernelRule, std::move(lanes),
       std::min(1.0, gain / alone_ns),
       fmt::format("{}: {} call{}, {}, {:.1f} % of all kernels' time", short_name_of(name),
                   first.time.calls, first.time.calls == 1 ? "" : "s",
                   time_text(first.time.total_ns), share)});
}

// Chosen by what the GPU's tensor cores support.
const Rule& float_rule_of(const trace::Trace& trace, int64_t gpu) {
  const auto peaks = gpu_peaks("");
  const GpuPeak* peak = peaks.ok() ? peak_of(*peaks, trace, gpu) : nullptr;
  const bool has_float16 = peak != nullptr && peak->compute(Precision::kFp16, true).has_value();
  return has_float16 && !peak->compute(Precision::kBf16, true) ? kFloatRuleOfFloat16 : kFloatRule;
}

void add_float_products(const trace::Trace& trace, const OpGroups& kernels, Claims& claims) {
  const OpGroup* largest = nullptr;
  int64_t calls = 0, total_ns = 0;
  for (const OpGroup& kernel : kernels.groups) {
    if (!is_float_product(kernel.name())) continue;
    if (largest == nullptr) largest = &kernel;
    calls += kernel.time.calls;
    total_ns += kernel.time.total_ns;
  }
  if (largest == nullptr) return;
  std::vector<signed char> known(trace.names.size(), -1);
  const auto is_product = [&](size_t op) {
    signed char& is = known[trace.label(op)];
    if (is < 0) is = is_float_product(trace.names[trace.label(op)]) ? 1 : 0;
    return is == 1 && is_compute(trace, op);
  };
  Lanes lanes = times_of(trace, is_product);
  const Rule& rule = float_rule_of(trace, lanes.begin()->first);
  claims.push_back(
      {&rule, std::move(lanes), kGainOfKernel,
       fmt::format("{} products, {}, most of it in {}", format_count(static_cast<uint64_t>(calls)),
                   time_text(total_ns), short_name_of(largest->name()))});
}

// An operator with one shape that is far from the roofline, or one call that is not.
struct Slow {
  double gpu_ns = 0, bound_ns = 0, kernels = 0;
  trace::Row api = kNone;
  std::string shape;
  bool is_far() const {
    return bound_ns < kAttainable * gpu_ns &&
           gpu_ns >= kernels * static_cast<double>(kShortKernelNs);
  }
};

void add_roofline(const Evidence& evidence, Claims& claims) {
  const trace::Trace& trace = evidence.trace;
  const auto peaks = gpu_peaks("");
  const ModelledWork work = modelled_work(trace);
  if (!peaks.ok() || work.calls.empty()) return;
  using Key = std::tuple<trace::NameId, std::string, int64_t>;
  const auto key_of = [&](const ModelledCall& call) {
    return Key{trace.apis.label[static_cast<size_t>(call.api)], call.work.shape, call.gpu};
  };
  std::map<Key, Slow> by_shape;
  for (const ModelledCall& call : work.calls) {
    const GpuPeak* peak = peak_of(*peaks, trace, call.gpu);
    const auto bound = bound_of({"", call.model, peak, call.work, 1, call.kernels, call.gpu_ns});
    if (!bound) continue;
    Slow& slow = by_shape[key_of(call)];
    slow.gpu_ns += static_cast<double>(call.gpu_ns);
    slow.bound_ns += bound->ns;
    slow.kernels += static_cast<double>(call.kernels);
    slow.api = call.api;
    slow.shape = call.work.shape;
  }
  const auto is_far = [&](size_t op) {
    if (work.call_of_op[op] == kNone) return false;
    const auto found = by_shape.find(key_of(work.calls[static_cast<size_t>(work.call_of_op[op])]));
    return found != by_shape.end() && found->second.is_far();
  };
  const Slow* worst = nullptr;
  double gpu_ns = 0, saved_ns = 0;
  const auto gain = [](const Slow& one) { return one.gpu_ns - one.bound_ns / kAttainable; };
  for (const auto& [key, slow] : by_shape) {
    if (!slow.is_far()) continue;
    gpu_ns += slow.gpu_ns;
    saved_ns += gain(slow);
    if (worst == nullptr || gain(slow) > gain(*worst)) worst = &slow;
  }
  if (worst == nullptr) return;
  claims.push_back(
      {&kRooflineRule, times_of(trace, is_far), saved_ns / gpu_ns,
       fmt::format(
           "{} in operators that reach less than half of the roofline, most in {} {}: {:.1f} % of "
           "it in {}",
           time_text(static_cast<int64_t>(gpu_ns)),
           trace.names[trace.apis.label[static_cast<size_t>(worst->api)]], worst->shape,
           100 * worst->bound_ns / worst->gpu_ns, time_text(static_cast<int64_t>(worst->gpu_ns)))});
}

}  // namespace

std::vector<const Rule*> kernel_rules() { return {&kKernelRule, &kFloatRule, &kRooflineRule}; }

void add_kernel_claims(const Evidence& evidence, Claims& claims) {
  const trace::Trace& trace = evidence.trace;
  const OpGroups kernels = group_ops(
      trace, {"name"}, ops_where(trace, [&](size_t op) { return is_compute(trace, op); }));
  add_largest_kernel(trace, kernels, claims);
  add_float_products(trace, kernels, claims);
  add_roofline(evidence, claims);
}

}  // namespace sonde::analysis
