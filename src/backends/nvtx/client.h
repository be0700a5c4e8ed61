// How the nvtx backend fills a client's function tables, and the state that its files share. A
// client is a shared object that contains NVTX; all clients get the same functions.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "backends/markers/markers.h"
#include "backends/nvtx/names.h"
#include "backends/nvtx/nvtx_abi.h"
#include "backends/nvtx/utf8.h"

namespace sonde::nvtx {

// Names that all files of the backend use; the default domain is "nvtx".
struct State {
  markers::Connection connection;
  markers::TextSet domains;
  markers::TextSet strings;
  CategorySet categories;
};
extern State g_state;

// The functions run only after a client was filled, so there is an agent.
inline const Agent* agent() { return g_state.connection.agent; }

// The domain behind a client's handle; the default domain for a null handle.
struct DomainId {
  uint32_t interned;
  uint32_t index;
};
inline DomainId domain_of(const void* handle) {
  if (handle == nullptr) return {g_state.connection.domain, 0};
  const auto* domain = static_cast<const markers::Text*>(handle);
  return {domain->interned, domain->index};
}

// A message of any type as UTF-8; valid while both objects live.
class Message {
 public:
  Message(int32_t type, MessageValue value)
      : wide_(type == kMessageWide ? value.wide : nullptr), text_("") {
    if (type == kMessageAscii && value.ascii != nullptr) text_ = value.ascii;
    if (type == kMessageWide) text_ = wide_.text();
    if (type == kMessageRegistered && value.registered != nullptr) {
      text_ = static_cast<const markers::Text*>(value.registered)->text;
    }
  }
  const char* text() const { return text_; }

 private:
  Utf8 wide_;
  const char* text_;
};

// A module's table. Functions that an older client does not have are ignored.
struct FunctionTable {
  AnyFunction** functions = nullptr;
  unsigned int count = 0;

  template <typename Function>
  void set(unsigned index, Function* function) const {
    if (index < count && functions[index] != nullptr) {
      *functions[index] = reinterpret_cast<AnyFunction>(function);
    }
  }

  // Functions that follow each other in the table.
  template <typename... Functions>
  void set_from(unsigned index, Functions*... in_order) const {
    (set(index++, in_order), ...);
  }
};

// objects.cpp: names of CUDA and OpenCL objects, and user synchronisation objects.
void fill_cuda(const FunctionTable& table);
void fill_cuda_runtime(const FunctionTable& table);
void fill_opencl(const FunctionTable& table);
void fill_sync(const FunctionTable& table);

// Writes "name.<kind>.<id>" = name into the run's metadata.
void record_object_name(const char* kind, uint64_t id, bool is_number, const char* name);

}  // namespace sonde::nvtx
