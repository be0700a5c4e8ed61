#include <unistd.h>

#include <algorithm>
#include <vector>

#include "config/models.h"
#include "tree/layout.h"
#include "tree/parts.h"

namespace softgpu {
namespace {

// Values of KFD's topology files.
enum HeapType : uint64_t { kSystemHeap = 0, kPublicVram = 1, kPrivateVram = 2 };
enum LinkType : uint64_t { kPcieLink = 2, kXgmiLink = 11 };
constexpr uint64_t kFirstSimd = 0x80001000;
constexpr uint64_t kDataCache = 9;  // bits: data, compute

struct Link {
  LinkType type = kPcieLink;
  uint32_t from = 0, to = 0;  // nodes
  uint32_t weight = 20, mb_per_s = 32000;
};

// In the kernel's two groups: links on the board, and links between GPUs over PCIe.
struct Links {
  std::vector<Link> io, p2p;
};

// GPUs reach each other's memory over XGMI, or over PCIe if all of it is visible there.
Links links_of(const Config& config, uint32_t gpu) {
  Links links;
  links.io.push_back({.from = gpu + 1, .to = 0});
  const GpuConfig& own = config.gpus[gpu];
  for (uint32_t peer = 0; peer < config.gpus.size(); ++peer) {
    const GpuConfig& other = config.gpus[peer];
    if (peer == gpu) continue;
    if (own.model == other.model && model_of(own).xgmi) {
      links.io.push_back({kXgmiLink, gpu + 1, peer + 1, 15, 50000});
    } else if (own.large_bar && other.large_bar) {
      links.p2p.push_back({kPcieLink, gpu + 1, peer + 1, 40, 32000});
    }
  }
  return links;
}

void write_links(TreeWriter& tree, const std::string& folder, const std::vector<Link>& links) {
  tree.folder(folder);  // even if it stays empty: amd-smi aborts if it is missing
  for (size_t i = 0; i < links.size(); ++i) {
    const Link& link = links[i];
    tree.properties(folder + "/" + std::to_string(i) + "/properties",
                    {{"type", link.type},
                     {"version_major", 0},
                     {"version_minor", 0},
                     {"node_from", link.from},
                     {"node_to", link.to},
                     {"weight", link.weight},
                     {"min_latency", 0},
                     {"max_latency", 0},
                     {"min_bandwidth", link.type == kXgmiLink ? link.mb_per_s : 0},
                     {"max_bandwidth", link.mb_per_s},
                     {"recommended_transfer_size", 0},
                     {"flags", 1}});
  }
}

void write_cpu(TreeWriter& tree, const Config& config) {
  const std::string node = std::string(kTopology) + "/nodes/0";
  const auto cores = static_cast<uint64_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  const uint64_t memory_bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  Links links;
  for (uint32_t gpu = 0; gpu < config.gpus.size(); ++gpu)
    links.io.push_back({.from = 0, .to = gpu + 1});
  tree.file(node + "/gpu_id", "0\n");
  tree.file(node + "/name", "\n");
  tree.properties(node + "/properties", {{"cpu_cores_count", cores},
                                         {"simd_count", 0},
                                         {"mem_banks_count", 1},
                                         {"caches_count", 0},
                                         {"io_links_count", links.io.size()},
                                         {"p2p_links_count", links.p2p.size()},
                                         {"cpu_core_id_base", 0},
                                         {"simd_id_base", 0},
                                         {"max_waves_per_simd", 0},
                                         {"lds_size_in_kb", 0},
                                         {"gds_size_in_kb", 0},
                                         {"num_gws", 0},
                                         {"wave_front_size", 0},
                                         {"array_count", 0},
                                         {"simd_arrays_per_engine", 0},
                                         {"cu_per_simd_array", 0},
                                         {"simd_per_cu", 0},
                                         {"max_slots_scratch_cu", 0},
                                         {"gfx_target_version", 0},
                                         {"vendor_id", 0},
                                         {"device_id", 0},
                                         {"location_id", 0},
                                         {"domain", 0},
                                         {"drm_render_minor", 0},
                                         {"hive_id", 0},
                                         {"num_sdma_engines", 0},
                                         {"num_sdma_xgmi_engines", 0},
                                         {"num_sdma_queues_per_engine", 0},
                                         {"num_cp_queues", 0},
                                         {"max_engine_clk_ccompute", 3000}});
  tree.properties(node + "/mem_banks/0/properties", {{"heap_type", kSystemHeap},
                                                     {"size_in_bytes", memory_bytes},
                                                     {"flags", 0},
                                                     {"width", 72},
                                                     {"mem_clk_max", 3200}});
  write_links(tree, node + "/io_links", links.io);
  write_links(tree, node + "/p2p_links", links.p2p);
}

void write_cache(TreeWriter& tree, const std::string& node, int index, uint64_t level, uint64_t kib,
                 uint64_t line_bytes) {
  tree.properties(node + "/caches/" + std::to_string(index) + "/properties",
                  {{"processor_id_low", kFirstSimd},
                   {"level", level},
                   {"size", kib},
                   {"cache_line_size", line_bytes},
                   {"cache_lines_per_tag", 1},
                   {"association", 1},
                   {"latency", 0},
                   {"type", kDataCache},
                   {"sibling_map", 1}});
}

void write_gpu_properties(TreeWriter& tree, const std::string& node, const Config& config,
                          uint32_t gpu, const Links& links) {
  const GpuConfig& own = config.gpus[gpu];
  const Model& model = model_of(own);
  const bool in_hive = std::any_of(links.io.begin(), links.io.end(),
                                   [](const Link& link) { return link.type == kXgmiLink; });
  // A model's arrays hold at least the configured units.
  const uint32_t arrays = model.shader_engines * model.family.arrays_per_engine;
  const uint32_t per_array =
      std::max(model.units_per_array, (own.compute_units + arrays - 1) / arrays);
  tree.properties(node + "/properties",
                  {{"cpu_cores_count", 0},
                   {"simd_count", own.compute_units * model.family.simds_per_unit},
                   {"mem_banks_count", 1},
                   {"caches_count", model.l3_kib != 0 ? 3 : 2},
                   {"io_links_count", links.io.size()},
                   {"p2p_links_count", links.p2p.size()},
                   {"cpu_core_id_base", 0},
                   {"simd_id_base", kFirstSimd + gpu * 1024},
                   {"max_waves_per_simd", model.family.waves_per_simd},
                   {"lds_size_in_kb", 64},
                   {"gds_size_in_kb", 0},
                   {"num_gws", 64},
                   {"wave_front_size", model.family.wave_size},
                   {"array_count", arrays},
                   {"simd_arrays_per_engine", model.family.arrays_per_engine},
                   {"cu_per_simd_array", per_array},
                   {"simd_per_cu", model.family.simds_per_unit},
                   {"max_slots_scratch_cu", 32},
                   {"gfx_target_version", own.gfx_version},
                   {"vendor_id", 0x1002},
                   {"device_id", own.device_id},
                   {"location_id", own.pci_bus << 8},
                   {"domain", own.pci_domain},
                   {"drm_render_minor", kFirstRenderMinor + gpu},
                   {"hive_id", in_hive ? own.gfx_version : 0u},
                   {"num_sdma_engines", 2},
                   {"num_sdma_xgmi_engines", model.xgmi_sdma_engines},
                   {"num_sdma_queues_per_engine", 8},
                   {"num_cp_queues", 24},
                   {"max_engine_clk_fcompute", own.shader_clock_mhz},
                   {"local_mem_size", 0},
                   {"fw_version", kFirmwareVersion},
                   {"capability", kfd_capability(model)},
                   {"debug_prop", kfd_debug_properties(model)},
                   {"sdma_fw_version", 8},
                   {"unique_id", unique_id(gpu)},
                   {"num_xcc", model.accelerator_dies},
                   {"max_engine_clk_ccompute", 3000}});
}

void write_gpu(TreeWriter& tree, const Config& config, uint32_t gpu) {
  const std::string node = std::string(kTopology) + "/nodes/" + std::to_string(gpu + 1);
  const GpuConfig& own = config.gpus[gpu];
  const Model& model = model_of(own);
  const Links links = links_of(config, gpu);
  tree.file(node + "/gpu_id", std::to_string(gpu_id(gpu)) + "\n");
  tree.file(node + "/name", std::string(model.asic) + "\n");
  write_gpu_properties(tree, node, config, gpu, links);
  tree.properties(node + "/mem_banks/0/properties",
                  {{"heap_type", own.large_bar ? kPublicVram : kPrivateVram},
                   {"size_in_bytes", own.vram_bytes},
                   {"flags", 0},
                   {"width", model.memory_width_bits},
                   {"mem_clk_max", own.memory_clock_mhz}});
  write_cache(tree, node, 0, 1, 16, 64);
  write_cache(tree, node, 1, 2, model.l2_kib, 128);
  if (model.l3_kib != 0) write_cache(tree, node, 2, 3, model.l3_kib, 128);
  write_links(tree, node + "/io_links", links.io);
  write_links(tree, node + "/p2p_links", links.p2p);
}

}  // namespace

uint32_t kfd_capability(const Model& model) {
  uint32_t bits = 1u << 1 | 1u << 7 | 2u << 8 | 2u << 12;  // MMU, 2^2 watch points, doorbells
  bits |= 1u << 27;                                        // the SVM ioctl
  bits |= 1u << 15 | 1u << 16 | 1u << 17 | 1u << 29;       // a debugger's calls
  if (model.ecc) bits |= 1u << 20 | 1u << 26;              // ECC of memory and of SRAM
  return bits;
}

uint32_t kfd_debug_properties(const Model& model) {
  const bool first_gfx9 = gfx_version_of(model) < 90010;
  // Which address bits a watch may ignore; whether waves always know their dispatch.
  return (model.family.wave_size == 64 ? 6u : 7u) | 29u << 4 | (first_gfx9 ? 0 : 1u << 10);
}

void write_topology(TreeWriter& tree, const Config& config) {
  const std::string top(kTopology);
  tree.file(top + "/generation_id", "2\n");
  tree.properties(top + "/system_properties",
                  {{"platform_oem", 0}, {"platform_id", 0}, {"platform_rev", 0}});
  tree.folder(std::string(kProcesses));
  write_cpu(tree, config);
  for (uint32_t gpu = 0; gpu < config.gpus.size(); ++gpu) write_gpu(tree, config, gpu);
}

}  // namespace softgpu
