/* A program that is built without HIP and looks whether it is there: by a weak symbol, and then for
 * GPUs. Prints "CPU" where it finds none. */
#include <stdio.h>

extern int hipGetDeviceCount(int* count) __attribute__((weak));

int main(void) {
  int count = 7;
  const int error = hipGetDeviceCount != NULL ? hipGetDeviceCount(&count) : 100;
  if (hipGetDeviceCount == NULL || (error == 100 && count == 0)) return puts("CPU") < 0;
  printf("error %d, %d devices\n", error, count);
  return 1;
}
