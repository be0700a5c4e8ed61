// Which hardware counters the recorder wants, for which dispatches; passed in environment
// variables.
//
//   SONDE_COUNTERS           PASS;gfx90a=SQ:4:SQ_WAVES,TCC:17:TCC_HIT;gfx906=...
//                            Several passes separated by |: a kernel runs once for each.
//   SONDE_COUNTERS_KERNEL    only kernels whose name matches this regular expression
//   SONDE_COUNTERS_DISPATCH  only these dispatches, by their number in the process: 0,4:7
//
// Read once; without SONDE_COUNTERS nothing is counted. Used by counting.cpp and
// counter_session.cpp.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace sonde::hsa {

struct WantedCounter {
  char block[16];  // "SQ"
  uint32_t event;
  char name[64];
};

// Calls visit(counter) for each counter that a pass (`text`) has for the GPU "gfx90a". False if the
// text is malformed.
using VisitCounter = void (*)(const WantedCounter& counter, void* data);
bool each_wanted(const char* text, const char* gpu, VisitCounter visit, void* data);
// The number of the pass, with which its text begins; 0 = none.
uint32_t pass_of(const char* text);
// The text of the next pass, or nullptr.
const char* next_pass(const char* text);
// Whether "0,4:7" contains the number. True if there is no list.
bool in_ranges(const char* list, uint64_t number);

}  // namespace sonde::hsa
