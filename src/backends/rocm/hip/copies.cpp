#include "backends/rocm/hip/copies.h"

#include <string.h>

#include "backends/rocm/connection.h"
#include "backends/rocm/hsa/pointers.h"

namespace sonde::hip {
namespace {

// hipMemcpyKind
enum CopyKind : int32_t { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kDefault };

// hip_Memcpy2D.
struct Copy2D {
  uint64_t src_x, src_y;
  uint64_t src_type;
  uint64_t src_host, src_device, src_array, src_pitch;
  uint64_t dst_x, dst_y;
  uint64_t dst_type;
  uint64_t dst_host, dst_device, dst_array, dst_pitch;
  uint64_t width, height;
};
static_assert(sizeof(Copy2D) == 128);

// hipMemcpy3DParms as it has been since ROCm 3: arrays, positions, pitched pointers, the extent and
// the kind.
struct Copy3D {
  uint64_t src_array;
  uint64_t src_position[3];
  uint64_t src_pointer[4];  // pointer, pitch, width, height
  uint64_t dst_array;
  uint64_t dst_position[3];
  uint64_t dst_pointer[4];
  uint64_t extent[3];
  int32_t kind;
};
static_assert(sizeof(Copy3D) == 160);

// The direction that some functions have in their names; A is an array, on the device.
int32_t kind_of_name(const char* name) {
  struct Named {
    const char* text;
    int32_t kind;
  };
  constexpr Named kNamed[] = {
      {"DtoH", kDeviceToHost},   {"AtoH", kDeviceToHost},   {"HtoD", kHostToDevice},
      {"HtoA", kHostToDevice},   {"DtoD", kDeviceToDevice}, {"DtoA", kDeviceToDevice},
      {"AtoD", kDeviceToDevice}, {"AtoA", kDeviceToDevice}, {"Peer", kDeviceToDevice}};
  for (const Named& named : kNamed) {
    if (strstr(name, named.text) != nullptr) return named.kind;
  }
  return kDefault;
}

uint32_t op_kind(const hsa::PointerInfo& src, const hsa::PointerInfo& dst, int32_t kind) {
  constexpr uint32_t kKinds[] = {SONDE_OP_COPY_H2H, SONDE_OP_COPY_H2D, SONDE_OP_COPY_D2H,
                                 SONDE_OP_COPY_D2D};
  if (kind >= kHostToHost && kind <= kDeviceToDevice) return kKinds[kind];
  const int from = src.gpu >= 0 ? 2 : 0;
  const int to = dst.gpu >= 0 ? 1 : 0;
  return kKinds[from + to];
}

struct Described {
  uint64_t src = 0, dst = 0, bytes = 0, stream = 0;
  uint64_t width = 0, height = 0, depth = 0;
  int32_t kind = kDefault;
};

template <typename T>
bool read_first(const char* data, T* value) {
  const char* pointer;
  memcpy(&pointer, data, sizeof pointer);  // the first parameter
  if (pointer != nullptr) memcpy(value, pointer, sizeof *value);
  return pointer != nullptr;
}

void read_2d(const char* data, Described* described) {
  Copy2D copy;
  if (!read_first(data, &copy)) return;
  described->src = copy.src_host != 0 ? copy.src_host : copy.src_device;
  described->dst = copy.dst_host != 0 ? copy.dst_host : copy.dst_device;
  described->width = copy.width;
  described->height = copy.height;
}

// Many copies in one call: arrays of destinations, sources and sizes.
void read_batch(const char* data, Described* described) {
  struct {
    void* const* dst;
    void* const* src;
    const uint64_t* bytes;
    uint64_t count;
  } batch;
  memcpy(&batch, data, sizeof batch);
  described->bytes = 0;
  if (batch.count == 0 || batch.bytes == nullptr) return;
  for (uint64_t i = 0; i < batch.count; ++i) described->bytes += batch.bytes[i];
  described->dst = rocm::word(batch.dst[0]);
  described->src = rocm::word(batch.src[0]);
}

void read_3d(const char* data, Described* described) {
  Copy3D copy;
  if (!read_first(data, &copy)) return;
  described->src = copy.src_pointer[0];
  described->dst = copy.dst_pointer[0];
  described->width = copy.extent[0];
  described->height = copy.extent[1];
  described->depth = copy.extent[2];
  described->kind = copy.kind;
}

uint64_t read_word(const char* data, const Parameter& parameter) {
  uint64_t value = 0;
  memcpy(&value, data + parameter.offset, parameter.role == Role::kCopyKind ? 4 : 8);
  return value;
}

constexpr struct {
  Role role;
  uint64_t Described::*value;
} kPlaces[] = {{Role::kSrc, &Described::src},     {Role::kDst, &Described::dst},
               {Role::kBytes, &Described::bytes}, {Role::kStream, &Described::stream},
               {Role::kWidth, &Described::width}, {Role::kHeight, &Described::height}};

void read_parameters(const FunctionInfo& function, const char* data, Described* described) {
  for (size_t i = 0; i < function.count; ++i) {
    const Parameter& parameter = function.parameters[i];
    for (const auto& place : kPlaces) {
      if (place.role == parameter.role) described->*place.value = read_word(data, parameter);
    }
    if (parameter.role == Role::kCopyKind) {
      described->kind = static_cast<int32_t>(read_word(data, parameter));
    }
  }
}

}  // namespace

// Excludes functions whose struct differs between versions, or has no size in bytes.
bool is_copy_described(const FunctionInfo& function) {
  return !starts_with(function.name, "hipDrvMemcpy3D") &&
         !starts_with(function.name, "hipMemcpy3DPeer") &&
         !starts_with(function.name, "hipMemcpy3DBatch");
}

void describe_copy(const FunctionInfo& function, const char* data, uint64_t correlation) {
  Described described;
  described.kind = kind_of_name(function.name);
  read_parameters(function, data, &described);
  if (starts_with(function.name, "hipMemcpy3D")) read_3d(data, &described);
  if (strcmp(function.name, "hipMemcpyBatchAsync") == 0) read_batch(data, &described);
  if (starts_with(function.name, "hipMemcpyParam2D") ||
      strcmp(function.name, "hipDrvMemcpy2DUnaligned") == 0) {
    read_2d(data, &described);
  }
  if (described.bytes == 0) {
    described.bytes = described.width * (described.height != 0 ? described.height : 1) *
                      (described.depth != 0 ? described.depth : 1);
  }
  const hsa::PointerInfo src = hsa::pointer_info(described.src);
  const hsa::PointerInfo dst = hsa::pointer_info(described.dst);
  struct sonde_copy_request request = {.correlation = correlation,
                                       .kind = op_kind(src, dst, described.kind),
                                       .flags = 0,
                                       .bytes = described.bytes,
                                       .src = described.src,
                                       .dst = described.dst,
                                       .size = {described.width, described.height, described.depth},
                                       .stream = described.stream,
                                       .src_device = src.gpu,
                                       .dst_device = dst.gpu,
                                       .reserved = 0};
  if (!function.async) request.flags |= SONDE_OP_BLOCKING;
  if (src.pinned || dst.pinned) request.flags |= SONDE_OP_PINNED;
  rocm::agent().copy_request(&request);
}

}  // namespace sonde::hip
