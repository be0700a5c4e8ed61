// A workload folder of rocprof-compute (docs/exports.md), new: pmc_perf.csv with a row for each
// kernel that was counted and a column for each counter (of the L2 one for each channel, too),
// sysinfo.csv with the facts about the GPU, roofline.csv where its roofs were measured, and how it
// was counted. What the trace does not know is empty.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "base/strings.h"
#include "base/value_or.h"
#include "export/output/csv.h"
#include "export/rocprof/compute_files.h"
#include "export/rocprof/counters.h"
#include "export/rocprof/words.h"
#include "store/scan.h"

namespace sonde::exporting {

namespace {

const char* const kKernelHeader =
    "Dispatch_ID,GPU_ID,Queue_ID,PID,TID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,"
    "Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,Wave_Size,Kernel_Name";
constexpr std::string_view kFacts =
    "workload_name,command,ip_blocks,timestamp,version,hostname,cpu_model,sbios,linux_distro,"
    "linux_kernel_version,amd_gpu_kernel_version,cpu_memory,gpu_memory,rocm_version,vbios,"
    "compute_partition,memory_partition,gpu_model,gpu_arch,gpu_l1,gpu_l2,cu_per_gpu,simd_per_cu,"
    "se_per_gpu,wave_size,workgroup_max_size,max_waves_per_cu,max_sclk,max_mclk,cur_sclk,cur_mclk,"
    "total_l2_chan,lds_banks_per_cu,sqc_per_gpu,pipes_per_gpu,num_xcd,num_hbm_channels";
// Where a software GPU counted, `sonde sol` says what its figures rest on.
const char* const kCountedBy = "sonde_counted_by";

// What was counted in parts is called so there.
std::string column_name(std::string_view counter, const std::vector<std::string_view>& all) {
  const std::string name(counter);
  const std::string_view block = counter.substr(0, counter.find('_'));
  const bool has_parts = block == "TCC" || block == "TCP" || block == "TA" || block == "TD";
  const bool is_sum = name.size() > 4 && name.compare(name.size() - 4, 4, "_sum") == 0;
  const bool has_sum = std::find(all.begin(), all.end(), name + "_sum") != all.end();
  if (!has_parts || is_sum || has_sum || name.find('[') != name.npos) return csv_name(name);
  return csv_name(name + "_sum");
}

// "SQ|TA|TCP": whose counters there are.
std::string blocks_of(const std::vector<std::string_view>& names) {
  std::vector<std::string_view> blocks;
  for (const std::string_view name : names) {
    const std::string_view block = name.substr(0, name.find('_'));
    if (std::find(blocks.begin(), blocks.end(), block) == blocks.end()) blocks.push_back(block);
  }
  return fmt::format("{}", fmt::join(blocks, "|"));
}

class Folder {
 public:
  Folder(const Events& events, std::string path)
      : events_(events), counters_(events), path_(std::move(path)) {}

  Result<Counts> write(const Options& options, bool by_software);

 private:
  Status kernels();
  void row(CsvFile& file, uint32_t index);
  Status facts(const Options& options, bool by_software);

  const Events& events_;
  CounterTable counters_;
  const std::string path_;
  std::optional<int64_t> wave_size_;
  Counts counts_;
};

Result<Counts> Folder::write(const Options& options, bool by_software) {
  SONDE_TRY(facts(options, by_software));
  SONDE_TRY(kernels());
  counts_.skipped = events_.skipped;
  return counts_;
}

Status Folder::kernels() {
  std::string header = kKernelHeader;
  for (const std::string_view name : counters_.names()) {
    header += "," + column_name(name, counters_.names());
  }
  CsvFile file(path_ + "/pmc_perf.csv", header + ",Start_Timestamp,End_Timestamp");
  uint32_t last = kNone;
  for (const OpCounter& counter : events_.op_counters) {
    if (counter.op != last) row(file, counter.op);
    last = counter.op;
  }
  return file.finish();
}

void Folder::row(CsvFile& file, uint32_t index) {
  const Op& op = events_.ops[index];
  const Queue& queue = events_.queues[op.queue];
  file.number(static_cast<int64_t>(counts_.ops++));
  file.number(queue.gpu_id);
  file.number(queue.queue_id);
  for (const int64_t figure : kernel_figures(events_, op)) file.known(figure);
  file.number(wave_size_);
  file.text(events_.names.at(op.name));
  counts_.counters += counters_.write(file, index);
  file.number(op.start_ns);
  file.number(op.end_ns);
  file.end_row();
}

Status Folder::facts(const Options& options, bool by_software) {
  const Op& first = events_.ops[events_.op_counters[0].op];
  std::string device;
  for (const Device& each : events_.devices) {
    if (each.gpu_id == events_.queues[first.queue].gpu_id) device = each.name;
  }
  SONDE_CHECK(options.gpu_facts != nullptr);
  SONDE_ASSIGN(const Facts known, options.gpu_facts(device));
  std::map<std::string, std::string> facts(known.begin(), known.end());
  wave_size_ = parse_int(facts["wave_size"]);
  facts["workload_name"] = std::filesystem::path(path_).filename().string();
  if (!events_.processes.empty()) facts["command"] = events_.processes[0].command;
  facts["ip_blocks"] = blocks_of(counters_.names());
  CsvFile file(path_ + "/sysinfo.csv", fmt::format("{},{}", kFacts, kCountedBy));
  for (const std::string_view name : split(kFacts, ',')) {
    if (const std::string& value = facts[std::string(name)]; value.empty()) {
      file.empty();
    } else {
      file.text(value);
    }
  }
  file.text(by_software ? "software" : "hardware");
  file.end_row();
  return file.finish();
}

// roofline.csv, a row for each GPU whose roofs were measured; none where there are none. Notes are
// "HBMBw=1388.9 HBMBwLow=... L2Bw=...".
Status write_roofs(store::Database& database, const std::string& path) {
  constexpr std::string_view kTag = "sonde::roofs::";
  std::map<int64_t, std::map<std::string, std::string>> gpus;
  std::map<std::string, std::string> columns;
  SONDE_TRY(store::scan(database, "tag, value", "rocpd_metadata WHERE tag LIKE 'sonde::roofs::%'",
                        {}, [&](const store::Row& row) {
                          const auto gpu = parse_int(row.text(0).substr(kTag.size()));
                          for (const std::string_view part : split(row.text(1), ' ')) {
                            const size_t equals = part.find('=');
                            if (!gpu || equals == part.npos) continue;
                            const std::string column(part.substr(0, equals));
                            gpus[*gpu][column] = part.substr(equals + 1);
                            columns.emplace(column, "");
                          }
                        }));
  if (gpus.empty()) return ok_status();
  std::string header = "device";
  for (const auto& [column, none] : columns) header += "," + csv_name(column);
  CsvFile file(path + "/roofline.csv", header);
  for (const auto& [gpu, values] : gpus) {
    file.number(gpu);
    for (const auto& [column, none] : columns) file.bare(value_or(values, column));
    file.end_row();
  }
  return file.finish();
}

Result<Counts> write_folder(store::Reader& reader, const std::string& path,
                            const Options& options) {
  bool by_software = false;
  SONDE_TRY(store::scan_of(
      reader.database(), "sonde_note", "key", "sonde_note",
      [&](const store::Row& note) { by_software |= note.text(0) == "counters.software"; }));
  SONDE_ASSIGN(const Events events, load_events(reader, options, OfOps::kL2Channels));
  if (events.op_counters.empty()) {
    return make_error(ErrorCode::kNotFound, "it has no hardware counters", reader.path(),
                      "sonde profile counts them");
  }
  SONDE_ASSIGN(NewFolder folder, NewFolder::create(path));
  SONDE_ASSIGN(const Counts counts, Folder(events, path).write(options, by_software));
  SONDE_TRY(write_roofs(reader.database(), path));
  SONDE_ASSIGN(std::vector<CountedPass> passes, counted_passes(reader.database()));
  const CounterTable counters(events);
  for (CountedPass& pass : passes) {
    for (std::string& name : pass.counters) name = column_name(name, counters.names());
  }
  SONDE_TRY(write_compute_files(reader.database(), passes, reader.path(), path));
  folder.keep();
  return counts;
}

}  // namespace

Exporter rocprof_compute_exporter() {
  return {"rocprof-compute",
          "a workload folder of rocprof-compute: the counters of kernels",
          {".workload"},
          write_folder,
          true};
}

}  // namespace sonde::exporting
