// The CSV tables of rocprofv3 (docs/exports.md), in a new folder: agents, kernels and
// their hardware counters, copies, one table of calls for each API, markers, and statistics of each
// domain. Columns have rocprofv3's
// names and order; what the trace does not know is empty. memory_copy_trace has one column more,
// the bytes, which rocprofv3 leaves out.
#include <fmt/format.h>

#include <map>
#include <string>

#include "export/events/name_statistics.h"
#include "export/output/csv.h"
#include "export/rocprof/counters.h"
#include "export/rocprof/words.h"

namespace sonde::exporting {

namespace {

const char* const kAgentHeader =
    R"("Node_Id","Logical_Node_Id","Agent_Type","Cpu_Cores_Count","Simd_Count","Cpu_Core_Id_Base",)"
    R"("Simd_Id_Base","Max_Waves_Per_Simd","Lds_Size_In_Kb","Gds_Size_In_Kb","Num_Gws",)"
    R"("Wave_Front_Size","Num_Xcc","Cu_Count","Array_Count","Num_Shader_Banks",)"
    R"("Simd_Arrays_Per_Engine","Cu_Per_Simd_Array","Simd_Per_Cu","Max_Slots_Scratch_Cu",)"
    R"("Gfx_Target_Version","Vendor_Id","Device_Id","Location_Id","Domain","Drm_Render_Minor",)"
    R"("Num_Sdma_Engines","Num_Sdma_Xgmi_Engines","Num_Sdma_Queues_Per_Engine","Num_Cp_Queues",)"
    R"("Max_Engine_Clk_Ccompute","Max_Engine_Clk_Fcompute","Sdma_Fw_Version","Fw_Version",)"
    R"("Capability","Cu_Per_Engine","Max_Waves_Per_Cu","Family_Id","Workgroup_Max_Size",)"
    R"("Grid_Max_Size","Local_Mem_Size","Hive_Id","Gpu_Id","Workgroup_Max_Dim_X",)"
    R"("Workgroup_Max_Dim_Y","Workgroup_Max_Dim_Z","Grid_Max_Dim_X","Grid_Max_Dim_Y",)"
    R"("Grid_Max_Dim_Z","Name","Vendor_Name","Product_Name","Model_Name")";
constexpr int kAgentColumns = 53;
constexpr int kNode = 0, kLogicalNode = 1, kType = 2, kCuCount = 13, kLocalMemory = 40, kGpuId = 42,
              kName = 49, kVendor = 50, kProduct = 51;

const char* const kKernelHeader =
    R"("Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id",)"
    R"("Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size",)"
    R"("Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X",)"
    R"("Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z")";
const char* const kCounterHeader =
    R"("Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size",)"
    R"("Kernel_Id","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count",)"
    R"("Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp",)"
    R"("End_Timestamp")";
const char* const kCopyHeader =
    R"("Kind","Direction","Stream_Id","Source_Agent_Id","Destination_Agent_Id",)"
    R"("Correlation_Id","Start_Timestamp","End_Timestamp","Size_Bytes")";
const char* const kApiHeader =
    R"("Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp",)"
    R"("End_Timestamp")";
const char* const kStatsHeader =
    R"("Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev")";

std::string agent(int64_t number) { return fmt::format("Agent {}", number); }

class Tables {
 public:
  Tables(const Events& events, std::string folder)
      : events_(events), counters_(events), prefix_(std::move(folder) + "/results_") {}

  Result<Counts> write() {
    SONDE_TRY(agents());
    SONDE_TRY(kernels());
    SONDE_TRY(op_counters());
    SONDE_TRY(copies());
    SONDE_TRY(apis());
    SONDE_TRY(statistics());
    counts_.skipped = events_.skipped + events_.samples.size();
    return counts_;
  }

 private:
  CsvFile table(const std::string& name, const char* header) const {
    return CsvFile(prefix_ + name + ".csv", header);
  }
  void agent_row(CsvFile& file, int64_t node, const Device* device) const;
  Status agents() const;
  Status kernels();
  void kernel_row(CsvFile& file, const Op& op, int64_t dispatch);
  void size_columns(CsvFile& file, const Op& op, const Shape& shape) const;
  Status op_counters();
  void counter_row(CsvFile& file, const Op& op, int64_t dispatch, size_t counter, double value);
  Status copies();
  void copy_row(CsvFile& file, const Op& op);
  Status apis();
  Status statistics();

  const Events& events_;
  CounterTable counters_;
  const std::string prefix_;
  std::map<uint32_t, int64_t> kernel_ids_;
  std::map<std::string, NameStatistics> statistics_;  // by domain's file word
  Counts counts_;
};

void Tables::agent_row(CsvFile& file, int64_t node, const Device* device) const {
  for (int column = 0; column < kAgentColumns; ++column) {
    if (column == kNode || column == kLogicalNode) {
      file.number(node);
    } else if (column == kType) {
      file.text(device == nullptr ? "CPU" : "GPU");
    } else if (device == nullptr) {
      file.empty();
    } else if (column == kCuCount && device->compute_units >= 0) {
      file.number(device->compute_units);
    } else if (column == kLocalMemory && device->memory_bytes >= 0) {
      file.number(device->memory_bytes);
    } else if (column == kGpuId) {
      file.number(device->gpu_id);
    } else if (column == kName || column == kProduct) {
      file.text(device->name);
    } else if (column == kVendor) {
      file.text(device->vendor);
    } else {
      file.empty();
    }
  }
  file.end_row();
}

Status Tables::agents() const {
  CsvFile file = table("agent_info", kAgentHeader);
  if (!events_.devices.empty()) agent_row(file, kHostAgent, nullptr);
  for (const Device& device : events_.devices)
    agent_row(file, agent_of_gpu(device.gpu_id), &device);
  return file.finish();
}

Status Tables::kernels() {
  CsvFile file = table("kernel_trace", kKernelHeader);
  int64_t dispatch = 0;
  for (const Op& op : events_.ops) {
    if (store::moves_memory(events_.class_of(op))) continue;
    kernel_row(file, op, ++dispatch);
  }
  return file.finish();
}

void Tables::kernel_row(CsvFile& file, const Op& op, int64_t dispatch) {
  ++counts_.ops;
  const Queue& queue = events_.queues[op.queue];
  const Api* const call = events_.launcher(op);
  const std::string_view name = events_.names.at(op.name);
  const int64_t next_id = static_cast<int64_t>(kernel_ids_.size()) + 1;
  const Shape shape = op.shape == kNone ? Shape() : events_.shapes[op.shape];
  file.text("KERNEL_DISPATCH");
  file.text(agent(agent_of_gpu(queue.gpu_id)));
  file.number(queue.queue_id);
  file.empty();  // Stream_Id
  file.number(call == nullptr ? std::nullopt
                              : std::optional<int64_t>(events_.threads[call->thread].tid));
  file.number(dispatch);
  file.number(kernel_ids_.try_emplace(op.name, next_id).first->second);
  file.text(name);
  file.number(call == nullptr ? 0 : call->id);
  file.number(op.start_ns);
  file.number(op.end_ns);
  size_columns(file, op, shape);
  for (const int64_t group : shape.group) file.known(group);
  for (int axis = 0; axis < 3; ++axis) file.known(work_items(shape, axis));
  file.end_row();
  statistics_["kernel"].add(name, op.duration_ns());
}

// A row for each counter of each kernel.
Status Tables::op_counters() {
  CsvFile file = table("counter_collection", kCounterHeader);
  int64_t dispatch = 0;
  for (size_t i = 0; i < events_.ops.size() && !counters_.names().empty(); ++i) {
    const Op& op = events_.ops[i];
    if (store::moves_memory(events_.class_of(op))) continue;
    ++dispatch;
    const auto& values = counters_.values(static_cast<uint32_t>(i));
    for (size_t counter = 0; counter < values.size(); ++counter) {
      if (values[counter] != nullptr) counter_row(file, op, dispatch, counter, *values[counter]);
    }
  }
  return file.finish();
}

void Tables::counter_row(CsvFile& file, const Op& op, int64_t dispatch, size_t counter,
                         double value) {
  ++counts_.counters;
  const Queue& queue = events_.queues[op.queue];
  const Api* const call = events_.launcher(op);
  const Shape shape = op.shape == kNone ? Shape() : events_.shapes[op.shape];
  const Thread* const thread = call == nullptr ? nullptr : &events_.threads[call->thread];
  file.number(call == nullptr ? 0 : call->id);
  file.number(dispatch);
  file.text(agent(agent_of_gpu(queue.gpu_id)));
  file.number(queue.queue_id);
  file.known(queue.pid);
  file.number(thread == nullptr ? std::nullopt : std::optional<int64_t>(thread->tid));
  file.known(work_items(shape));
  file.number(kernel_ids_.at(op.name));
  file.text(events_.names.at(op.name));
  file.known(group_items(shape));
  size_columns(file, op, shape);
  file.text(counters_.names()[counter]);
  file.bare(counter_text(value));
  file.number(op.start_ns);
  file.number(op.end_ns);
  file.end_row();
}

// What it takes of a compute unit.
void Tables::size_columns(CsvFile& file, const Op& op, const Shape& shape) const {
  const KernelCode& code = events_.code_of(op);
  for (const int64_t figure : {shape.group_segment_bytes, shape.private_segment_bytes, code.vgprs,
                               code.agprs, code.sgprs}) {
    file.known(figure);
  }
}

Status Tables::copies() {
  CsvFile file = table("memory_copy_trace", kCopyHeader);
  for (const Op& op : events_.ops) {
    if (store::moves_memory(events_.class_of(op))) copy_row(file, op);
  }
  return file.finish();
}

void Tables::copy_row(CsvFile& file, const Op& op) {
  ++counts_.ops;
  const CopyDirection direction = copy_direction(events_.names.at(op.type));
  const int64_t gpu = agent_of_gpu(events_.queues[op.queue].gpu_id);
  const Api* const call = events_.launcher(op);
  file.text("MEMORY_COPY");
  file.text(direction.word);
  file.empty();  // Stream_Id
  file.text(agent(direction.from_host ? kHostAgent : gpu));
  file.text(agent(direction.to_host ? kHostAgent : gpu));
  file.number(call == nullptr ? 0 : call->id);
  file.number(op.start_ns);
  file.number(op.end_ns);
  file.known(op.bytes);
  file.end_row();
  statistics_["memory_copy"].add(direction.word, op.duration_ns());
}

Status Tables::apis() {
  std::map<std::string, CsvFile> files;
  for (size_t i = 0; i < events_.api_count(); ++i) {
    const Api& api = events_.apis[i];
    const bool mark = events_.is_mark(api);
    const std::string_view domain = events_.domain(api);
    const std::string word = mark ? "marker" : file_word(domain);
    const std::string name = word + "_api_trace";
    CsvFile& file =
        files.try_emplace(name, prefix_ + name + ".csv", std::string(kApiHeader)).first->second;
    const Thread& thread = events_.threads[api.thread];
    file.text(mark ? std::string(kMarkerDomain) : domain_word(domain));
    file.text(events_.title(api));
    file.number(thread.pid);
    file.number(thread.tid);
    file.number(api.id);
    file.number(api.start_ns);
    file.number(api.end_ns);
    file.end_row();
    statistics_[word + "_api"].add(events_.title(api), api.duration_ns());
    ++counts_.apis;
  }
  for (auto& [name, file] : files) SONDE_TRY(file.finish());
  return ok_status();
}

Status Tables::statistics() {
  for (const auto& [domain, names] : statistics_) {
    CsvFile file = table(domain + "_stats", kStatsHeader);
    for (const NameStatistics::Row& row : names.rows()) {
      const Statistics& figures = *row.figures;
      file.text(row.name);
      file.number(figures.calls);
      file.number(figures.total_ns);
      file.real(figures.mean);
      file.real(row.percent);
      file.number(figures.min_ns);
      file.number(figures.max_ns);
      file.real(figures.deviation_ns());
      file.end_row();
    }
    SONDE_TRY(file.finish());
  }
  return ok_status();
}

}  // namespace

Exporter rocprofv3_exporter() {
  return {"rocprofv3",
          "a folder with the CSV tables of rocprofv3",
          {".rocprofv3"},
          write_tables<Tables>,
          true};
}

}  // namespace sonde::exporting
