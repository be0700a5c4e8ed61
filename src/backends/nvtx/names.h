// The names an NVTX program gives: domains, registered strings, categories. Used by the nvtx
// backend.
//
// Everything lives as long as the process, because a handle may be used by another thread at any
// time, and the same text gives the same handle again, so that a program that registers in a loop
// does not grow. Adding and finding never lock; without memory the functions return nullptr.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "backends/markers/markers.h"

namespace sonde::nvtx {

using markers::Agent;

// A registered string, or a domain by its name; a program's handle is its address.
struct Name {
  Name* next;
  uint32_t interned;  // the agent's id of the text; 0 for a string
  uint32_t index;     // of a domain: 1, 2 ... in the order of creation; 0 for a string
  size_t length;
  char text[];
};

constexpr size_t kNameBuckets = 256;
struct NameSet {
  Name* buckets[kNameBuckets];
  uint32_t count;  // of indices given out
};

Name* find_or_add_string(NameSet& set, const char* text);
Name* find_or_add_domain(NameSet& set, const char* text, const Agent* agent);

// Category numbers belong to a domain (by index; 0 is the default domain). One that the program
// has not named is called by its number. 0 is no category.
struct Category;
struct CategorySet {
  Category* buckets[kNameBuckets];
};
void name_category(CategorySet& set, uint32_t domain, uint32_t category, const char* name,
                   const Agent* agent);
uint32_t category_name(CategorySet& set, uint32_t domain, uint32_t category,
                       const Agent* agent);

}  // namespace sonde::nvtx
