// A HIP with four devices, under the name that a wheel gives its copy of the library, or within an
// extension module.
int hipGetDeviceCount(int* count) {
  *count = 4;
  return 0;
}
