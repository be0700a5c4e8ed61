// A program whose only thread that calls HIP has the smallest stack that there is.
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

int hipSetDevice(int device);

static void* call(void* unused) {
  for (int i = 0; i < 10; ++i) hipSetDevice(0);
  return unused;
}

int main(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN) != 0) return 1;
  if (pthread_create(&thread, &attributes, call, NULL) != 0) return 1;
  pthread_join(thread, NULL);
  puts("called");
  return 0;
}
