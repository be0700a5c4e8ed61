// Makes its /proc files its own, as a program of another user or one with capabilities has them,
// and then works for a second.
#include <sys/prctl.h>
#include <time.h>

int main(void) {
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return 1;
  for (const clock_t end = clock() + CLOCKS_PER_SEC / 2; clock() < end;) {
  }
  const struct timespec rest = {0, 500000000};
  nanosleep(&rest, 0);
  return 0;
}
