// Recording while a range is open whose name matches (record --window marker:REGEX). Where that is
// wanted, markers come in through the functions here instead of those of events.h, so it costs
// others nothing. A range counts as one sonde_start() and, at its end, one sonde_stop() of the
// process.
#pragma once

#include <stdint.h>

namespace sonde::agent {

struct Ring;

// SONDE_MARKER_WINDOW of the environment; once, before anything is recorded. False: no windows.
bool begin_windows();
bool has_windows();

// As in events.h.
void window_range_push(uint32_t domain, uint32_t category, const char* text);
int window_range_pop(uint32_t domain);
uint64_t window_range_start(uint32_t domain, uint32_t category, const char* text);
void window_range_stop(uint64_t id);

// The ranges that the thread has open end with it.
void end_windows_of(const Ring* ring);
// In a forked child, whose open ranges are the parent's.
void forget_windows();

}  // namespace sonde::agent
