#include "backends/rocm/hip/arguments.h"

namespace sonde::hip {

#define X(id, place, name, category, weight, expected, parameters)      \
  static_assert(layout_of(parameters, false).count == expected, #name); \
  static_assert(expected <= kMaxParameters, #name);
#include "backends/rocm/hip/functions.inc"
#undef X

namespace {

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

// Dereferences a pointer only if the call has succeeded and so has set the target.
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

}  // namespace

void pack_all(sonde_args* args, const FunctionInfo& function, const char* data, int result) {
  for (size_t i = 0; i < function.count; ++i) {
    pack(args, data, function.parameters[i], result == 0);
  }
}

}  // namespace sonde::hip
