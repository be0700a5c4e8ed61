#include "backends/markers/text_set.h"

#include <stdlib.h>

namespace sonde::markers {
namespace {

size_t bucket_of(const char* text, size_t length) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < length; ++i) {
    hash = (hash ^ static_cast<unsigned char>(text[i])) * 16777619u;
  }
  return (hash ^ (hash >> 16)) % kTextBuckets;
}

// Searches the elements from `head` up to `end`, which were searched before.
Text* find(Text* head, const Text* end, const char* text, size_t length) {
  for (Text* known = head; known != end; known = known->next) {
    if (known->length == length && memcmp(known->text, text, length) == 0) return known;
  }
  return nullptr;
}

// Makes `added` the head of its bucket unless another thread has added the same text meanwhile;
// returns the one that stays. The caller has already searched the list from `seen` on.
Text* publish(Text*& bucket, Text* added, Text* seen) {
  Text* head = seen;
  for (;;) {
    added->next = head;
    if (__atomic_compare_exchange_n(&bucket, &head, added, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      return added;
    }
    Text* same = find(head, added->next, added->text, added->length);
    if (same != nullptr) {
      free(added);
      return same;
    }
  }
}

Text* find_or_add(TextSet& set, const char* text, size_t length, const Agent* agent) {
  Text*& bucket = set.buckets[bucket_of(text, length)];
  Text* head = __atomic_load_n(&bucket, __ATOMIC_ACQUIRE);
  Text* known = find(head, nullptr, text, length);
  if (known != nullptr) return known;
  Text* added = static_cast<Text*>(allocate(sizeof(Text) + length + 1));
  if (added == nullptr) return nullptr;
  added->object = nullptr;
  added->length = length;
  memcpy(added->text, text, length);
  added->text[length] = '\0';
  const bool interned = agent != nullptr;
  added->interned = interned ? agent->intern(text, length) : 0;
  added->index = interned ? __atomic_add_fetch(&set.count, 1, __ATOMIC_RELAXED) : 0;
  return publish(bucket, added, head);
}

}  // namespace

void* allocate(size_t size) {
  const ErrnoKeeper keep;
  return malloc(size);
}

Text* find_or_add_text(TextSet& set, const char* text, size_t length) {
  return find_or_add(set, text, length, nullptr);
}

Text* find_or_add_interned(TextSet& set, const char* text, const Agent* agent) {
  text = text_or_empty(text);
  return find_or_add(set, text, strlen(text), agent);
}

}  // namespace sonde::markers
