#include "compute/registry.h"

#include <cstdio>
#include <mutex>

namespace softgpu {

namespace {

struct Registry {
  std::mutex mutex;
  SoftgpuModule* first = nullptr;
};

Registry& registry() {
  static constinit Registry instance;
  return instance;
}

}  // namespace

RegisteredKernel find_kernel(std::string_view name) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  for (const SoftgpuModule* module = all.first; module; module = module->next)
    for (uint32_t i = 0; i < module->kernel_count; i++)
      if (name == module->kernels[i].name) return {&module->kernels[i], module};
  return {};
}

}  // namespace softgpu

extern "C" __attribute__((visibility("default"))) void softgpu_register_module(
    SoftgpuModule* module) {
  if (module->abi != SOFTGPU_ABI) {
    std::fprintf(stderr,
                 "softgpu: a program was built by a softgpu-hipcc of another version (%u, this is "
                 "%u); its kernels run as machine code: build it again\n",
                 module->abi, SOFTGPU_ABI);
    return;
  }
  softgpu::Registry& all = softgpu::registry();
  std::lock_guard lock(all.mutex);
  module->next = all.first;
  all.first = module;
}

extern "C" __attribute__((visibility("default"))) void softgpu_unregister_module(
    SoftgpuModule* module) {
  softgpu::Registry& all = softgpu::registry();
  std::lock_guard lock(all.mutex);
  for (SoftgpuModule** at = &all.first; *at; at = &(*at)->next) {
    if (*at != module) continue;
    *at = module->next;
    return;
  }
}
