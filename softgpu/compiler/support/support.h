/* support: the meaning of GPU instructions, as C for the host. Compiled to bitcode when softgpu is
 * built; softgpu-lower replaces each call of an intrinsic `llvm.amdgcn.a.b` in a kernel by a call
 * of the function with that name here, and LLVM inlines it.
 *
 * The prefix says which arguments precede the intrinsic's own:
 *   pure_NAME(...)               nothing
 *   item_NAME(item, ...)         the work item
 *   wait_NAME(item, ...)         the work item; may let other items run before it returns
 *   lane_NAME(item, site, ...)   as wait_, and the place in the program, for a meeting of lanes
 * An intrinsic that returns {a, b} is NAME_r0 and NAME_r1. Pointer kinds (.p1, .p3) are no part of
 * the name. What has no function here makes its kernels not computable.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../compute/kernel_abi.h"

typedef struct SoftgpuItem Item;
typedef struct SoftgpuMeeting Meeting;
typedef _Float16 half;
typedef _Float16 half2 __attribute__((ext_vector_type(2)));
typedef int16_t short2 __attribute__((ext_vector_type(2)));
typedef uint16_t ushort2 __attribute__((ext_vector_type(2)));

static inline const Meeting* meet(Item* item, uint32_t site, uint64_t a, uint64_t b) {
  return item->group->api->meet(item, site, a, b);
}
