#include "backends/nvtx/names.h"

#include <stdio.h>
#include <string.h>

namespace sonde::nvtx {

struct Category {
  Category* next;
  uint32_t domain;
  uint32_t category;
  uint32_t interned;
};

namespace {

Category* find_category(Category* head, uint32_t domain, uint32_t category) {
  while (head != nullptr && (head->domain != domain || head->category != category)) {
    head = head->next;
  }
  return head;
}

// If two threads name a category at once, it may be in the list twice; lookups find the newer one.
void add_category(Category*& bucket, uint32_t domain, uint32_t category, uint32_t interned) {
  Category* added = static_cast<Category*>(markers::allocate(sizeof(Category)));
  if (added == nullptr) return;
  *added = {__atomic_load_n(&bucket, __ATOMIC_ACQUIRE), domain, category, interned};
  while (!__atomic_compare_exchange_n(&bucket, &added->next, added, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE)) {
  }
}

Category*& category_bucket(CategorySet& set, uint32_t domain, uint32_t category) {
  return set.buckets[(domain * 31 + category) % kCategoryBuckets];
}

}  // namespace

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

uint32_t category_name(CategorySet& set, uint32_t domain, uint32_t category, const Agent* agent) {
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
