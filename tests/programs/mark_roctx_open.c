/* Opens ROCTX libraries by name at run time, as many frameworks do; --library NAME[,NAME...]
 * (default libroctx64.so). The range is made through the first, the mark through the last. */
#include <dlfcn.h>

#include "mark_options.h"

static void* find(void* library, const char* name) {
  void* function = dlsym(library, name);
  if (function == NULL) {
    fprintf(stderr, "no %s: %s\n", name, dlerror());
    exit(3);
  }
  return function;
}

int main(int argc, char** argv) {
  const struct mark_options options = mark_parse(argc, argv, 1, 1);
  char* names = strdup(options.library != NULL ? options.library : "libroctx64.so");
  void* first = NULL;
  void* last = NULL;
  for (char* name = strtok(names, ","); name != NULL; name = strtok(NULL, ",")) {
    last = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (last == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      free(names);
      return 3;
    }
    if (first == NULL) first = last;
  }
  int (*push)(const char*) = (int (*)(const char*))(uintptr_t)find(first, "roctxRangePushA");
  int (*pop)(void) = (int (*)(void))(uintptr_t)find(first, "roctxRangePop");
  void (*mark)(const char*) = (void (*)(const char*))(uintptr_t)find(last, "roctxMarkA");
  int errors = 0;
  for (long i = 0; i < options.pairs; ++i) {
    errors += push("opened") != 0;
    mark("opened mark");
    errors += pop() != 0;
  }
  printf("{\"ranges\":%ld,\"marks\":%ld,\"errors\":%d}\n", options.pairs, options.pairs, errors);
  free(names);
  return errors != 0;
}
