#include "trace/kernel_facts.h"

#include <algorithm>
#include <unordered_map>

#include "base/strings.h"
#include "importers/import.h"
#include "store/op_class.h"
#include "store/scan.h"

namespace sonde::trace {
namespace {

using Indices = std::unordered_map<int64_t, size_t>;  // of launches, by the operation's id
using Registers = std::map<std::pair<int64_t, std::string>, KernelResources>;

// From the code of kernels, by GPU and name. Figures on which processes disagree are unknown.
Status read_registers(store::Database& database, Registers& registers) {
  return store::scan_of(
      database, "sonde_kernel_code", "gpu_id, name, vgprs, accumulation_vgprs, sgprs",
      "sonde_kernel_code", [&](const store::Row& row) {
        KernelResources of_code;
        of_code.vgprs = row.integer_or(2, -1);
        of_code.agprs = row.integer_or(3, -1);
        of_code.sgprs = row.integer_or(4, -1);
        const auto [entry, is_new] =
            registers.try_emplace({row.integer_or(0, -1), std::string(row.text(1))}, of_code);
        if (!is_new && entry->second != of_code) entry->second = {};
      });
}

Status read_launches(store::Database& database, Launches which, const Registers& registers,
                     KernelFacts& facts, Indices& indices) {
  SONDE_ASSIGN(const bool has_counters, database.has_table("rocpd_counter"));
  if (which == Launches::kCounted && !has_counters) return ok_status();
  const std::string chosen =
      which == Launches::kCounted ? " WHERE o.id IN (SELECT op_id FROM rocpd_counter)" : "";
  const std::string source =
      "(SELECT o.id AS id, o.gpu_id AS gpu_id, o.start_ns AS start_ns, o.end_ns AS end_ns, n.string "
      "AS name, t.string AS type FROM v_op o JOIN v_string n ON n.id = o.name_id LEFT JOIN v_string "
      "t ON t.id = o.type_id" +
      chosen + " ORDER BY o.start_ns, o.id)";
  return store::scan(
      database, "id, gpu_id, start_ns, end_ns, name, type", source, {}, [&](const store::Row& row) {
        const bool has_name = !row.text(4).empty();
        const auto kind = store::class_of_op(store::class_of_type(row.text(5)), has_name);
        if (!has_name || kind != store::OpClass::kKernel) return;
        KernelLaunch launch;
        launch.gpu = row.integer(1);
        launch.start_ns = row.integer(2);
        launch.end_ns = row.integer(3);
        launch.kernel = row.text(4);
        const auto known = registers.find({launch.gpu, launch.kernel});
        if (known != registers.end()) launch.takes = known->second;
        indices.emplace(row.integer(0), facts.launches.size());
        facts.launches.push_back(std::move(launch));
      });
}

// Axes that are not used count 1; -1 where the first is not known.
int64_t product(const store::Row& row, int first) {
  if (row.integer_or(first, 0) <= 0) return -1;
  return row.integer(first) * std::max<int64_t>(row.integer_or(first + 1, 1), 1) *
         std::max<int64_t>(row.integer_or(first + 2, 1), 1);
}

Status read_shapes(store::Database& database, const Indices& indices, KernelFacts& facts) {
  return store::scan(database,
                     "op_id, group_segment_bytes, private_segment_bytes, group_x, group_y, "
                     "group_z, grid_x, grid_y, grid_z",
                     "v_op_detail", {}, [&](const store::Row& row) {
                       const auto index = indices.find(row.integer(0));
                       if (index == indices.end()) return;
                       KernelLaunch& launch = facts.launches[index->second];
                       launch.takes.lds_bytes = row.integer_or(1, -1);
                       launch.takes.scratch_bytes = row.integer_or(2, -1);
                       launch.group_items = product(row, 3);
                       launch.grid_items = product(row, 6);
                     });
}

// Where several dies have an L2 each, their channels are numbered one die after the other.
Status read_channels(store::Database& database, const Indices& indices, KernelFacts& facts) {
  SONDE_ASSIGN(const bool any, database.has_table("sonde_op_counter"));
  if (!any) return ok_status();
  SONDE_ASSIGN(const int64_t of_die,
               database.integer("SELECT max(instance) + 1 FROM sonde_op_counter c JOIN v_string s "
                                "ON s.id = c.name_id WHERE s.string LIKE 'TCC^_%' ESCAPE '^'"));
  return store::scan(
      database, "c.op_id, c.xcc * ?1 + c.instance, c.value, s.string",
      "sonde_op_counter c JOIN v_string s ON s.id = c.name_id WHERE s.string LIKE 'TCC^_%' ESCAPE "
      "'^'",
      {of_die}, [&](const store::Row& row) {
        const auto index = indices.find(row.integer(0));
        if (index == indices.end()) return;
        facts.launches[index->second].channels.emplace_back(
            std::string(row.text(3)) + "[" + std::to_string(row.integer(1)) + "]", row.real(2));
      });
}

Status read_roofs(store::Database& database, KernelFacts& facts) {
  constexpr std::string_view kTag = "sonde::roofs::";
  return store::scan_of(database, "rocpd_metadata", "tag, value",
                        "rocpd_metadata WHERE tag LIKE 'sonde::roofs::%'",
                        [&](const store::Row& row) {
                          const auto gpu = parse_int(row.text(0).substr(kTag.size()));
                          if (gpu) facts.roofs.emplace_back(*gpu, std::string(row.text(1)));
                        });
}

Result<KernelFacts> kernel_facts_of(store::Reader& reader, Launches which) {
  KernelFacts facts;
  store::Database& database = reader.database();
  Registers registers;
  Indices indices;
  SONDE_TRY(read_registers(database, registers));
  SONDE_TRY(read_launches(database, which, registers, facts, indices));
  SONDE_TRY(read_shapes(database, indices, facts));
  SONDE_TRY(read_channels(database, indices, facts));
  SONDE_TRY(read_roofs(database, facts));
  SONDE_TRY(store::scan(database, "gpu_id, name", "v_device", {}, [&](const store::Row& row) {
    std::string& name = facts.gpus[row.integer(0)];
    if (name.empty()) name = row.text(1);
  }));
  return facts;
}

}  // namespace

Result<KernelFacts> load_kernel_facts(const std::string& path, Launches which) {
  SONDE_ASSIGN(store::Reader reader, importers::open_trace(path, ""));
  return kernel_facts_of(reader, which);
}

Result<CountedTrace> load_counted(const std::string& path, const std::string& as,
                                  const Request& request, const WindowText& window) {
  SONDE_ASSIGN(store::Reader reader, importers::open_trace(path, as));
  CountedTrace counted;
  SONDE_ASSIGN(counted.window, window_of(reader, window));
  SONDE_ASSIGN(counted.trace, load(reader, request));
  SONDE_ASSIGN(counted.facts, kernel_facts_of(reader, Launches::kCounted));
  return counted;
}

Result<std::vector<CodeLine>> load_code_lines(const std::string& path) {
  std::vector<CodeLine> lines;
  SONDE_ASSIGN(store::Reader reader, importers::open_trace(path, ""));
  SONDE_TRY(store::scan_of(
      reader.database(), "sonde_pc_sample",
      "gpu_id, pc_offset, samples, lanes, kernel, instruction, file, line",
      "(SELECT gpu_id, pc_offset, sum(samples) AS samples, sum(lanes) AS lanes, "
      "kernel, instruction, max(file) AS file, max(line) AS line FROM "
      "sonde_pc_sample GROUP BY gpu_id, kernel, pc_offset, instruction "
      "ORDER BY gpu_id, kernel, pc_offset)",
      [&](const store::Row& row) {
        lines.push_back({row.integer(0), row.integer(1), row.integer(2), row.integer(3),
                         std::string(row.text(4)), std::string(row.text(5)),
                         std::string(row.text(6)), row.integer_or(7, 0)});
      }));
  return lines;
}

}  // namespace sonde::trace
