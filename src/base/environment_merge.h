// Merging Sonde's variables into an environment. Shared by the recorder (which builds the first
// environment) and the agent (which repairs those the program builds for its children), so that
// both do the same. libc only, no heap.
//
// The variables travel in SONDE_INJECT as "NAME=VALUE" items separated by the unit separator
// (0x1F). "NAME+=VALUE" puts a colon-separated list before the existing value, unless that contains
// it already; "NAME~=VALUE" does the same with spaces; "NAME?=VALUE" sets a variable only if it is
// missing; "NAME=VALUE" replaces it. If a variable occurs twice, both are changed: the loader and
// getenv() disagree on which one counts.
#pragma once

#include <stddef.h>
#include <string.h>

namespace sonde {

struct InjectItem {
  const char* name;
  size_t name_length;
  char mode;  // '=', '+', '~' or '?'
  const char* value;
  size_t value_length;
};

// Reads the item at `cursor` and moves `cursor` past it; false at the end. Malformed items are
// skipped.
inline bool next_inject_item(const char** cursor, InjectItem* item) {
  while (**cursor != '\0') {
    const char* begin = *cursor;
    const char* end = strchr(begin, '\x1f');
    if (end == nullptr) end = begin + strlen(begin);
    *cursor = *end != '\0' ? end + 1 : end;
    const char* equals =
        static_cast<const char*>(memchr(begin, '=', static_cast<size_t>(end - begin)));
    if (equals == nullptr || equals == begin) continue;
    item->mode = strchr("+~?", equals[-1]) != nullptr ? equals[-1] : '=';
    item->name = begin;
    item->name_length = static_cast<size_t>(equals - begin) - (item->mode != '=' ? 1 : 0);
    item->value = equals + 1;
    item->value_length = static_cast<size_t>(end - item->value);
    return true;
  }
  return false;
}

// The value in a "NAME=VALUE" entry if it is the item's variable, else nullptr.
inline const char* value_of(const char* entry, const InjectItem& item) {
  return strncmp(entry, item.name, item.name_length) == 0 && entry[item.name_length] == '='
             ? entry + item.name_length + 1
             : nullptr;
}

inline char separator_of(const InjectItem& item) { return item.mode == '~' ? ' ' : ':'; }

// Whether `text`, one or more list parts, is already in `list`.
inline bool list_contains(const char* list, const char* text, size_t length, char separator = ':') {
  for (const char* at = list; at != nullptr;) {
    if (strncmp(at, text, length) == 0 && (at[length] == '\0' || at[length] == separator)) {
      return true;
    }
    at = strchr(at, separator);
    if (at != nullptr) ++at;
  }
  return false;
}

inline size_t count_entries(char* const* environment) {
  size_t count = 0;
  while (environment != nullptr && environment[count] != nullptr) ++count;
  return count;
}

// SONDE_INJECT itself travels along, so that the environments of grandchildren are repaired, too.
inline InjectItem inject_itself(const char* inject) {
  return {"SONDE_INJECT", 12, '=', inject, strlen(inject)};
}

// Whether the item leaves an entry with the value `old` as it is.
inline bool item_is_met(const InjectItem& item, const char* old) {
  if (item.mode == '?') return true;
  if (item.mode == '+' || item.mode == '~') {
    return list_contains(old, item.value, item.value_length, separator_of(item));
  }
  return strncmp(old, item.value, item.value_length) == 0 && old[item.value_length] == '\0';
}

inline bool entries_meet(char* const* environment, const InjectItem& item) {
  bool found = false;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const char* old = value_of(*environment, item);
    if (old == nullptr) continue;
    if (!item_is_met(item, old)) return false;
    found = true;
  }
  return found;
}

// False for an environment that has all of `inject` (the usual case).
inline bool merge_is_needed(char* const* environment, const char* inject) {
  const char* cursor = inject;
  for (InjectItem item; next_inject_item(&cursor, &item);) {
    if (!entries_meet(environment, item)) return true;
  }
  return !entries_meet(environment, inject_itself(inject));
}

struct MergeRoom {
  size_t entries, bytes;  // upper bounds
};

inline MergeRoom merge_room(char* const* environment, const char* inject) {
  MergeRoom room = {count_entries(environment) + 1, 0};
  size_t grown = 0;  // what earlier items of the same name may have added to a value
  const auto add = [&](const InjectItem& item) {
    size_t found = 0;
    for (char* const* entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
      const char* old = value_of(*entry, item);
      if (old == nullptr) continue;
      ++found;
      room.bytes += strlen(old);
    }
    grown += item.value_length + 1;
    room.bytes += (found + 1) * (item.name_length + 2 + grown);
    ++room.entries;
  };
  const char* cursor = inject;
  for (InjectItem item; next_inject_item(&cursor, &item);) add(item);
  add(inject_itself(inject));
  return room;
}

// Writes "NAME=VALUE[:OLD]" (or with a space) to `text`; returns the end.
inline char* write_entry(char* text, const InjectItem& item, const char* old) {
  const auto append = [&text](const char* from, size_t length) {
    memcpy(text, from, length);
    text += length;
  };
  append(item.name, item.name_length);
  append("=", 1);
  append(item.value, item.value_length);
  if (item.mode != '=' && old != nullptr && *old != '\0') {
    const char separator = separator_of(item);
    append(&separator, 1);
    append(old, strlen(old));
  }
  *text++ = '\0';
  return text;
}

// Writes the merged environment to `entries` and `text`, which have at least merge_room().
// Unchanged entries point to those of `environment`.
inline void merge_environment(char* const* environment, const char* inject, char** entries,
                              char* text) {
  size_t count = count_entries(environment);
  if (count != 0) memcpy(entries, environment, count * sizeof(char*));
  const auto merge = [&](const InjectItem& item) {
    bool found = false;
    for (size_t i = 0; i < count; ++i) {
      const char* old = value_of(entries[i], item);
      if (old == nullptr) continue;
      found = true;
      if (item_is_met(item, old)) continue;
      entries[i] = text;
      text = write_entry(text, item, old);
    }
    if (found) return;
    entries[count++] = text;
    text = write_entry(text, item, nullptr);
  };
  const char* cursor = inject;
  for (InjectItem item; next_inject_item(&cursor, &item);) merge(item);
  merge(inject_itself(inject));
  entries[count] = nullptr;
}

// ---- removing it all, for a program that cannot reach our files ----

// Calls `use(part, length)` for each part of a list.
template <typename Use>
void for_each_part(const char* list, size_t length, char separator, Use use) {
  const char* const end = list + length;
  for (const char* at = list; at <= end;) {
    const void* found = memchr(at, separator, static_cast<size_t>(end - at));
    const char* stop = found != nullptr ? static_cast<const char*>(found) : end;
    use(at, static_cast<size_t>(stop - at));
    at = stop + 1;
  }
}

// Writes "NAME=" and the parts of `old` that are not the item's to `text`; nullptr if there are
// none.
inline char* write_rest(char* text, const InjectItem& item, const char* old) {
  const char separator = separator_of(item);
  memcpy(text, item.name, item.name_length);
  text[item.name_length] = '=';
  char* end = text + item.name_length + 1;
  bool any = false;
  for_each_part(old, strlen(old), separator, [&](const char* part, size_t length) {
    bool ours = false;
    for_each_part(item.value, item.value_length, separator, [&](const char* own, size_t size) {
      ours |= size == length && memcmp(own, part, length) == 0;
    });
    if (ours) return;
    if (any) *end++ = separator;
    any = true;
    memcpy(end, part, length);
    end += length;
  });
  if (!any) return nullptr;
  *end++ = '\0';
  return end;
}

// Writes `environment` without what merge_environment() added; needs the same room.
inline void strip_environment(char* const* environment, const char* inject, char** entries,
                              char* text) {
  size_t count = 0;
  const InjectItem itself = inject_itself(inject);
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    char* entry = *environment;
    if (value_of(entry, itself) != nullptr) continue;
    const char* cursor = inject;
    for (InjectItem item; entry != nullptr && next_inject_item(&cursor, &item);) {
      const char* old = value_of(entry, item);
      if (old == nullptr) continue;
      if (item.mode == '+' || item.mode == '~') {
        char* const end = write_rest(text, item, old);
        entry = end != nullptr ? text : nullptr;
        if (end != nullptr) text = end;
      } else if (strlen(old) == item.value_length &&
                 memcmp(old, item.value, item.value_length) == 0) {
        entry = nullptr;
      }
    }
    if (entry != nullptr) entries[count++] = entry;
  }
  entries[count] = nullptr;
}

}  // namespace sonde
