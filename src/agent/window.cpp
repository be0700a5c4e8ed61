#include "agent/window.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "agent/definitions.h"
#include "agent/events.h"
#include "agent/spool.h"
#include "agent/state.h"
#include "base/errno_keeper.h"
#include "wire/changes.h"

namespace sonde::agent {

namespace {

constexpr uint32_t kKnownTexts = 256;
constexpr uint32_t kMostStarted = 64;

struct Windows {
  bool wanted = false;
  bool is_stuck = false;  // in a child: another thread of the parent may have been matching
  regex_t pattern = {};
  uint32_t open = 0;                    // open ranges that match
  uint64_t known[kKnownTexts] = {};     // hashes of texts; the lowest bit is the answer
  uint64_t started[kMostStarted] = {};  // ids of matching ranges that range_start() began
};
constinit Windows g_windows;

// regexec() takes a lock of its own for as long as it matches. A forked child would inherit it from
// another thread, and a signal handler wait for its own thread: so it is only taken with the lock
// that a fork waits for, and not by a handler. False: not now.
bool match(const char* text, bool& yes) {
  const Inside inside;
  const bool had = holds_definitions();
  if (!inside) return false;
  if (g_windows.is_stuck) count_drop(wire::DropSource::kDefinition, wire::DropReason::kBusy);
  if (g_windows.is_stuck || (!had && !lock_definitions())) return false;
  const ErrnoKeeper keep;
  yes = regexec(&g_windows.pattern, text, 0, nullptr, 0) == 0;
  if (!had) unlock_definitions();
  return true;
}

// Caches answers: matching takes a microsecond, and programs use few names.
bool matches(const char* text) {
  if (text == nullptr) return false;
  uint64_t hash = 0xCBF29CE484222325;
  for (const char* c = text; *c != '\0'; ++c) {
    hash = (hash ^ static_cast<unsigned char>(*c)) * 0x100000001B3;
  }
  hash |= 2;  // never 0, which marks an empty place
  uint64_t& place = g_windows.known[(hash >> 32) % kKnownTexts];
  const uint64_t known = load(place);
  if ((known | 1) == (hash | 1)) return (known & 1) != 0;
  bool yes = false;
  if (!match(text, yes)) return false;
  store(place, (hash & ~uint64_t{1}) | (yes ? 1 : 0));
  return yes;
}

void opened() {
  __atomic_fetch_add(&g_windows.open, 1, __ATOMIC_RELAXED);
  switch_on();
}

void ended(uint32_t count) {
  if (count == 0) return;
  __atomic_fetch_sub(&g_windows.open, count, __ATOMIC_RELAXED);
  __atomic_fetch_sub(&g_state.balance, static_cast<int>(count), __ATOMIC_RELAXED);
}

uint32_t ranges_of(const Ring* ring) {
  return ring != nullptr && ring->chunk != nullptr ? load(ring->chunk->open_ranges) : 0;
}

// How many of the open ranges are windows.
uint32_t windows_of(const Ring* ring) {
  uint32_t count = 0;
  for (uint32_t i = ranges_of(ring); i-- > 0;) {
    count += (ring->chunk->ranges[i].state & wire::kRangeIsWindow) != 0 ? 1 : 0;
  }
  return count;
}

}  // namespace

void switch_on() {
  store(g_state.was_off, 1u);
  __atomic_fetch_add(&g_state.balance, 1, __ATOMIC_SEQ_CST);
  if (load(g_state.waited_for) == 0) return;
  const ErrnoKeeper keep;
  wire::tell_change(*g_state.control);
}

bool begin_windows() {
  const char* text = getenv("SONDE_MARKER_WINDOW");
  if (text == nullptr || *text == '\0') return false;
  g_windows.wanted = regcomp(&g_windows.pattern, text, REG_EXTENDED | REG_NOSUB) == 0;
  return g_windows.wanted;
}

bool has_windows() { return g_windows.wanted; }

// Recording starts before the range begins, so that the range itself is in the trace.
void window_range_push(uint32_t domain, uint32_t category, const char* text) {
  if (!matches(text)) return range_push(domain, category, text);
  const uint32_t before = ranges_of(t_state.ring);
  opened();
  range_push(domain, category, text);
  const Ring* ring = t_state.ring;
  const uint32_t count = ranges_of(ring);
  if (count <= before) return ended(1);  // the range was dropped, so nothing will end it
  ring->chunk->ranges[count - 1].state |= wire::kRangeIsWindow;
}

int window_range_pop(uint32_t domain) {
  const uint32_t before = windows_of(t_state.ring);
  const int level = range_pop(domain);
  if (before != 0) ended(before - windows_of(t_state.ring));
  return level;
}

uint64_t window_range_start(uint32_t domain, uint32_t category, const char* text) {
  if (!matches(text)) return range_start(domain, category, text);
  opened();
  const uint64_t id = range_start(domain, category, text);
  for (uint64_t& place : g_windows.started) {
    uint64_t free = 0;
    if (id != 0 &&
        __atomic_compare_exchange_n(&place, &free, id, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      return id;
    }
  }
  ended(1);  // the range was dropped, or there are too many at a time
  return id;
}

void window_range_stop(uint64_t id) {
  range_stop(id);
  if (id == 0 || load(g_windows.open) == 0) return;
  for (uint64_t& place : g_windows.started) {
    uint64_t expected = id;
    if (__atomic_compare_exchange_n(&place, &expected, 0, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      return ended(1);
    }
  }
}

void end_windows_of(const Ring* ring) {
  if (g_windows.wanted) ended(windows_of(ring));
}

void forget_windows(bool may_match) {
  if (!g_windows.wanted) return;
  g_windows.is_stuck |= !may_match;
  memset(g_windows.started, 0, sizeof g_windows.started);
  ended(load(g_windows.open));
}

}  // namespace sonde::agent
