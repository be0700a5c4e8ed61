// The NVTX tool library: fills the function tables of every NVTX client in the program with
// functions that report to the agent. Core functions (default domain) and core2 (named domains).
#include <string.h>

#include "backends/nvtx/client.h"
#include "backends/nvtx/levels.h"

namespace sonde::nvtx {

State g_state;

namespace {

using markers::text_or_empty;

// The attribute struct of an older or careless client may be shorter than ours; size 0 means that
// the program did not set it.
template <typename Attributes>
bool has_message(const Attributes* attributes) {
  constexpr size_t kEnd = offsetof(Attributes, message) + sizeof(MessageValue);
  return attributes != nullptr && (attributes->size == 0 || attributes->size >= kEnd);
}

template <typename Attributes>
Message message_of(const Attributes* attributes) {
  if (!has_message(attributes)) return Message(kMessageNone, {nullptr});
  return Message(attributes->message_type, attributes->message);
}

uint32_t category_of(const DomainId& domain, const EventAttributes* attributes) {
  if (!has_message(attributes) || attributes->category == 0) return 0;
  return category_name(g_state.categories, domain.index, attributes->category, agent());
}

void mark(const void* handle, uint32_t category, const char* text) {
  agent()->mark(domain_of(handle).interned, category, text);
}

int push(const DomainId& domain, uint32_t category, const char* text) {
  agent()->range_push(domain.interned, category, text);
  return push_level(domain.index);
}

int pop(const DomainId& domain) {
  const int level = pop_level(domain.index);
  if (level != -1) agent()->range_pop(domain.interned);
  return level;
}

void domain_mark_ex(const void* handle, const EventAttributes* attributes) {
  mark(handle, category_of(domain_of(handle), attributes), message_of(attributes).text());
}
void mark_ex(const EventAttributes* attributes) { domain_mark_ex(nullptr, attributes); }
void mark_a(const char* text) { mark(nullptr, 0, text_or_empty(text)); }
void mark_w(const wchar_t* text) { mark(nullptr, 0, Utf8(text).text()); }

uint64_t domain_range_start_ex(const void* handle, const EventAttributes* attributes) {
  const DomainId domain = domain_of(handle);
  return markers::start_range(agent(), domain.interned, category_of(domain, attributes),
                              message_of(attributes).text());
}
uint64_t range_start_ex(const EventAttributes* attributes) {
  return domain_range_start_ex(nullptr, attributes);
}
uint64_t range_start_a(const char* text) {
  return markers::start_range(agent(), g_state.connection.domain, 0, text_or_empty(text));
}
uint64_t range_start_w(const wchar_t* text) {
  return markers::start_range(agent(), g_state.connection.domain, 0, Utf8(text).text());
}
void range_end(uint64_t id) { markers::stop_range(agent(), id); }
void domain_range_end(const void*, uint64_t id) { markers::stop_range(agent(), id); }

int domain_range_push_ex(const void* handle, const EventAttributes* attributes) {
  const DomainId domain = domain_of(handle);
  return push(domain, category_of(domain, attributes), message_of(attributes).text());
}
int range_push_ex(const EventAttributes* attributes) {
  return domain_range_push_ex(nullptr, attributes);
}
int range_push_a(const char* text) { return push(domain_of(nullptr), 0, text_or_empty(text)); }
int range_push_w(const wchar_t* text) { return push(domain_of(nullptr), 0, Utf8(text).text()); }
int range_pop() { return pop(domain_of(nullptr)); }
int domain_range_pop(const void* handle) { return pop(domain_of(handle)); }

void domain_name_category_a(const void* handle, uint32_t category, const char* name) {
  name_category(g_state.categories, domain_of(handle).index, category, name, agent());
}
void domain_name_category_w(const void* handle, uint32_t category, const wchar_t* name) {
  if (name != nullptr) domain_name_category_a(handle, category, Utf8(name).text());
}
void name_category_a(uint32_t category, const char* name) {
  domain_name_category_a(nullptr, category, name);
}
void name_category_w(uint32_t category, const wchar_t* name) {
  domain_name_category_w(nullptr, category, name);
}

void name_os_thread_a(uint32_t thread, const char* name) {
  if (name != nullptr) agent()->name_thread(thread, name);
}
void name_os_thread_w(uint32_t thread, const wchar_t* name) {
  if (name != nullptr) agent()->name_thread(thread, Utf8(name).text());
}

// The program only passes the handle back to destroy it; clients test it for null.
const void* domain_resource_create(const void*, const ResourceAttributes* attributes) {
  if (!has_message(attributes)) return nullptr;
  const Message name = message_of(attributes);
  if (attributes->identifier_type == kResourceNativeThread) {
    agent()->name_thread(static_cast<uint32_t>(attributes->identifier), name.text());
  } else {
    record_object_name("nvtx_resource", attributes->identifier, false, name.text());
  }
  return &g_state;
}
void domain_resource_destroy(const void*) {}

const void* domain_register_string_a(const void*, const char* text) {
  text = text_or_empty(text);
  return markers::find_or_add_text(g_state.strings, text, strlen(text));
}
const void* domain_register_string_w(const void* domain, const wchar_t* text) {
  return domain_register_string_a(domain, Utf8(text).text());
}
const void* domain_create_a(const char* name) {
  return markers::find_or_add_interned(g_state.domains, name, agent());
}
const void* domain_create_w(const wchar_t* name) { return domain_create_a(Utf8(name).text()); }
void domain_destroy(const void*) {}
void initialize(const void*) {}

void fill_core(const FunctionTable& table) {
  table.set_from(1, mark_ex, mark_a, mark_w, range_start_ex, range_start_a, range_start_w,
                 range_end, range_push_ex, range_push_a, range_push_w, range_pop, name_category_a,
                 name_category_w, name_os_thread_a, name_os_thread_w);
}

void fill_core2(const FunctionTable& table) {
  table.set_from(1, domain_mark_ex, domain_range_start_ex, domain_range_end, domain_range_push_ex,
                 domain_range_pop, domain_resource_create, domain_resource_destroy,
                 domain_name_category_a, domain_name_category_w, domain_register_string_a,
                 domain_register_string_w, domain_create_a, domain_create_w, domain_destroy,
                 initialize);
}

void fill(const CallbackTable* callbacks, Module module, void (*with)(const FunctionTable&)) {
  FunctionTable table;
  if (callbacks->get_module_functions(module, &table.functions, &table.count) == 0) return;
  if (table.functions != nullptr) with(table);
}

// Returns 1 if the client should call this library. 0 makes every NVTX function of the client a
// no-op.
int fill_client(GetExportTable get_export_table) {
  if (get_export_table == nullptr || markers::connect(g_state.connection, "nvtx") == nullptr) {
    return 0;
  }
  const auto* callbacks = static_cast<const CallbackTable*>(get_export_table(kTableCallbacks));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(CallbackTable) ||
      callbacks->get_module_functions == nullptr) {
    agent()->diagnostic(SONDE_WARNING, "nvtx", "an NVTX client of unknown version is not recorded");
    return 0;
  }
  fill(callbacks, kModuleCore, fill_core);
  fill(callbacks, kModuleCore2, fill_core2);
  fill(callbacks, kModuleCuda, fill_cuda);
  fill(callbacks, kModuleCudaRuntime, fill_cuda_runtime);
  fill(callbacks, kModuleOpenCl, fill_opencl);
  fill(callbacks, kModuleSync, fill_sync);
  return 1;
}

}  // namespace
}  // namespace sonde::nvtx

#define SONDE_NVTX extern "C" __attribute__((visibility("default")))

// The entry point in the library that NVTX_INJECTION64_PATH names.
SONDE_NVTX int InitializeInjectionNvtx2(sonde::nvtx::GetExportTable get_export_table) {
  return sonde::nvtx::fill_client(get_export_table);
}

// The entry point for clients that look it up among the symbols of the process.
SONDE_NVTX int InitializeInjectionNvtx2Preinject(sonde::nvtx::GetExportTable get_export_table) {
  return sonde::nvtx::fill_client(get_export_table);
}

// Called in a process that is attached to, before its first client is filled (rocm/late).
SONDE_NVTX void sonde_nvtx_attach(const struct sonde_agent* agent) {
  sonde::markers::connect_to(sonde::nvtx::g_state.connection, agent, "nvtx");
}
