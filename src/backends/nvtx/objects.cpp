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

constexpr char kCudaContext[] = "cuda_context", kCudaStream[] = "cuda_stream",
               kCudaEvent[] = "cuda_event", kClDevice[] = "opencl_device",
               kClContext[] = "opencl_context", kClQueue[] = "opencl_queue",
               kClMemory[] = "opencl_memory", kClSampler[] = "opencl_sampler",
               kClProgram[] = "opencl_program", kClEvent[] = "opencl_event";

template <const char* kind>
void name_handle_a(const void* handle, const char* name) {
  if (name == nullptr) return;
  record_object_name(kind, reinterpret_cast<uintptr_t>(handle), false, name);
}
template <const char* kind>
void name_handle_w(const void* handle, const wchar_t* name) {
  if (name != nullptr) name_handle_a<kind>(handle, Utf8(name).text());
}

void name_cuda_device_a(int device, const char* name) {
  if (name == nullptr) return;
  record_object_name("cuda_device", static_cast<uint64_t>(device), true, name);
}
void name_cuda_device_w(int device, const wchar_t* name) {
  if (name != nullptr) name_cuda_device_a(device, Utf8(name).text());
}

// The functions come in pairs, for char and for wchar_t.
template <const char*... kinds>
void set_handles(const FunctionTable& table, unsigned index) {
  ((table.set_from(index, name_handle_a<kinds>, name_handle_w<kinds>), index += 2), ...);
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
  table.set_from(1, name_cuda_device_a, name_cuda_device_w);
  set_handles<kCudaContext, kCudaStream, kCudaEvent>(table, 3);
}

void fill_cuda_runtime(const FunctionTable& table) {
  table.set_from(1, name_cuda_device_a, name_cuda_device_w);
  set_handles<kCudaStream, kCudaEvent>(table, 3);
}

void fill_opencl(const FunctionTable& table) {
  set_handles<kClDevice, kClContext, kClQueue, kClMemory, kClSampler, kClProgram, kClEvent>(table,
                                                                                            1);
}

void fill_sync(const FunctionTable& table) {
  // Then what is called before an object is released, which is not recorded.
  table.set_from(1, sync_create, sync_destroy, sync_acquire_start, sync_acquire_end,
                 sync_acquire_end);
}

}  // namespace sonde::nvtx
