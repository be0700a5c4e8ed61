// xnack: prints the process's XNACK mode, which is part of the name of a GPU's ISA; if it is on,
// lets the GPU copy from unregistered malloc() memory.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace {

hsa_agent_t gpu, cpu;
hsa_amd_memory_pool_t vram;

hsa_status_t note_agent(hsa_agent_t agent, void*) {
  hsa_device_type_t type{};
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  (type == HSA_DEVICE_TYPE_GPU ? gpu : cpu) = agent;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t note_pool(hsa_amd_memory_pool_t pool, void*) {
  bool may = false;
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &may);
  if (may) vram = pool;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t note_mode(hsa_isa_t isa, void* on) {
  char name[64] = {};
  hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name);
  *static_cast<bool*>(on) = std::strstr(name, "xnack+") != nullptr;
  return HSA_STATUS_SUCCESS;
}

}  // namespace

int main() {
  constexpr size_t kBytes = 8 << 20;
  if (hsa_init() != HSA_STATUS_SUCCESS) return 1;
  hsa_iterate_agents(note_agent, nullptr);
  bool on = false;
  hsa_agent_iterate_isas(gpu, note_mode, &on);
  std::printf("mode %d\n", on ? 1 : 0);
  if (!on) return 0;
  hsa_amd_agent_iterate_memory_pools(gpu, note_pool, nullptr);
  void* device = nullptr;
  if (hsa_amd_memory_pool_allocate(vram, kBytes, 0, &device) != HSA_STATUS_SUCCESS) return 1;
  std::vector<char> plain(kBytes, 'p'), back(kBytes);
  hsa_signal_t done{};
  hsa_signal_create(1, 0, nullptr, &done);
  const auto copy = [&](void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent) {
    hsa_signal_store_relaxed(done, 1);
    if (hsa_amd_memory_async_copy(to, to_agent, from, from_agent, kBytes, 0, nullptr, done) !=
        HSA_STATUS_SUCCESS) {
      return false;
    }
    return hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, 20'000'000'000,
                                     HSA_WAIT_STATE_BLOCKED) == 0;
  };
  const bool good = copy(device, gpu, plain.data(), gpu) && copy(back.data(), gpu, device, gpu);
  std::puts(good && back == plain ? "device memory was filled from plain memory" : "FAILED");
  return good ? 0 : 1;
}
