// Works for a while in which libc's mmap, munmap and madvise jump to themselves: UCX leaves them so
// while it replaces them, and who calls them in a signal handler then would never return. Prints
// "unpatched".
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "cpu_clock.h"

static const char* const kNames[] = {"mmap", "munmap", "madvise"};
enum { kCount = 3, kPage = 4096 };

int main(void) {
  const unsigned char loop[2] = {0xeb, 0xfe};
  unsigned char* places[kCount];
  unsigned char before[kCount][2];
  for (int i = 0; i < kCount; i++) {
    places[i] = dlsym(RTLD_DEFAULT, kNames[i]);
    if (places[i] == NULL) return 2;
    void* page = (void*)((uintptr_t)places[i] & ~(uintptr_t)(kPage - 1));
    if (mprotect(page, 2 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return 3;
    memcpy(before[i], places[i], 2);
  }
  const int64_t until = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + 1500000000;
  for (int i = 0; i < kCount; i++) memcpy(places[i], loop, 2);
  while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until) {
  }
  for (int i = 0; i < kCount; i++) memcpy(places[i], before[i], 2);
  puts("unpatched");
  return 0;
}
