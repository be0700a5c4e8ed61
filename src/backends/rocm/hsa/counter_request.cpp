#include "backends/rocm/hsa/counter_request.h"

#include <stdlib.h>
#include <string.h>

namespace sonde::hsa {
namespace {

bool copy_part(const char* begin, const char* end, char* out, size_t room) {
  const auto length = static_cast<size_t>(end - begin);
  if (length == 0 || length >= room) return false;
  memcpy(out, begin, length);
  out[length] = '\0';
  return true;
}

// Parses "SQ:4:SQ_WAVES".
bool read_counter(const char* begin, const char* end, WantedCounter* counter) {
  const auto* first = static_cast<const char*>(memchr(begin, ':', end - begin));
  if (first == nullptr) return false;
  char* digits_end = nullptr;
  const unsigned long event = strtoul(first + 1, &digits_end, 10);
  if (digits_end == first + 1 || *digits_end != ':' || event > UINT32_MAX) return false;
  counter->event = static_cast<uint32_t>(event);
  return copy_part(begin, first, counter->block, sizeof counter->block) &&
         copy_part(digits_end + 1, end, counter->name, sizeof counter->name);
}

}  // namespace

uint32_t pass_of(const char* text) {
  return text != nullptr ? static_cast<uint32_t>(strtoul(text, nullptr, 10)) : 0;
}

const char* next_pass(const char* text) {
  const char* const bar = strchr(text, '|');
  return bar != nullptr ? bar + 1 : nullptr;
}

bool each_wanted(const char* text, const char* gpu, VisitCounter visit, void* data) {
  const size_t length = strlen(gpu);
  for (const char* part = text; *(part += strcspn(part, ";|")) == ';';) {
    ++part;
    if (strncmp(part, gpu, length) != 0 || part[length] != '=') continue;
    const char* at = part + length + 1;
    const char* const end = at + strcspn(at, ";|");
    while (at < end) {
      const char* stop = at + strcspn(at, ",;|");
      WantedCounter counter;
      if (!read_counter(at, stop, &counter)) return false;
      visit(counter, data);
      at = *stop == ',' ? stop + 1 : stop;
    }
    return true;
  }
  return true;
}

bool in_ranges(const char* list, uint64_t number) {
  if (list == nullptr || *list == '\0') return true;
  for (const char* at = list; *at != '\0';) {
    char* end = nullptr;
    const uint64_t first = strtoull(at, &end, 10);
    uint64_t last = first;
    if (end == at) return false;
    if (*end == ':') last = strtoull(end + 1, &end, 10);
    if (first <= number && number <= last) return true;
    if (*end != ',') return false;
    at = end + 1;
  }
  return false;
}

}  // namespace sonde::hsa
