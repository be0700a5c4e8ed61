/* Stands in for the device libraries' hip.bc, which they link first: what is defined here is not
 * taken from ockl.bc. hip.bc's own function is at the end; the others are functions that talk to
 * the host through a hostcall buffer. softgpu has no hostcall service; what they do goes straight
 * to the executor. Compiled for the GPU. */
#include <stdbool.h>
#include <stdint.h>

typedef unsigned int uint;

uint64_t softgpu_print_begin(int to_stderr);
void softgpu_print_string(uint64_t id, const char* text, uint64_t bytes, uint last);
void softgpu_print_values(uint64_t id, uint count, const uint64_t* values, uint last);
void* softgpu_allocate(uint64_t bytes);
void softgpu_release(void* p);

uint64_t __ockl_printf_begin(uint64_t version) { return softgpu_print_begin(0); }
uint64_t __ockl_fprintf_stdout_begin(void) { return softgpu_print_begin(0); }
uint64_t __ockl_fprintf_stderr_begin(void) { return softgpu_print_begin(1); }

uint64_t __ockl_printf_append_string_n(uint64_t id, const char* text, uint64_t bytes, uint last) {
  softgpu_print_string(id, text, bytes, last);
  return id;
}
uint64_t __ockl_fprintf_append_string_n(uint64_t id, const char* text, uint64_t bytes, uint last) {
  softgpu_print_string(id, text, bytes, last);
  return id;
}
uint64_t __ockl_printf_append_args(uint64_t id, uint count, uint64_t a, uint64_t b, uint64_t c,
                                   uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint last) {
  uint64_t values[7] = {a, b, c, d, e, f, g};
  softgpu_print_values(id, count, values, last);
  return id;
}
uint64_t __ockl_fprintf_append_args(uint64_t id, uint count, uint64_t a, uint64_t b, uint64_t c,
                                    uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint last) {
  return __ockl_printf_append_args(id, count, a, b, c, d, e, f, g, last);
}

__attribute__((address_space(1))) void* __ockl_dm_alloc(uint64_t bytes) {
  return (__attribute__((address_space(1))) void*)softgpu_allocate(bytes);
}
void __ockl_dm_dealloc(uint64_t address) { softgpu_release((void*)address); }

void __atomic_work_item_fence(uint flags, uint order, uint scope) {
  bool within_group =
      scope == __OPENCL_MEMORY_SCOPE_WORK_GROUP || scope == __OPENCL_MEMORY_SCOPE_SUB_GROUP;
  if (scope == __OPENCL_MEMORY_SCOPE_WORK_ITEM) return;
  if (within_group)
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  else
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
}
