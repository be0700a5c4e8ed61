// The few functions of HIP and hiprtc that are needed to compile and launch kernels, loaded at run
// time. Only those whose arguments are the same in all versions from ROCm 4.5 on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace sonde::measure {

struct Hip {
  int (*get_device_count)(int* count);
  int (*set_device)(int device);
  int (*malloc)(void** memory, size_t bytes);
  int (*free)(void* memory);
  int (*memset)(void* memory, int value, size_t bytes);
  int (*synchronize)();
  int (*module_load)(void** module, const void* image);
  int (*module_function)(void** function, void* module, const char* name);
  int (*module_unload)(void* module);
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned group_x,
                unsigned group_y, unsigned group_z, unsigned lds_bytes, void* stream,
                void** arguments, void** extra);
  const char* (*error_string)(int code);
  int (*create_program)(void** program, const char* source, const char* name, int headers,
                        const char** texts, const char** names);
  int (*compile)(void* program, int options, const char** texts);
  int (*log_size)(void* program, size_t* bytes);
  int (*log)(void* program, char* text);
  int (*code_size)(void* program, size_t* bytes);
  int (*code)(void* program, char* bytes);
  int (*destroy_program)(void** program);
};

Result<Hip> load_hip();
// Nothing, or what went wrong at `what`.
Status check(const Hip& hip, int code, const char* what);

}  // namespace sonde::measure
