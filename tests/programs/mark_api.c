/* Every function of sonde.h once or twice, with text that is long, empty, changed after the call or
 * not ASCII, and with recording switched off in between. */
#include "mark_options.h"
#include "sonde/sonde.h"

int main(void) {
  char text[32] = "before";
  sonde_mark(text);
  memcpy(text, "AFTER!", 7); /* the mark keeps what the text was */
  sonde_mark("");
  sonde_mark("gr\xc3\xbc\xc3\x9f \"quoted\" \\ and\nnewline");

  char* long_text = malloc(10001);
  if (long_text == NULL) return 2;
  memset(long_text, 'x', 10000);
  long_text[10000] = '\0';
  sonde_mark(long_text);
  memset(long_text, 'y', 10000);
  sonde_range_push(long_text);
  memset(long_text, 'z', 10000);
  sonde_range_pop();
  free(long_text);

  const uint64_t outer = sonde_range_start("started");
  sonde_counter("loss", 0.25);
  sonde_counter("loss", -1e300);
  sonde_metadata("batch size", "64");
  sonde_stop();
  sonde_mark("not recorded");
  sonde_stop();
  sonde_start();
  sonde_mark("still not recorded");
  sonde_start();
  sonde_mark("recorded again");
  sonde_range_stop(outer);
  sonde_flush();
  printf("{\"ranges\":2,\"marks\":5,\"counters\":2,\"metadata\":1}\n");
  return 0;
}
