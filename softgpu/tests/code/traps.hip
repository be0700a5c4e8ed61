// Kernels for programs/traps.cpp: what stops a wave, and what does not.
// A trap that ROCr's handler returns from: 1 for ROCr 5.2, 3 (llvm.debugtrap) for versions that
// enable the debugger interface.
extern "C" __attribute__((global)) void passes1(unsigned* result) {
  asm volatile("s_trap 1");
  result[__builtin_amdgcn_workitem_id_x()] = 42;
}
extern "C" __attribute__((global)) void passes3(unsigned* result) {
  asm volatile("s_trap 3");
  result[__builtin_amdgcn_workitem_id_x()] = 42;
}
extern "C" __attribute__((global)) void traps(unsigned* result) {
  result[__builtin_amdgcn_workitem_id_x()] = 1;
  __builtin_trap();
}
extern "C" __attribute__((global)) void illegal(unsigned* result) {
  result[__builtin_amdgcn_workitem_id_x()] = 2;
  asm volatile(".long 0xf0001100, 0");  // image_load
}
extern "C" __attribute__((global)) void violates(unsigned* result) {
  result[__builtin_amdgcn_workitem_id_x()] = 3;
  // A flat address in the private aperture, far beyond this kernel's private memory.
  *reinterpret_cast<volatile unsigned*>((static_cast<unsigned long long>(0x20000) << 32) +
                                        0xf0000000) = 1;
}
