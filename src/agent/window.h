// Recording only while a range is open whose name matches (record --window marker:REGEX). In such a
// session, markers go through these functions instead of those of events.h, so other sessions pay
// nothing. A matching range counts as one sonde_start() of the process and, at its end, as one
// sonde_stop().
#pragma once

#include <stdint.h>

namespace sonde::agent {

struct Ring;

// Reads SONDE_MARKER_WINDOW; call once, before anything is recorded. False: no windows.
bool begin_windows();
bool has_windows();

// As in events.h.
void window_range_push(uint32_t domain, uint32_t category, const char* text);
int window_range_pop(uint32_t domain);
uint64_t window_range_start(uint32_t domain, uint32_t category, const char* text);
void window_range_stop(uint64_t id);

// Ends the windows that a thread leaves open.
void end_windows_of(const Ring* ring);
// For a forked child: the open windows are the parent's. It may match no further names if one was
// being matched as it was forked.
void forget_windows(bool may_match);

}  // namespace sonde::agent
