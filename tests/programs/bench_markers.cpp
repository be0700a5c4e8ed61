// Sonde's marker pair, for tests/bench/markers.py.
#include "marker_loop.h"
#include "sonde/sonde.h"

int main(int argc, char** argv) {
  return marker_loop(
      argc, argv, [](const char* text) { sonde_range_push(text); }, [] { sonde_range_pop(); });
}
