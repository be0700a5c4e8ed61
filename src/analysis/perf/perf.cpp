#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/analysis.h"
#include "analysis/perf/roofline.h"
#include "analysis/perf/work.h"
#include "analysis/totals.h"
#include "base/join.h"
#include "report/layout.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;

// The peaks of each GPU: those that --gpu-peak names, or the ones that are known of it.
class Peaks {
 public:
  static Result<Peaks> load(const trace::Trace& trace, const Parameters& parameters) {
    Peaks peaks;
    SONDE_ASSIGN(peaks.known_, gpu_peaks(parameters.text("peaks")));
    const std::string& named = parameters.text("gpu-peak");
    const auto is_named = [&](const GpuPeak& peak) { return peak.name == named; };
    if (!named.empty() && std::none_of(peaks.known_.begin(), peaks.known_.end(), is_named)) {
      return make_error(ErrorCode::kInvalidArgument, "no peaks known for '" + named + "'",
                        "--gpu-peak", "there are: " + join(peaks.known_, ", ", &GpuPeak::name));
    }
    for (const int64_t gpu : std::set<int64_t>(trace.ops.gpu.begin(), trace.ops.gpu.end())) {
      const auto device = std::find_if(trace.devices.begin(), trace.devices.end(),
                                       [&](const trace::Device& one) { return one.gpu == gpu; });
      const std::string name = device == trace.devices.end() ? std::string() : device->name;
      const GpuPeak* entry =
          named.empty() ? peak_of(peaks.known_, trace, gpu)
                        : &*std::find_if(peaks.known_.begin(), peaks.known_.end(), is_named);
      const std::ptrdiff_t none = std::ssize(peaks.known_);
      peaks.gpus_.push_back({gpu, name, entry == nullptr ? none : entry - peaks.known_.data()});
    }
    return peaks;
  }

  struct Gpu {
    int64_t id;
    std::string device;    // as the trace names it
    std::ptrdiff_t entry;  // of known_; its size if there is none
  };
  const std::vector<Gpu>& gpus() const { return gpus_; }

  const GpuPeak* of(int64_t gpu) const {
    for (const Gpu& one : gpus_) {
      if (one.id == gpu && one.entry < std::ssize(known_))
        return &known_[static_cast<size_t>(one.entry)];
    }
    return nullptr;
  }

 private:
  std::vector<GpuPeak> known_;
  std::vector<Gpu> gpus_;
};

std::vector<PerfRow> rows_of(const trace::Trace& trace, const ModelledWork& work,
                             const Peaks& peaks) {
  std::map<std::tuple<std::string, std::string, std::string, const GpuPeak*>, PerfRow> by_shape;
  for (const ModelledCall& call : work.calls) {
    const std::string& name = trace.names[trace.apis.label[static_cast<size_t>(call.api)]];
    const GpuPeak* peak = peaks.of(call.gpu);
    PerfRow& row = by_shape[{name, call.work.shape, call.work.type->name, peak}];
    row.name = name;
    row.model = call.model;
    row.peak = peak;
    row.each = call.work;
    ++row.calls;
    row.kernels += call.kernels;
    row.gpu_ns += call.gpu_ns;
  }
  std::vector<PerfRow> rows;
  for (auto& [key, row] : by_shape) rows.push_back(std::move(row));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const PerfRow& a, const PerfRow& b) { return a.gpu_ns > b.gpu_ns; });
  return rows;
}

Value known(std::optional<double> value) { return value ? Value(*value) : Value(); }

Value whole(double value) {
  return value < 9e18 ? Value(static_cast<int64_t>(std::llround(value))) : Value();
}

Value share(std::optional<double> part, std::optional<double> all) {
  return part && all && *all > 0 ? Value(100 * *part / *all) : Value();
}

void add_columns(report::Table& table) {
  table.add_columns(
      {text("operator", "Operator"), text("shape", "Shape"), text("type", "Type"),
       integer("calls", "Calls"), integer("kernels", "Kernels"), time("gpu_ns", "GPU time"),
       percent("percentage", "Share"), integer("flops", "FLOP"), bytes("model_bytes", "Bytes"),
       real("flop_per_byte", "FLOP/B"), real("tflop_per_s", "TFLOP/s"), real("gb_per_s", "GB/s"),
       percent("compute_percentage", "Of peak"), percent("bandwidth_percentage", "Of bandwidth"),
       text("bound", "Bound"), time("roofline_ns", "Roofline"),
       percent("roofline_percentage", "Of roofline")});
  report::leave_first(table, {"model_bytes", "flops", "kernels", "type", "roofline_ns",
                              "flop_per_byte", "bandwidth_percentage", "compute_percentage",
                              "gb_per_s", "calls", "bound", "percentage", "tflop_per_s"});
}

report::Section shapes_section(const std::vector<PerfRow>& rows, int64_t all_ns) {
  report::Section section{
      .key = "perf",
      .empty_text = "No kernel was launched by an operator with a model and recorded sizes."};
  add_columns(section.table);
  for (const PerfRow& row : rows) {
    const auto bound = bound_of(row);
    const auto ns = static_cast<double>(row.gpu_ns);
    section.table.add_row(
        {row.name, row.each.shape, std::string(row.each.type->name), row.calls, row.kernels,
         row.gpu_ns, percent_of(row.gpu_ns, all_ns), whole(row.flops()), whole(row.bytes()),
         known(row.intensity()), known(row.tflop_per_s()), known(row.gb_per_s()),
         share(row.tflop_per_s(), row.peak_tflop_per_s()),
         share(row.gb_per_s(), row.peak_gb_per_s()),
         bound ? Value(bound->is_compute ? "compute" : "memory") : Value(),
         bound ? whole(bound->ns) : Value(), bound ? share(bound->ns, ns) : Value()});
  }
  report::Chart chart = roofline_chart(rows);
  if (!chart.series.empty()) section.charts.push_back(std::move(chart));
  return section;
}

// By kind of work, and what is not modelled: together the time of all kernels.
report::Section kinds_section(const std::vector<PerfRow>& rows, const ModelledWork& work) {
  report::Section section{.key = "kinds", .title = "By kind of work", .empty_text = "No kernels."};
  report::Table& table = section.table;
  table.add_columns({text("kind", "Kind"), integer("kernels", "Kernels"),
                     time("gpu_ns", "GPU time"), percent("percentage", "Share"),
                     integer("flops", "FLOP"), bytes("model_bytes", "Bytes"),
                     real("tflop_per_s", "TFLOP/s"), real("gb_per_s", "GB/s"),
                     percent("roofline_percentage", "Of roofline")});
  for (size_t kind = 0; kind < kWorkKinds; ++kind) {
    int64_t kernels = 0, gpu_ns = 0;
    double flops = 0, bytes = 0, bound_ns = 0;
    bool has_bounds = true;
    for (const PerfRow& row : rows) {
      if (row.model->kind != static_cast<WorkKind>(kind)) continue;
      kernels += row.kernels;
      gpu_ns += row.gpu_ns;
      flops += row.flops();
      bytes += row.bytes();
      const auto bound = bound_of(row);
      has_bounds &= bound.has_value();
      bound_ns += bound ? bound->ns : 0;
    }
    if (kernels == 0) continue;
    const auto ns = static_cast<double>(gpu_ns);
    const auto per_ns = [&](double sum) { return ns > 0 ? Value(sum / ns) : Value(); };
    table.add_row({std::string(work_kind_name(static_cast<WorkKind>(kind))), kernels, gpu_ns,
                   percent_of(gpu_ns, work.gpu_ns), whole(flops), whole(bytes), per_ns(flops / 1e3),
                   per_ns(bytes), has_bounds ? share(bound_ns, ns) : Value()});
  }
  int64_t kernels = 0, gpu_ns = 0;
  for (const Unmodelled& row : work.unmodelled) {
    kernels += row.kernels;
    gpu_ns += row.gpu_ns;
  }
  if (kernels != 0) {
    table.add_row({"not modelled", kernels, gpu_ns, percent_of(gpu_ns, work.gpu_ns), Value(),
                   Value(), Value(), Value(), Value()});
  }
  return section;
}

report::Section unmodelled_section(const ModelledWork& work) {
  report::Section section{.key = "not_modelled",
                          .title = "Not modelled",
                          .empty_text = "Every kernel belongs to an operator whose work is known."};
  report::Table& table = section.table;
  table.add_columns({text("operator", "Operator"), text("reason", "Reason"),
                     integer("kernels", "Kernels"), time("gpu_ns", "GPU time"),
                     percent("percentage", "Share")});
  for (const Unmodelled& row : work.unmodelled) {
    table.add_row(
        {row.name, row.why, row.kernels, row.gpu_ns, percent_of(row.gpu_ns, work.gpu_ns)});
  }
  return section;
}

bool is_beyond_plain_fp32(const PerfRow& row) {
  const auto rate = row.tflop_per_s();
  const auto peak = row.peak_tflop_per_s();
  return row.each.type->precision == Precision::kFp32 && row.model->uses_matrix_units() && rate &&
         peak && *rate > *peak;
}

report::Section gpus_section(const Peaks& peaks) {
  report::Section section{.key = "gpus", .title = "Peaks", .empty_text = "No GPUs."};
  report::Table& table = section.table;
  table.add_columns({id("gpu_id", "GPU"), text("device", "Device"), text("peaks_of", "Peaks of"),
                     real("bandwidth_gb_per_s", "GB/s"), real("fp16_tflop_per_s", "fp16 TFLOP/s"),
                     real("bf16_tflop_per_s", "bf16 TFLOP/s"),
                     real("fp32_tflop_per_s", "fp32 TFLOP/s"), text("source", "Source")});
  for (const Peaks::Gpu& gpu : peaks.gpus()) {
    const GpuPeak* peak = peaks.of(gpu.id);
    const Value device = gpu.device.empty() ? Value() : Value(gpu.device);
    if (peak == nullptr) {
      table.add_row({gpu.id, device, Value(), Value(), Value(), Value(), Value(), Value()});
      continue;
    }
    const auto compute = [&](Precision precision) { return known(peak->compute(precision, true)); };
    table.add_row({gpu.id, device, peak->name, peak->bandwidth_gb_per_s, compute(Precision::kFp16),
                   compute(Precision::kBf16), compute(Precision::kFp32),
                   peak->source + ", looked up " + peak->date});
  }
  return section;
}

Result<report::Report> run(const trace::Trace& trace, const Parameters& parameters) {
  SONDE_ASSIGN(const Peaks peaks, Peaks::load(trace, parameters));
  report::Report report = begin_report("perf", trace);
  const ModelledWork work = modelled_work(trace);
  const std::vector<PerfRow> rows = rows_of(trace, work, peaks);
  report.sections.push_back(shapes_section(rows, work.gpu_ns));
  if (work.kernels == 0) {
    report.sections.front().empty_text = "No kernels.";
    return report;
  }
  report.sections.push_back(kinds_section(rows, work));
  report.sections.push_back(unmodelled_section(work));
  report.sections.push_back(gpus_section(peaks));
  for (const Peaks::Gpu& gpu : peaks.gpus()) {
    if (peaks.of(gpu.id) != nullptr || rows.empty()) continue;
    report.notes.push_back(fmt::format(
        "the peaks of GPU {} ({}) are not known, so there are no shares of them; --gpu-peak NAME "
        "uses the peaks of another GPU, --peaks FILE reads more",
        gpu.id, gpu.device.empty() ? "which the file does not name" : gpu.device));
  }
  if (std::any_of(rows.begin(), rows.end(), is_beyond_plain_fp32)) {
    report.notes.emplace_back(
        "some matrix products of fp32 are faster than plain fp32 allows: they used TF32, which has "
        "a higher peak");
  }
  return report;
}

trace::Request needs(const Parameters&) { return modelled_work_needs(); }

constexpr const char* kDefinition =
    "perf: the arithmetic and the memory traffic that PyTorch's operators needed, from the "
    "sizes and types of their inputs, compared with the time of their kernels.\n\n"
    "A row is one operator with one shape. A kernel belongs to the innermost operator around "
    "its launch that has a model and recorded sizes. If a matrix product, convolution, "
    "attention or normalisation has kernels of its own and contains another such operator that "
    "has kernels too, the outer one is not counted. Each kernel counts once, so the rows and "
    "Not modelled add up to the time of all kernels. Nothing is guessed: where a size, type or "
    "argument is missing, the kernels are listed under Not modelled with the reason.\n\n"
    "FLOP counts a multiplication and an addition as two operations.\n"
    "Matrix product: 2*M*N*K for each of B; the addition of a bias is not counted.\n"
    "Convolution: 2 * elements of the result * elements of one filter (of the input, if it is "
    "transposed). Its backward pass takes as many for each of the gradients of input and weight "
    "that were wanted.\n"
    "Attention: 2*(d + dv) for each query, head and key that the query may see; backward 2*(3*d "
    "+ 2*dv). A causal mask leaves N*(N+1)/2 of N*N pairs. If there are not as many keys as "
    "queries, the mask begins in the top left corner (PyTorch) or ends in the bottom right one "
    "(flash_attn).\n"
    "For each element: layer, group or batch norm 6 (2 in evaluation), plus 1 for a weight and "
    "1 for a bias, backward 9, or 13 with a weight; RMS norm 3, plus 1 for the weight; softmax "
    "4, and 4 backward; sum, mean and prod 1; elementwise operators 1 for each element of the "
    "result, whatever the function costs (addcmul, addcdiv and lerp 3); comparisons, copies and "
    "integers 0.\n\n"
    "Bytes is what has to be moved if everything else stays in caches: each input is read once "
    "(of an input that is expanded with stride 0 only what is in memory), and each result is "
    "written once. It is not measured. FLOP/B is FLOP divided by Bytes. TFLOP/s and GB/s are "
    "FLOP and Bytes divided by the GPU time, the sum of the durations of the kernels (1 GB = "
    "10^9 bytes). Of peak and Of bandwidth are their shares of the peaks that the GPU's maker "
    "states. Roofline is max(FLOP / peak, Bytes / bandwidth), the least time that these peaks "
    "allow; Bound says which of the two it is; Of roofline is Roofline as a share of the GPU "
    "time. Products, convolutions and attention are compared with the matrix units' peak for "
    "their type (fp32 with plain fp32, so that TF32 can reach more than 100 %), everything else "
    "with the vector units' peak for fp32 or fp64. More than 100 % of bandwidth means that "
    "caches held data that the model counts as read from memory.\n\n"
    "The peaks are chosen by the name of the device; Peaks says which, and where they come "
    "from. Those of a part of a GPU, such as one of an MI300X in CPX mode, are not known. With "
    "--from or --to a kernel counts in full if it overlaps the window, and so does the work of its "
    "operator.\n";

}  // namespace

Analysis perf_analysis() {
  return {
      "perf",
      "Show the FLOP/s and bandwidth that operators reach, against the GPU's peaks",
      "Shows FLOPs, bytes, arithmetic intensity and achieved rates of matrix products, "
      "convolutions, attention, normalisations, reductions and elementwise operators, by operator "
      "and shape, with the roofline of the GPU. The trace needs recorded shapes: "
      "record_shapes=True in PyTorch's profiler. --format html includes a picture of the roofline.",
      kDefinition,
      {{"sonde perf trace.json", "the operators with most GPU time first"},
       {"sonde perf trace.json --sort=-roofline_percentage", "farthest from the roofline first"},
       {"sonde perf trace.json --gpu-peak MI300X", "where the file does not name the GPU"},
       {"sonde perf trace.json --format html > perf.html", "with the roofline as a picture"}},
      {{"gpu-peak", "NAME", "use the peaks of this GPU [as the trace says]", ""},
       {"peaks", "FILE",
        "peaks of more GPUs, in the form of src/analysis/perf/gpu_peaks.toml [those that Sonde "
        "knows]",
        ""}},
      needs,
      run};
}

}  // namespace sonde::analysis
