#include "backends/hip/calls.h"

#include <string.h>

#include "backends/hip/activity.h"
#include "backends/hip/copies.h"

namespace sonde::hip {
namespace {

using rocm::t_launch;

template <typename T>
T read(const char* data, const Parameter& parameter) {
  T value;
  memcpy(&value, data + parameter.offset, sizeof value);
  return value;
}

template <typename T>
uint64_t read_behind(const char* data, const Parameter& parameter) {
  const T* pointer = read<const T*>(data, parameter);
  T value = 0;
  if (pointer != nullptr) memcpy(&value, pointer, sizeof value);
  return static_cast<uint64_t>(value);
}

uint64_t double_bits(float value) {
  const double wide = value;
  uint64_t bits;
  memcpy(&bits, &wide, sizeof bits);
  return bits;
}

void pack_words(sonde_args* args, const char* data, const Parameter& parameter, int count) {
  for (int i = 0; i < count; ++i) {
    uint64_t word;
    memcpy(&word, data + parameter.offset + i * 8, sizeof word);
    sonde_arg_u64(args, word);
  }
}

void pack_dim3(sonde_args* args, const char* data, const Parameter& parameter) {
  for (int i = 0; i < 3; ++i) {
    uint32_t value;
    memcpy(&value, data + parameter.offset + i * 4, sizeof value);
    sonde_arg_u64(args, value);
  }
}

// What a pointer leads to is looked at only if the call has succeeded and so has set it.
void pack_out(sonde_args* args, const char* data, const Parameter& parameter, bool set) {
  if (!set) return sonde_arg_u64(args, 0);
  switch (parameter.kind) {
    case Kind::kOutInt:
      return sonde_arg_u64(args, read_behind<int32_t>(data, parameter));
    case Kind::kOutUnsigned:
      return sonde_arg_u64(args, read_behind<uint32_t>(data, parameter));
    case Kind::kOutFloat: {
      const float* pointer = read<const float*>(data, parameter);
      return sonde_arg_u64(args, pointer != nullptr ? double_bits(*pointer) : 0);
    }
    default:
      return sonde_arg_u64(args, read_behind<uint64_t>(data, parameter));
  }
}

void pack(sonde_args* args, const char* data, const Parameter& parameter, bool success) {
  switch (parameter.kind) {
    case Kind::kPointer:
    case Kind::kWord:
      return sonde_arg_u64(args, read<uint64_t>(data, parameter));
    case Kind::kInt:
    case Kind::kEnum:
      return sonde_arg_u64(args, static_cast<uint64_t>(int64_t{read<int32_t>(data, parameter)}));
    case Kind::kUnsigned:
      return sonde_arg_u64(args, read<uint32_t>(data, parameter));
    case Kind::kHalf:
      return sonde_arg_u64(args, read<uint16_t>(data, parameter));
    case Kind::kByte:
      return sonde_arg_u64(args, read<uint8_t>(data, parameter));
    case Kind::kFloat:
      return sonde_arg_u64(args, double_bits(read<float>(data, parameter)));
    case Kind::kText:
      return sonde_arg_text(args, read<const char*>(data, parameter));
    case Kind::kDim3:
      return pack_dim3(args, data, parameter);
    case Kind::kExtent:
      return pack_words(args, data, parameter, 3);
    case Kind::kPitched:
      return pack_words(args, data, parameter, 2);
    case Kind::kStruct:
      return;
    default:
      return pack_out(args, data, parameter, success);
  }
}

void pack_all(sonde_args* args, const FunctionInfo& function, const char* data, int result) {
  for (size_t i = 0; i < function.count; ++i) {
    pack(args, data, function.parameters[i], result == 0);
  }
}

uint64_t stream_of(const FunctionInfo& function, const char* data) {
  if (function.stream == function.count) return 0;
  return read<uint64_t>(data, function.parameters[function.stream]);
}

}  // namespace

void begin_call(const FunctionInfo& function, uint32_t defined, OpenCall* open) {
  open->call = rocm::agent().call_begin(defined, function.heavy ? 1 : 0);
  if (!function.heavy) return;
  open->outer = t_launch;
  t_launch.correlation = open->call.correlation;
  t_launch.stream = 0;
  t_launch.flags = SONDE_OP_HAS_STREAM | (describes_copy(function) ? SONDE_OP_DESCRIBED : 0);
}

void look_at_parameters(const FunctionInfo& function, const char* data) {
  if (!function.heavy) return;
  t_launch.stream = stream_of(function, data);
  if (!rocm::g_hsa_reports_ops && function.category == Category::launch) {
    t_launch.name = kernel_name(function, data);
  }
}

void end_call(const FunctionInfo* function, const char* data, int result, const OpenCall& open) {
  if (function == nullptr || function->heavy) t_launch = open.outer;
  if (open.call.private_data == 0) return;
  sonde_args args;
  args.count = 0;
  if (function != nullptr) {
    pack_all(&args, *function, data, result);
    if (result == 0 && describes_copy(*function)) {
      describe_copy(*function, data, open.call.correlation);
    }
  }
  rocm::agent().call_end(&open.call, result, args.words, args.count);
}

void record_light_call(const FunctionInfo& function, const char* data, int result, uint64_t begin,
                       uint64_t end) {
  sonde_args args;
  args.count = 0;
  pack_all(&args, function, data, result);
  rocm::agent().call_at(function.defined, begin, end, result, args.words, args.count);
}

}  // namespace sonde::hip
