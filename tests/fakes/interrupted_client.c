// A program that leaves calls of HIP and RCCL by siglongjmp() out of a signal handler, and goes on
// calling. Prints how many calls returned.
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>

int hipSetDevice(int device);
int hipDeviceSynchronize(void);
int ncclAllReduce(const void*, void*, size_t, int, int, void*, void*);
int ncclSend(const void*, size_t, int, int, void*, void*);

static sigjmp_buf before;

static void leave(int signal) {
  (void)signal;
  siglongjmp(before, 1);
}

int main(void) {
  volatile int returned = 0;
  signal(SIGUSR1, leave);
  for (volatile int i = 0; i < 10; ++i) {
    if (sigsetjmp(before, 1) == 0) hipDeviceSynchronize();
    returned += hipSetDevice(0) == 0;
    if (sigsetjmp(before, 1) == 0) ncclAllReduce(NULL, NULL, 1, 7, 0, NULL, NULL);
    returned += ncclSend(NULL, 1, 7, 0, NULL, NULL) == 0;
  }
  printf("{\"returned\": %d}\n", returned);
  return 0;
}
