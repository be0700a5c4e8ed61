/* Replaces functions of the device libraries' ockl.bc that talk to the host through a hostcall
 * buffer. softgpu has no hostcall service; these requests go directly to the executor. Compiled
 * for the GPU. */
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
