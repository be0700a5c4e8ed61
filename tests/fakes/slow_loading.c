/* A library for LD_AUDIT, which makes the loading of Sonde's agent take a second, as it may on a
 * machine that is busy. */
#define _GNU_SOURCE
#include <link.h>
#include <string.h>
#include <time.h>

unsigned la_version(unsigned offered) { return offered; }

unsigned la_objopen(struct link_map* map, Lmid_t space, uintptr_t* cookie) {
  (void)space, (void)cookie;
  const struct timespec second = {1, 0};
  if (strstr(map->l_name, "libsonde-agent") != NULL) nanosleep(&second, NULL);
  return 0;
}
