#include "backends/nvtx/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace sonde::nvtx {

struct Category {
  Category* next;
  uint32_t domain;
  uint32_t category;
  uint32_t interned;
};

namespace {

size_t bucket_of(const char* text, size_t length) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < length; ++i) {
    hash = (hash ^ static_cast<unsigned char>(text[i])) * 16777619u;
  }
  return (hash ^ (hash >> 16)) % kNameBuckets;
}

void* allocate(size_t size) {
  const int saved = errno;
  void* memory = malloc(size);
  errno = saved;
  return memory;
}

// Elements from `head` up to (not including) `end`, which were looked through before.
Name* find(Name* head, const Name* end, const char* text, size_t length) {
  for (Name* name = head; name != end; name = name->next) {
    if (name->length == length && memcmp(name->text, text, length) == 0) return name;
  }
  return nullptr;
}

// Puts `name` at the head of its bucket unless another thread has added the same text meanwhile;
// returns the one that stays. The caller has looked through the list from `seen` on.
Name* publish(Name*& bucket, Name* name, Name* seen) {
  Name* head = seen;
  for (;;) {
    name->next = head;
    if (__atomic_compare_exchange_n(&bucket, &head, name, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      return name;
    }
    Name* same = find(head, name->next, name->text, name->length);
    if (same != nullptr) {
      free(name);
      return same;
    }
  }
}

Name* find_or_add(NameSet& set, const char* text, const Agent* domain_agent) {
  if (text == nullptr) text = "";
  const size_t length = strlen(text);
  Name*& bucket = set.buckets[bucket_of(text, length)];
  Name* head = __atomic_load_n(&bucket, __ATOMIC_ACQUIRE);
  Name* name = find(head, nullptr, text, length);
  if (name != nullptr) return name;
  name = static_cast<Name*>(allocate(sizeof(Name) + length + 1));
  if (name == nullptr) return nullptr;
  name->length = length;
  memcpy(name->text, text, length + 1);
  const bool domain = domain_agent != nullptr;
  name->interned = domain ? domain_agent->intern(text, length) : 0;
  name->index = domain ? __atomic_add_fetch(&set.count, 1, __ATOMIC_RELAXED) : 0;
  return publish(bucket, name, head);
}

Category* find_category(Category* head, uint32_t domain, uint32_t category) {
  while (head != nullptr && (head->domain != domain || head->category != category)) {
    head = head->next;
  }
  return head;
}

// A number added by two threads at once may stand in the list twice; the newer one is found.
void add_category(Category*& bucket, uint32_t domain, uint32_t category, uint32_t interned) {
  Category* added = static_cast<Category*>(allocate(sizeof(Category)));
  if (added == nullptr) return;
  *added = {__atomic_load_n(&bucket, __ATOMIC_ACQUIRE), domain, category, interned};
  while (!__atomic_compare_exchange_n(&bucket, &added->next, added, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE)) {
  }
}

Category*& category_bucket(CategorySet& set, uint32_t domain, uint32_t category) {
  return set.buckets[(domain * 31 + category) % kNameBuckets];
}

}  // namespace

Name* find_or_add_string(NameSet& set, const char* text) { return find_or_add(set, text, nullptr); }

Name* find_or_add_domain(NameSet& set, const char* text, const Agent* agent) {
  return find_or_add(set, text, agent);
}

void name_category(CategorySet& set, uint32_t domain, uint32_t category, const char* name,
                   const Agent* agent) {
  if (category == 0 || name == nullptr) return;
  const uint32_t interned = agent->intern(name, strlen(name));
  Category*& bucket = category_bucket(set, domain, category);
  Category* known = find_category(__atomic_load_n(&bucket, __ATOMIC_ACQUIRE), domain, category);
  if (known != nullptr) {
    __atomic_store_n(&known->interned, interned, __ATOMIC_RELAXED);
  } else {
    add_category(bucket, domain, category, interned);
  }
}

uint32_t category_name(CategorySet& set, uint32_t domain, uint32_t category,
                       const Agent* agent) {
  if (category == 0) return 0;
  Category*& bucket = category_bucket(set, domain, category);
  Category* known = find_category(__atomic_load_n(&bucket, __ATOMIC_ACQUIRE), domain, category);
  if (known != nullptr) return __atomic_load_n(&known->interned, __ATOMIC_RELAXED);
  char number[16];
  const int length = snprintf(number, sizeof number, "%u", category);
  const uint32_t interned = agent->intern(number, static_cast<size_t>(length));
  add_category(bucket, domain, category, interned);
  return interned;
}

}  // namespace sonde::nvtx
