// The kernel for programs/pc_sampling.cpp, which computes the same: a loop of all lanes, and one of
// every other lane.
extern "C" __attribute__((global)) void two_loops(unsigned* result, unsigned rounds) {
  const unsigned item = __builtin_amdgcn_workgroup_id_x() * 128 + __builtin_amdgcn_workitem_id_x() +
                        __builtin_amdgcn_workgroup_id_y() * 256;
  unsigned value = item;
#pragma clang loop unroll(disable)
  for (unsigned i = 0; i < rounds; ++i) value = value * 1664525 + 1013904223;
  if (item & 1) {
#pragma clang loop unroll(disable)
    for (unsigned i = 0; i < rounds; ++i) value = (value ^ value >> 3) + i;
  }
  result[item] = value;
}
