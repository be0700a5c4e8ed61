// Works for a while in which libc's mmap, munmap and madvise jump to themselves: UCX leaves them so
// while it replaces them, and who calls them in a signal handler then would never return. Prints
// "unpatched".
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static const char* const kNames[] = {"mmap", "munmap", "madvise"};
enum { kCount = 3, kPage = 4096 };

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

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
  const double until = cpu_seconds() + 1.5;
  for (int i = 0; i < kCount; i++) memcpy(places[i], loop, 2);
  while (cpu_seconds() < until) {
  }
  for (int i = 0; i < kCount; i++) memcpy(places[i], before[i], 2);
  puts("unpatched");
  return 0;
}
