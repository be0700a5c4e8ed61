#include "measure/roofs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "measure/hip.h"
#include "measure/kernels.h"

namespace sonde::measure {
namespace {

constexpr unsigned kItems = 256;                      // of a group
constexpr unsigned kWaves = 4;                        // in a group
constexpr unsigned kGib = 1u << 26, kMib = 1u << 16;  // in elements of 16 bytes
constexpr double kRead = 64 * 16;                     // bytes of a wave for one element a lane
constexpr double kFma = 8 * 64 * 2;                   // operations of a wave in a round

// The roof of a matrix instruction that multiplies m x k by k x n.
constexpr Roof matrix(const char* kernel, const char* column, unsigned rounds, double m, double n,
                      double k) {
  return {kernel, column, false, {8, 1024, rounds}, {1, 1024, 8}, 4 * 2 * m * n * k};
}

constexpr Roof kRoofs[] = {
    {"sonde_roof_hbm", "HBMBw", true, {64, kGib, 0}, {4, 16 * kMib, 0}, kRead},
    {"sonde_roof_l2", "L2Bw", true, {16, 2 * kMib, 4096}, {2, 2 * kMib, 64}, kRead},
    {"sonde_roof_l1", "L1Bw", true, {16, 512, 8192}, {2, 512, 128}, kRead},
    {"sonde_roof_lds", "LDSBw", true, {8, 1024, 16384}, {2, 1024, 256}, kRead},
    {"sonde_roof_fp32", "FP32Flops", false, {16, 1024, 16384}, {1, 1024, 256}, kFma},
    {"sonde_roof_fp64", "FP64Flops", false, {16, 1024, 16384}, {1, 1024, 256}, kFma},
    {"sonde_roof_fp16", "FP16Flops", false, {16, 1024, 16384}, {1, 1024, 256}, 2 * kFma},
    {"sonde_roof_i32", "I32Ops", false, {16, 1024, 16384}, {1, 1024, 128}, kFma},
    {"sonde_roof_i64", "I64Ops", false, {16, 1024, 4096}, {1, 1024, 64}, kFma},
    {"sonde_roof_i8", "I8Ops", false, {16, 1024, 16384}, {1, 1024, 128}, 4 * kFma},
    matrix("sonde_roof_mfma_f16", "MFMAF16Flops", 8192, 32, 32, 8),
    matrix("sonde_roof_mfma_bf16", "MFMABF16Flops", 8192, 32, 32, 8),
    matrix("sonde_roof_mfma_f32", "MFMAF32Flops", 4096, 32, 32, 2),
    matrix("sonde_roof_mfma_f64", "MFMAF64Flops", 4096, 16, 16, 4),
    matrix("sonde_roof_mfma_i8", "MFMAI8Ops", 8192, 32, 32, 8),
    matrix("sonde_roof_mfma_i8_long", "MFMAI8Ops", 8192, 32, 32, 16),
    matrix("sonde_roof_mfma_f8", "MFMAF8Flops", 8192, 32, 32, 16)};

// A GPU as KFD reports it.
struct Gpu {
  std::string architecture;
  unsigned compute_units = 0;
};

// 90010 is gfx90a: major, minor and stepping, two decimal digits each.
std::string architecture_of(int64_t version) {
  return fmt::format("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100);
}

std::vector<Gpu> gpus() {
  std::vector<Gpu> found;
  const std::filesystem::path nodes = "/sys/class/kfd/kfd/topology/nodes";
  for (int node = 0;; ++node) {
    std::ifstream file(nodes / std::to_string(node) / "properties");
    if (!file) return found;
    std::map<std::string, int64_t> facts;
    std::string key;
    for (int64_t value = 0; file >> key >> value;) facts[key] = value;
    const int64_t simds = facts["simd_count"], of_cu = std::max<int64_t>(facts["simd_per_cu"], 1);
    if (simds > 0 && facts["gfx_target_version"] > 0) {
      found.push_back(
          {architecture_of(facts["gfx_target_version"]), static_cast<unsigned>(simds / of_cu)});
    }
  }
}

Result<std::vector<char>> compile(const Hip& hip, const std::string& architecture) {
  void* program = nullptr;
  SONDE_TRY(check(hip,
                  hip.create_program(&program, kKernelSource, "roofs.hip", 0, nullptr, nullptr),
                  "hiprtcCreateProgram"));
  const std::string option = "--gpu-architecture=" + architecture;
  const char* options[] = {option.c_str(), "-O3"};
  if (hip.compile(program, 2, options) != 0) {
    size_t bytes = 0;
    hip.log_size(program, &bytes);
    std::string log(bytes, '\0');
    if (bytes > 0) hip.log(program, log.data());
    hip.destroy_program(&program);
    std::replace(log.begin(), log.end(), '\n', ' ');
    return make_error(ErrorCode::kUnsupported, "hiprtc refuses the kernels: " + log, architecture);
  }
  size_t bytes = 0;
  hip.code_size(program, &bytes);
  std::vector<char> code(bytes);
  hip.code(program, code.data());
  hip.destroy_program(&program);
  return code;
}

// What the kernels read, and write to: a place for each work item.
struct Memory {
  void* from = nullptr;
  void* to = nullptr;
};

unsigned groups_of(const Roof::Size& size, unsigned compute_units) {
  return size.groups_of_cu * compute_units;
}

Status launch(const Hip& hip, const Gpu& gpu, void* module, const Memory& memory, const Roof& roof,
              bool on_softgpu) {
  void* function = nullptr;
  if (hip.module_function(&function, module, roof.kernel) != 0) return ok_status();  // it has none
  const Roof::Size& size = roof.size(on_softgpu);
  unsigned elements = size.elements, rounds = size.rounds;
  void *from = memory.from, *to = memory.to;
  void* arguments[] = {&from, &to, &elements, &rounds};
  const int launches = on_softgpu ? 1 : 6;
  for (int i = 0; i < launches; ++i) {
    SONDE_TRY(check(hip,
                    hip.launch(function, groups_of(size, gpu.compute_units), 1, 1, kItems, 1, 1, 0,
                               nullptr, arguments, nullptr),
                    roof.kernel));
    SONDE_TRY(check(hip, hip.synchronize(), roof.kernel));
  }
  return ok_status();
}

Status launch_on(const Hip& hip, int device, const Gpu& gpu, bool on_softgpu) {
  SONDE_TRY(check(hip, hip.set_device(device), "hipSetDevice"));
  SONDE_ASSIGN(const std::vector<char> code, compile(hip, gpu.architecture));
  void* module = nullptr;
  SONDE_TRY(check(hip, hip.module_load(&module, code.data()), "hipModuleLoadData"));
  size_t elements = 0, items = 0;
  for (const Roof& roof : kRoofs) {
    const Roof::Size& size = roof.size(on_softgpu);
    elements = std::max<size_t>(elements, size.elements);
    items = std::max<size_t>(items, size_t{groups_of(size, gpu.compute_units)} * kItems);
  }
  constexpr size_t kElement = 16;
  Memory memory;
  SONDE_TRY(check(hip, hip.malloc(&memory.from, elements * kElement), "hipMalloc"));
  SONDE_TRY(check(hip, hip.malloc(&memory.to, items * kElement), "hipMalloc"));
  SONDE_TRY(check(hip, hip.memset(memory.from, 0, elements * kElement), "hipMemset"));
  for (const Roof& roof : kRoofs) {
    SONDE_TRY(launch(hip, gpu, module, memory, roof, on_softgpu));
  }
  hip.free(memory.from);
  hip.free(memory.to);
  hip.module_unload(module);
  return ok_status();
}

}  // namespace

double Roof::work(unsigned compute_units, bool on_softgpu) const {
  const Size& of_launch = size(on_softgpu);
  if (of_launch.rounds == 0) return of_round / 64 * of_launch.elements;
  return of_round * of_launch.rounds * kWaves * groups_of(of_launch, compute_units);
}

std::span<const Roof> all_roofs() { return kRoofs; }

Status launch_roofs(bool on_softgpu) {
  SONDE_ASSIGN(const Hip hip, load_hip());
  const std::vector<Gpu> there = gpus();
  int count = 0;
  SONDE_TRY(check(hip, hip.get_device_count(&count), "hipGetDeviceCount"));
  if (static_cast<size_t>(count) != there.size()) {
    return make_error(ErrorCode::kUnsupported,
                      fmt::format("HIP sees {} of {} GPUs", count, there.size()), "",
                      "unset ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES");
  }
  for (int device = 0; device < count; ++device) {
    SONDE_TRY(launch_on(hip, device, there[static_cast<size_t>(device)], on_softgpu));
  }
  return ok_status();
}

}  // namespace sonde::measure
