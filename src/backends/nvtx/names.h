// The names that an NVTX program gives to its categories.
//
// Category numbers belong to a domain (by index; 0 is the default domain). A category without a
// name is shown as its number; 0 means no category. Adding and finding never lock, and entries are
// never removed.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "backends/markers/text_set.h"

namespace sonde::nvtx {

using markers::Agent;

constexpr size_t kCategoryBuckets = 256;
struct Category;
struct CategorySet {
  Category* buckets[kCategoryBuckets];
};

void name_category(CategorySet& set, uint32_t domain, uint32_t category, const char* name,
                   const Agent* agent);
uint32_t category_name(CategorySet& set, uint32_t domain, uint32_t category, const Agent* agent);

}  // namespace sonde::nvtx
