/* Ranges inside ranges, 40 deep, with pops too many and a push left open; through sonde.h. Says
 * what sonde_range_pop() returned: "recorded" is 1 where the levels were right, which they are only
 * under the recorder, and "errors" counts wrong ones there. */
#include "mark_options.h"
#include "sonde/sonde.h"

int main(int argc, char** argv) {
  enum { kDepth = 40 };
  const struct mark_options options = mark_parse(argc, argv, 1, 10);
  const int recorded = sonde_api() != NULL;
  long ranges = 0;
  int errors = 0;
  char text[64];
  for (long round = 0; round < options.pairs; ++round) {
    for (int depth = 0; depth < kDepth; ++depth) {
      snprintf(text, sizeof text, "round %ld depth %d", round, depth);
      sonde_range_push(text);
    }
    for (int depth = kDepth; depth-- > 0;) {
      const int left = sonde_range_pop();
      errors += recorded && left != depth;
      ++ranges;
    }
    errors += sonde_range_pop() != -1;
  }
  sonde_range_push("left open");
  printf("{\"ranges\":%ld,\"marks\":0,\"open\":1,\"depth\":%d,\"recorded\":%d,\"errors\":%d}\n",
         ranges, kDepth, recorded, errors);
  return 0;
}
