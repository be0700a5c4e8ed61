// HIP's functions: names, parameters, and where those lie in the data of a callback. Read from
// functions.inc, once, when the runtime is found.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "backends/rocm/hip/parameters.h"

namespace sonde::hip {

inline bool starts_with(const char* text, const char* start) {
  return strncmp(text, start, strlen(start)) == 0;
}

// Order of functions.inc.
enum Function : uint16_t {
#define X(id, place, name, category, weight, count, parameters) k_##name,
#include "backends/rocm/hip/functions.inc"
#undef X
  kFunctionCount
};

// What a parameter means for the op that the call launches.
enum class Role : uint8_t {
  kNone,
  kDst,
  kSrc,
  kBytes,
  kCopyKind,
  kStream,
  kWidth,
  kHeight,
  kFunction,  // the kernel
  kConfig,    // a struct that contains the stream
};

struct Parameter {
  Kind kind;
  Role role;
  uint16_t offset;  // in the callback's data, after the header
};

enum class Category : uint8_t {
  launch,
  copy,
  memset,
  memory,
  stream,
  event,
  graph,
  module,
  device,
  context,
  texture,
  error,
  profiler
};

struct FunctionInfo {
  const char* name;
  Category category;
  bool in_full;   // weight + in functions.inc
  bool launches;  // asks a device for work: kernels, copies, fills, graphs
  bool async;     // returns before its ops have finished
  uint8_t count;
  uint8_t stream;  // index of the stream parameter; `count`: none
  Parameter parameters[kMaxParameters];
  uint32_t defined;  // of define_function()
  bool by_value;     // no argument is shown dereferenced: pack_values() suffices
};

extern FunctionInfo g_functions[kFunctionCount];

// Parses functions.inc and defines every function with the agent. `newer`: callback data has the
// layout of HIP 6 and later.
void prepare_functions(bool newer);

const char* name_of(Function function);

// By the id in ROCm 5.2, or nullptr.
FunctionInfo* function_of_id(uint32_t id);
FunctionInfo* function_of_name(const char* name);

// Defines a function that functions.inc lacks, by its name alone.
uint32_t define_unknown(uint32_t id, const char* (*name_of)(uint32_t id));

// Parses the parameters of one function; returns their number. Exposed for the tests.
size_t parse_parameters(const char* text, Parameter* parameters, bool newer = false);
// Whether all are shown as they are passed.
bool shows_values(const Parameter* parameters, size_t count);
// Their formats for sonde/backend.h.
void write_formats(const char* text, char* formats, size_t room);

}  // namespace sonde::hip
