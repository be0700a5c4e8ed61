// The executable files that are mapped into this process, from the kernel's list: without the
// dynamic loader, whose own list is protected by a lock that another thread may hold for long. Safe
// in a signal handler.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace sonde::cpu {

struct MappedFile {
  uint64_t start = 0, end = 0;  // from the file's first byte on
  const char* path = nullptr;   // not terminated; "[vdso]" for the vDSO
  size_t path_bytes = 0;
};

using TakeFile = void (*)(const MappedFile& file, void* context);

// Calls `take` for each file whose first page can be read. False: the kernel's list cannot be read.
bool for_each_mapped_file(TakeFile take, void* context);

}  // namespace sonde::cpu
