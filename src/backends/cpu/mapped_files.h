// The files that are mapped into this process to be executed, as the kernel lists them: without the
// dynamic loader, whose own list is read under a lock that another thread may hold for long. Safe
// in a signal handler.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace sonde::cpu {

struct MappedFile {
  uint64_t start = 0, end = 0;  // from its first byte on
  const char* path = nullptr;   // not terminated; "[vdso]" for the kernel's own
  size_t path_bytes = 0;
};

using TakeFile = void (*)(const MappedFile& file, void* context);

// Those of which the beginning can be read. False: the list is not there.
bool for_each_mapped_file(TakeFile take, void* context);

}  // namespace sonde::cpu
