// The files of definitions/ as the build puts them into the tool. Used by definitions.cpp and
// gpu_facts.cpp.
#pragma once

#include <cstddef>

namespace sonde::metrics {

struct DefinitionText {
  const char* name;  // "l2.ini"
  const char* text;
};
extern const DefinitionText kDefinitionText[];
extern const size_t kDefinitionTexts;
extern const char* const kGpuFactsText;  // gpus.ini
extern const char* const kCounterText;   // counters.ini

}  // namespace sonde::metrics
