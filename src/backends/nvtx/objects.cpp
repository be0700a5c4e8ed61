// NVTX functions that name CUDA and OpenCL objects, recorded as the run's metadata, and user
// synchronisation objects, whose waits become ranges.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/nvtx/client.h"

namespace sonde::nvtx {

void record_object_name(const char* kind, uint64_t id, bool is_number, const char* name) {
  const ErrnoKeeper keep;
  char key[96];
  if (is_number) {
    snprintf(key, sizeof key, "name.%s.%" PRId64, kind, static_cast<int64_t>(id));
  } else {
    snprintf(key, sizeof key, "name.%s.0x%" PRIx64, kind, id);
  }
  agent()->metadata(key, name);
}

namespace {

struct CudaKinds {
  static constexpr const char* kName[] = {"cuda_device", "cuda_context", "cuda_stream",
                                          "cuda_event"};
};
struct OpenClKinds {
  static constexpr const char* kName[] = {"opencl_device", "opencl_context", "opencl_queue",
                                          "opencl_memory", "opencl_sampler", "opencl_program",
                                          "opencl_event"};
};

template <typename Kinds, unsigned kObject>
void name_handle_a(const void* handle, const char* name) {
  if (name == nullptr) return;
  record_object_name(Kinds::kName[kObject], reinterpret_cast<uintptr_t>(handle), false, name);
}
template <typename Kinds, unsigned kObject>
void name_handle_w(const void* handle, const wchar_t* name) {
  if (name != nullptr) name_handle_a<Kinds, kObject>(handle, Utf8(name).text());
}

void name_cuda_device_a(int device, const char* name) {
  if (name == nullptr) return;
  record_object_name("cuda_device", static_cast<uint64_t>(device), true, name);
}
void name_cuda_device_w(int device, const wchar_t* name) {
  if (name != nullptr) name_cuda_device_a(device, Utf8(name).text());
}

constexpr unsigned index_a(unsigned object) { return 1 + 2 * object; }
constexpr unsigned index_w(unsigned object) { return 2 + 2 * object; }

template <typename Kinds, unsigned kObject>
void set_handle(const FunctionTable& table, unsigned object) {
  table.set(index_a(object), name_handle_a<Kinds, kObject>);
  table.set(index_w(object), name_handle_w<Kinds, kObject>);
}

// A lock of the program, or another synchronisation object.
struct SyncObject {
  uint32_t domain;
  uint32_t category;
  const markers::Text* text;  // "acquire <name>"
};

SyncObject* sync_create(const void* domain, const SyncAttributes* attributes) {
  const ErrnoKeeper keep;
  const Message name = attributes != nullptr && attributes->size >= sizeof(SyncAttributes)
                           ? Message(attributes->message_type, attributes->message)
                           : Message(kMessageNone, {nullptr});
  char text[256];
  snprintf(text, sizeof text, "acquire %.240s", name.text());
  auto* object = static_cast<SyncObject*>(malloc(sizeof(SyncObject)));
  if (object == nullptr) return nullptr;
  *object = {domain_of(domain).interned, agent()->intern("sync", 4),
             markers::find_or_add_text(g_state.strings, text, strlen(text))};
  return object;
}
void sync_destroy(SyncObject* object) { free(object); }

void sync_acquire_start(SyncObject* object) {
  if (object == nullptr) return;
  agent()->range_push(object->domain, object->category,
                      object->text != nullptr ? object->text->text : "acquire");
}
void sync_acquire_end(SyncObject* object) {
  if (object != nullptr) agent()->range_pop(object->domain);
}

}  // namespace

void fill_cuda(const FunctionTable& table) {
  table.set(index_a(kCuDevice), name_cuda_device_a);
  table.set(index_w(kCuDevice), name_cuda_device_w);
  set_handle<CudaKinds, kCuContext>(table, kCuContext);
  set_handle<CudaKinds, kCuStream>(table, kCuStream);
  set_handle<CudaKinds, kCuEvent>(table, kCuEvent);
}

void fill_cuda_runtime(const FunctionTable& table) {
  table.set(index_a(kCudaDevice), name_cuda_device_a);
  table.set(index_w(kCudaDevice), name_cuda_device_w);
  set_handle<CudaKinds, kCuStream>(table, kCudaStream);
  set_handle<CudaKinds, kCuEvent>(table, kCudaEvent);
}

void fill_opencl(const FunctionTable& table) {
  set_handle<OpenClKinds, kClDevice>(table, kClDevice);
  set_handle<OpenClKinds, kClContext>(table, kClContext);
  set_handle<OpenClKinds, kClCommandQueue>(table, kClCommandQueue);
  set_handle<OpenClKinds, kClMemObject>(table, kClMemObject);
  set_handle<OpenClKinds, kClSampler>(table, kClSampler);
  set_handle<OpenClKinds, kClProgram>(table, kClProgram);
  set_handle<OpenClKinds, kClEvent>(table, kClEvent);
}

void fill_sync(const FunctionTable& table) {
  table.set(kSyncUserCreate, sync_create);
  table.set(kSyncUserDestroy, sync_destroy);
  table.set(kSyncAcquireStart, sync_acquire_start);
  table.set(kSyncAcquireFailed, sync_acquire_end);
  table.set(kSyncAcquireSuccess, sync_acquire_end);
}

}  // namespace sonde::nvtx
