kernel void hsa_nothing(void) {}
