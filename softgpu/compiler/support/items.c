/* A work item's position, what it may wait for, and its requests to the host. */
#include "support.h"

uint32_t item_amdgcn_workitem_id_x(Item* i) { return i->id[0]; }
uint32_t item_amdgcn_workitem_id_y(Item* i) { return i->id[1]; }
uint32_t item_amdgcn_workitem_id_z(Item* i) { return i->id[2]; }
uint32_t item_amdgcn_workgroup_id_x(Item* i) { return i->group->id[0]; }
uint32_t item_amdgcn_workgroup_id_y(Item* i) { return i->group->id[1]; }
uint32_t item_amdgcn_workgroup_id_z(Item* i) { return i->group->id[2]; }
const void* item_amdgcn_dispatch_ptr(Item* i) { return i->group->packet; }
const void* item_amdgcn_kernarg_segment_ptr(Item* i) { return i->group->kernarg; }
const void* item_amdgcn_implicitarg_ptr(Item* i) { return i->group->implicit_args; }
uint32_t item_amdgcn_groupstaticsize(Item* i) { return i->group->static_bytes; }
uint64_t pure_amdgcn_dispatch_id(void) { return 0; }

/* Called by softgpu-lower's own code: the address of a __shared__ variable, of dynamic LDS and
 * of a variable of the module. */
void* item_softgpu_lds(Item* i, uint64_t offset) { return i->group->lds + offset; }
void* item_softgpu_dynamic_lds(Item* i) { return i->group->lds + i->group->static_bytes; }
void* item_softgpu_variable(Item* i, uint32_t index) { return i->group->variables[index]; }

bool item_amdgcn_is_shared(Item* i, const char* p) {
  return p >= i->group->lds && p < i->group->lds + i->group->lds_bytes;
}
bool item_amdgcn_is_private(Item* i, const char* p) {
  return p >= i->stack_begin && p < i->stack_end;
}

void wait_amdgcn_s_barrier(Item* i) { i->group->api->barrier(i); }
void wait_amdgcn_s_sleep(Item* i, uint32_t time) {
  (void)time;
  i->group->api->yield(i);
}
void wait_softgpu_yield(Item* i) { i->group->api->yield(i); }

uint64_t pure_amdgcn_s_memtime(void) { return __builtin_ia32_rdtsc(); }
uint64_t item_amdgcn_s_memrealtime(Item* i) { return i->group->api->clock_ns() / 10; }

/* All items of a group, one after another: the template that softgpu-lower copies for each
 * kernel whose items do not wait for each other, with that kernel in place of softgpu_item. */
void softgpu_item(Item* item);
void softgpu_run_group(struct SoftgpuGroup* restrict group) {
  Item item;
  item.group = group;
  item.stack_begin = group->stack_begin;
  item.stack_end = group->stack_end;
  uint32_t linear = 0;
  for (uint32_t z = 0; z < group->size[2]; z++)
    for (uint32_t y = 0; y < group->size[1]; y++)
      for (uint32_t x = 0; x < group->size[0]; x++, linear++) {
        item.id[0] = x, item.id[1] = y, item.id[2] = z;
        item.lane = linear % group->wave_size;
        item.wave = linear / group->wave_size;
        softgpu_item(&item);
      }
}

/* Hints, and waits that are no-ops on a host. */
void pure_amdgcn_s_waitcnt(uint32_t counters) { (void)counters; }
void pure_amdgcn_s_setprio(uint16_t priority) { (void)priority; }
void pure_amdgcn_sched_barrier(uint32_t mask) { (void)mask; }
void pure_amdgcn_s_dcache_inv(void) {}
void pure_amdgcn_s_dcache_wb(void) {}
void pure_amdgcn_buffer_wbinvl1(void) {}
void pure_amdgcn_buffer_wbinvl1_vol(void) {}

/* Device printf, assert, malloc: overrides.c routes them here. */
uint64_t item_softgpu_print_begin(Item* i, int to_stderr) {
  return i->group->api->print_begin(i, to_stderr);
}
void item_softgpu_print_string(Item* i, uint64_t id, const char* text, uint64_t bytes,
                               uint32_t last) {
  i->group->api->print_string(i, id, text, bytes, last);
}
void item_softgpu_print_values(Item* i, uint64_t id, uint32_t count, const uint64_t* values,
                               uint32_t last) {
  i->group->api->print_values(i, id, count, values, last);
}
void* item_softgpu_allocate(Item* i, uint64_t bytes) { return i->group->api->allocate(i, bytes); }
void item_softgpu_release(Item* i, void* p) { i->group->api->release(i, p); }
