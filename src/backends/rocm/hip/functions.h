// What is known of HIP's functions: names, parameters, and where those lie in the data of a
// callback. From functions.inc, made ready once when the runtime is found.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "backends/rocm/hip/parameters.h"

namespace sonde::hip {

// Order of functions.inc.
enum Function : uint16_t {
#define X(id, name, category, weight, parameters, count, types) k_##name,
#include "backends/rocm/hip/functions.inc"
#undef X
  kFunctionCount
};

// What a parameter means for the op that its call launches.
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
  kConfig,    // a struct that the stream is in
};

struct Parameter {
  Kind kind;
  Role role;
  uint16_t offset;  // in the callback's data, behind its header
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
  bool in_full;   // weight + of functions.inc
  bool launches;  // asks a device for work: kernels, copies, fills, graphs
  bool async;     // returns before what it launches has finished
  uint8_t count;
  uint8_t stream;  // which parameter is the stream; `count`: none
  Parameter parameters[kMaxParameters];
  uint32_t defined;  // of define_function()
  bool by_value;     // no argument is shown as what it points to: pack_values() will do
};

extern FunctionInfo g_functions[kFunctionCount];

// Parses functions.inc and defines every function with the agent. `newer`: the data of callbacks
// are those of HIP 6 and later.
void prepare_functions(bool newer);

const char* name_of(Function function);

// By the id that ROCm 5.2 gave it, or nullptr.
FunctionInfo* function_of_id(uint32_t id);
FunctionInfo* function_of_name(const char* name);

// The definition of one that functions.inc lacks, by its name alone.
uint32_t define_unknown(uint32_t id, const char* (*name_of)(uint32_t id));

// Parses the parameters of one function; returns their number. For the tests, too.
size_t parse_parameters(const char* text, Parameter* parameters, bool newer = false);
// Whether they are all shown as they are passed.
bool shows_values(const Parameter* parameters, size_t count);
// The formats of sonde/backend.h for them.
void write_formats(const char* text, char* formats, size_t room);

}  // namespace sonde::hip
