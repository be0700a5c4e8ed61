// The category names that an NVTX program gives. Used by the nvtx backend.
//
// Numbers belong to a domain (by index; 0 is the default domain). One that the program has not
// named is called by its number; 0 is no category. Adding and finding never lock; what is added
// stays.
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
