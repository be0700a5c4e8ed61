// Merging Sonde's variables into an environment, used by the recorder (which builds the first
// environment) and by the agent (which mends those the program builds for its children). libc only.
//
// The variables travel in SONDE_INJECT as "NAME=VALUE" items separated by the unit separator
// (0x1F). An item "NAME+=VALUE" is a colon-separated list that goes before what is there already;
// "NAME?=VALUE" is set only where it is missing; "NAME=VALUE" replaces.
#pragma once

#include <stddef.h>
#include <string.h>

namespace sonde {

struct InjectItem {
  const char* name;
  size_t name_length;
  char mode;  // '=', '+' or '?'
  const char* value;
  size_t value_length;
};

// The item at `cursor`, which moves behind it; false at the end. Malformed items are skipped.
inline bool next_inject_item(const char** cursor, InjectItem* item) {
  while (**cursor != '\0') {
    const char* begin = *cursor;
    const char* end = strchr(begin, '\x1f');
    if (end == nullptr) end = begin + strlen(begin);
    *cursor = *end != '\0' ? end + 1 : end;
    const char* equals =
        static_cast<const char*>(memchr(begin, '=', static_cast<size_t>(end - begin)));
    if (equals == nullptr || equals == begin) continue;
    item->mode = equals[-1] == '+' || equals[-1] == '?' ? equals[-1] : '=';
    item->name = begin;
    item->name_length = static_cast<size_t>(equals - begin) - (item->mode != '=' ? 1 : 0);
    item->value = equals + 1;
    item->value_length = static_cast<size_t>(end - item->value);
    return true;
  }
  return false;
}

// The value of an item's variable in a "NAME=VALUE" entry, or nullptr if the entry is another's.
inline const char* value_of(const char* entry, const InjectItem& item) {
  return strncmp(entry, item.name, item.name_length) == 0 && entry[item.name_length] == '='
             ? entry + item.name_length + 1
             : nullptr;
}

// Whether `list` has `text` as one or more of its colon-separated parts already.
inline bool list_contains(const char* list, const char* text, size_t length) {
  for (const char* at = list; at != nullptr; at = strchr(at, ':')) {
    if (at != list) ++at;
    if (strncmp(at, text, length) == 0 && (at[length] == '\0' || at[length] == ':')) return true;
  }
  return false;
}

}  // namespace sonde
