/* A program that says with CUDA's functions when it wants to be recorded: twice it starts and
 * stops, and marks "out" outside and "in" within. Prints as JSON how often it has done the latter,
 * and how many calls have reached the runtime. */
#include <stdio.h>

#include "sonde/sonde.h"

int cudaProfilerStart(void);
int cudaProfilerStop(void);
int fakeSwitched(void);

int main(void) {
  int inside = 0;
  for (int i = 0; i < 2; ++i) {
    sonde_mark("out");
    if (cudaProfilerStart() != 0) return 1;
    for (int k = 0; k < 100; ++k, ++inside) sonde_mark("in");
    if (cudaProfilerStop() != 0 || cudaProfilerStop() != 0) return 1;
    sonde_mark("out");
  }
  printf("{\"inside\": %d, \"switched\": %d}\n", inside, fakeSwitched());
  return 0;
}
