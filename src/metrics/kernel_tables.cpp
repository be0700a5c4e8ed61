#include "metrics/kernel_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/demangle.h"
#include "metrics/gpu_facts.h"
#include "metrics/occupancy.h"
#include "report/layout.h"

namespace sonde::metrics {
namespace {

using namespace report::columns;
using report::Value;

// Launches of a kernel with the same resources.
struct Kind {
  std::string kernel;
  std::string gpu;  // "gfx90a"
  trace::KernelResources takes;
  int64_t group_items = 0;
  friend auto operator<=>(const Kind&, const Kind&) = default;
};
struct Launches {
  int64_t count = 0, total_ns = 0;
};

std::map<Kind, Launches> kinds_of(const trace::KernelFacts& facts) {
  std::map<int64_t, std::string> architectures;
  for (const auto& [gpu, name] : facts.gpus) architectures[gpu] = architecture_of(name);
  std::map<Kind, Launches> kinds;
  for (const trace::KernelLaunch& launch : facts.launches) {
    if (launch.takes.vgprs < 0) continue;
    Launches& launches =
        kinds[{launch.kernel, architectures[launch.gpu], launch.takes, launch.group_items}];
    ++launches.count;
    launches.total_ns += launch.end_ns - launch.start_ns;
  }
  return kinds;
}

std::optional<Occupancy> fits_of(const Kind& kind) {
  const auto whole = [](int64_t number) {
    return static_cast<int>(std::clamp<int64_t>(number, 0, 1 << 20));
  };
  return occupancy_of(kind.gpu,
                      {whole(kind.takes.vgprs), whole(kind.takes.agprs), whole(kind.takes.sgprs),
                       whole(kind.takes.lds_bytes), whole(kind.group_items)});
}

Value known(int64_t number) { return number < 0 ? Value() : Value(number); }

// The lines of one kernel on one GPU.
struct Sampled {
  std::string kernel;
  int64_t gpu = 0;
  int64_t samples = 0, lanes = 0;
  std::vector<const trace::CodeLine*> lines;
};

std::vector<Sampled> kernels_of(const std::vector<trace::CodeLine>& lines) {
  std::vector<Sampled> kernels;
  for (const trace::CodeLine& line : lines) {
    if (kernels.empty() || kernels.back().kernel != line.kernel || kernels.back().gpu != line.gpu) {
      kernels.push_back({line.kernel, line.gpu, 0, 0, {}});
    }
    Sampled& kernel = kernels.back();
    kernel.samples += line.samples;
    kernel.lanes += line.lanes;
    kernel.lines.push_back(&line);
  }
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const Sampled& a, const Sampled& b) { return a.samples > b.samples; });
  return kernels;
}

Value share_of(int64_t part, int64_t whole) {
  return whole > 0 ? Value(100.0 * static_cast<double>(part) / static_cast<double>(whole))
                   : Value();
}

Value mean_of(int64_t sum, int64_t count) {
  return count > 0 ? Value(static_cast<double>(sum) / static_cast<double>(count)) : Value();
}

// "add.cpp:17", without the folders.
Value place_of(const trace::CodeLine& line) {
  if (line.file.empty() || line.line == 0) return {};
  return fmt::format("{}:{}", line.file.substr(line.file.rfind('/') + 1), line.line);
}

report::Section kernels_section(const std::vector<Sampled>& kernels) {
  report::Section section{
      .key = "kernels",
      .empty_text = "No program counters were sampled; sonde profile --pc-sample samples them."};
  section.table.add_columns({name("kernel", "Kernel"), integer("gpu", "GPU"),
                             integer("samples", "Samples"), percent("share", "Share"),
                             real("lanes", "Lanes on"), integer("instructions", "Instructions"),
                             text("hottest", "Hottest instruction"),
                             percent("of_hottest", "Its share"), text("source", "Source")});
  int64_t all = 0;
  for (const Sampled& kernel : kernels) all += kernel.samples;
  for (const Sampled& kernel : kernels) {
    const trace::CodeLine& hottest =
        **std::max_element(kernel.lines.begin(), kernel.lines.end(),
                           [](const auto* a, const auto* b) { return a->samples < b->samples; });
    section.table.add_row({kernel.kernel, kernel.gpu, kernel.samples, share_of(kernel.samples, all),
                           mean_of(kernel.lanes, kernel.samples),
                           static_cast<int64_t>(kernel.lines.size()), hottest.instruction,
                           share_of(hottest.samples, kernel.samples), place_of(hottest)});
  }
  return section;
}

// Lines of source, where debug information has them.
report::Section sources_section(const std::vector<Sampled>& kernels) {
  report::Section section{.key = "sources", .title = "Source lines"};
  section.table.add_columns({text("source", "Source"), name("kernel", "Kernel"),
                             integer("samples", "Samples"), percent("share", "Of kernel")});
  struct Line {
    std::string place, kernel;
    int64_t samples = 0, of = 0;
  };
  std::vector<Line> lines;
  for (const Sampled& kernel : kernels) {
    std::map<std::string, int64_t> of_place;
    for (const trace::CodeLine* line : kernel.lines) {
      const Value place = place_of(*line);
      if (const auto* text = std::get_if<std::string>(&place)) of_place[*text] += line->samples;
    }
    for (const auto& [place, samples] : of_place) {
      if (samples > 0) lines.push_back({place, kernel.kernel, samples, kernel.samples});
    }
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.samples > b.samples; });
  for (const Line& line : lines) {
    section.table.add_row({line.place, line.kernel, line.samples, share_of(line.samples, line.of)});
  }
  return section;
}

report::Section code_section(const Sampled& kernel, size_t number) {
  report::Section section{.key = fmt::format("code{}", number), .title = demangle(kernel.kernel)};
  section.table.add_columns({text("offset", "Offset"), integer("samples", "Samples"),
                             percent("share", "Share"), real("lanes", "Lanes on"),
                             text("instruction", "Instruction"), text("source", "Source")});
  report::lead_with(section.table, "instruction");
  for (const trace::CodeLine* line : kernel.lines) {
    const bool any = line->samples > 0;
    section.table.add_row({fmt::format("{:#x}", line->offset), any ? Value(line->samples) : Value(),
                           any ? share_of(line->samples, kernel.samples) : Value(),
                           mean_of(line->lanes, line->samples), line->instruction,
                           place_of(*line)});
  }
  return section;
}

}  // namespace

report::Section occupancy_section(const trace::KernelFacts& facts) {
  report::Section section{
      .key = "occupancy",
      .empty_text =
          "The trace has no kernel registers: sonde record stores them for HIP and HSA programs, "
          "and files of rocprof, rocprofv3 and rocpd have them."};
  section.table.add_columns(
      {name("kernel", "Kernel"), text("gpu", "GPU"), integer("launches", "Launches"),
       time("total_ns", "Total"), integer("vgprs", "VGPRs"), integer("agprs", "AGPRs"),
       integer("sgprs", "SGPRs"), integer("lds_bytes", "LDS B"), integer("group", "Group"),
       integer("waves", "Waves"), integer("most_waves", "Of"), percent("occupancy", "Occupancy"),
       text("limit", "Limited by")});
  const std::map<Kind, Launches> kinds = kinds_of(facts);
  std::vector<std::pair<Kind, Launches>> rows(kinds.begin(), kinds.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.total_ns > b.second.total_ns;
  });
  for (const auto& [kind, launches] : rows) {
    const auto fits = fits_of(kind);
    std::vector<Value> row = {kind.kernel,
                              kind.gpu,
                              launches.count,
                              launches.total_ns,
                              kind.takes.vgprs,
                              known(kind.takes.agprs),
                              known(kind.takes.sgprs),
                              known(kind.takes.lds_bytes),
                              known(kind.group_items > 0 ? kind.group_items : -1)};
    if (fits) {
      row.insert(row.end(), {int64_t{fits->waves_per_simd}, int64_t{fits->most_waves},
                             100.0 * fits->waves_per_simd / fits->most_waves,
                             fits->limiter.empty() ? Value() : Value(fits->limiter)});
    } else {
      row.resize(row.size() + 4);
    }
    section.table.add_row(std::move(row));
  }
  return section;
}

std::vector<report::Section> instruction_sections(const std::vector<trace::CodeLine>& lines,
                                                  size_t disassembled) {
  const std::vector<Sampled> kernels = kernels_of(lines);
  std::vector<report::Section> sections = {kernels_section(kernels)};
  report::Section sources = sources_section(kernels);
  if (!sources.table.rows.empty()) sections.push_back(std::move(sources));
  for (size_t i = 0; i < kernels.size() && i < disassembled; ++i) {
    sections.push_back(code_section(kernels[i], i + 1));
  }
  return sections;
}

}  // namespace sonde::metrics
