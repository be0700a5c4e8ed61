// xnack: prints the process's XNACK mode, which is part of the name of a GPU's ISA; if it is on,
// lets the GPU copy from unregistered malloc() memory.
#include <cstdio>
#include <cstring>
#include <vector>

#include "hsa/hsa_machine.h"

namespace {

hsa_status_t note_mode(hsa_isa_t isa, void* on) {
  char name[64] = {};
  hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name);
  *static_cast<bool*>(on) = std::strstr(name, "xnack+") != nullptr;
  return HSA_STATUS_SUCCESS;
}

}  // namespace

int main() {
  constexpr size_t kBytes = 8 << 20;
  MUST(hsa_init());
  const Machine machine = find_machine();
  bool on = false;
  hsa_agent_iterate_isas(machine.gpu, note_mode, &on);
  std::printf("mode %d\n", on ? 1 : 0);
  if (!on) return 0;
  void* device = nullptr;
  MUST(hsa_amd_memory_pool_allocate(machine.device, kBytes, 0, &device));
  std::vector<char> plain(kBytes, 'p'), back(kBytes);
  hsa_signal_t done{};
  hsa_signal_create(1, 0, nullptr, &done);
  const auto copy = [&](void* to, const void* from) {
    hsa_signal_store_relaxed(done, 1);
    if (hsa_amd_memory_async_copy(to, machine.gpu, from, machine.gpu, kBytes, 0, nullptr, done) !=
        HSA_STATUS_SUCCESS) {
      return false;
    }
    return hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, 20'000'000'000,
                                     HSA_WAIT_STATE_BLOCKED) == 0;
  };
  const bool good = copy(device, plain.data()) && copy(back.data(), device);
  std::puts(good && back == plain ? "device memory was filled from plain memory" : "FAILED");
  return good ? 0 : 1;
}
