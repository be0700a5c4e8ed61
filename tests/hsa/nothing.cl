kernel void hsa_nothing(void) {}

kernel void hsa_spin(global volatile int* flag, int step, float by) {
  while (*flag == 0) {
  }
  *flag = (int)(step * by);
}

kernel void hsa_add(global int* data, int by) { data[__builtin_amdgcn_workitem_id_x()] += by; }
