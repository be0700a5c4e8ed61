// Kernels and the code objects they come from, registered when an executable is frozen: from then
// on its kernels can be launched. Lookups take no lock; entries are never removed, and an entry
// whose address is reused is overwritten.
#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/rocm/hsa/board.h"
#include "backends/rocm/hsa/calls.h"
#include "backends/rocm/hsa/replay.h"
#include "base/uncancelled.h"

namespace sonde::hsa {
namespace {

constexpr size_t kBuckets = 4096;
constexpr size_t kMaxName = 64 * 1024;

// The name is interned at the first launch: a library may have thousands of kernels.
struct Node {
  Node* next;
  uint64_t object;
  const char* text;  // never freed: another thread may be reading it
  uint32_t name;     // 0: not launched yet
  uint32_t argument_bytes;
};
Node* g_buckets[kBuckets];
pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t g_learning = PTHREAD_MUTEX_INITIALIZER;
Loader g_loader;
bool g_has_loader;

size_t bucket_of(uint64_t object) { return ((object >> 6) * 0x9e3779b97f4a7c15u) >> 52; }

Node* find_node(uint64_t object) {
  Node* node = __atomic_load_n(&g_buckets[bucket_of(object)], __ATOMIC_ACQUIRE);
  while (node != nullptr && node->object != object) node = node->next;
  return node;
}

// Takes ownership of `text`.
void remember(uint64_t object, const char* text, uint32_t argument_bytes) {
  pthread_mutex_lock(&g_lock);
  Node* node = find_node(object);
  if (node == nullptr) {
    node = static_cast<Node*>(malloc(sizeof(Node)));
    if (node != nullptr) {
      Node** bucket = &g_buckets[bucket_of(object)];
      *node = {*bucket, object, text, 0, argument_bytes};
      __atomic_store_n(bucket, node, __ATOMIC_RELEASE);
    }
  } else if (strcmp(node->text, text) != 0) {
    __atomic_store_n(&node->text, text, __ATOMIC_RELEASE);
    __atomic_store_n(&node->name, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&node->argument_bytes, argument_bytes, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&g_lock);
}

// Registers are allocated in units that depend on the architecture.
void describe_registers(const KernelDescriptor& kernel, const Device* device, uint32_t* vgprs,
                        uint32_t* accumulation, uint32_t* sgprs) {
  const uint32_t vector_units = (kernel.resources1 & 0x3f) + 1;
  const uint32_t scalar_units = (kernel.resources1 >> 6) & 0xf;
  *accumulation = 0;
  if (device != nullptr && device->big_registers) {
    const uint32_t total = vector_units * 8;
    *vgprs = ((kernel.resources3 & 0x3f) + 1) * 4;
    if (total > *vgprs) *accumulation = total - *vgprs;
    *sgprs = 16 * (scalar_units / 2 + 1);
  } else if (device != nullptr && device->gfx_major >= 10) {
    const bool wave32 = (kernel.properties & (1 << 10)) != 0;
    *vgprs = vector_units * (wave32 ? 8 : 4);
    *sgprs = 128;
  } else {
    *vgprs = vector_units * 4;
    *sgprs = 16 * (scalar_units / 2 + 1);
  }
}

// Returns the size of the kernel's arguments in bytes; 0: unknown.
uint32_t note_kernel(const char* name, uint64_t object, const Device* device) {
  const void* host = nullptr;
  if (!g_has_loader ||
      g_loader.query_host_address(reinterpret_cast<const void*>(object), &host) != kSuccess ||
      host == nullptr) {
    return 0;
  }
  KernelDescriptor descriptor;
  memcpy(&descriptor, host, sizeof descriptor);
  uint32_t vgprs, accumulation, sgprs;
  describe_registers(descriptor, device, &vgprs, &accumulation, &sgprs);
  const size_t room = strlen(name) + 400;
  char* text = static_cast<char*>(malloc(room));
  if (text == nullptr) return descriptor.kernarg_bytes;
  // The name is a symbol of an object file and contains no quotes.
  snprintf(text, room,
           "{\"name\":\"%s\",\"object\":\"0x%lx\",\"vgprs\":%u,\"accumulation_vgprs\":%u,"
           "\"sgprs\":%u,\"group_segment_bytes\":%u,\"private_segment_bytes\":%u,"
           "\"kernarg_bytes\":%u,\"gpu\":%d}",
           name, object, vgprs, accumulation, sgprs, descriptor.group_segment_bytes,
           descriptor.private_segment_bytes, descriptor.kernarg_bytes,
           device != nullptr ? device->gpu_id : -1);
  agent().metadata("hsa.kernel", text);
  free(text);
  return descriptor.kernarg_bytes;
}

constexpr uint32_t kSymbolAgent = 20;  // HSA_EXECUTABLE_SYMBOL_INFO_AGENT

Status visit_symbol(Executable, Symbol symbol, void*) {
  uint32_t kind = 0, length = 0;
  uint64_t object = 0;
  AgentHandle handle = {};
  next().executable_symbol_get_info(symbol, kSymbolType, &kind);
  if (kind != kSymbolIsKernel) return kSuccess;
  next().executable_symbol_get_info(symbol, kSymbolNameLength, &length);
  next().executable_symbol_get_info(symbol, kSymbolKernelObject, &object);
  next().executable_symbol_get_info(symbol, kSymbolAgent, &handle);
  if (length == 0 || length > kMaxName) return kSuccess;
  char* name = static_cast<char*>(calloc(length + 1, 1));
  if (name == nullptr) return kSuccess;
  next().executable_symbol_get_info(symbol, kSymbolName, name);
  const size_t used = strlen(name);
  // This is the symbol of the kernel descriptor; the kernel's name lacks the ".kd".
  if (used > 3 && strcmp(name + used - 3, ".kd") == 0) name[used - 3] = '\0';
  remember(object, name, note_kernel(name, object, device_of(handle)));
  return kSuccess;
}

// Notes the segments that kernels may write to, from the program headers of the loaded code object.
void note_segments(Executable executable, AgentHandle gpu, uint64_t base, int64_t delta) {
  const void* host = nullptr;
  if (g_loader.query_host_address(reinterpret_cast<const void*>(base), &host) != kSuccess ||
      host == nullptr || memcmp(host, ELFMAG, SELFMAG) != 0) {
    return;
  }
  Elf64_Ehdr header;
  memcpy(&header, host, sizeof header);
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    memcpy(&segment, static_cast<const char*>(host) + header.e_phoff + i * sizeof segment,
           sizeof segment);
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
    note_variables(executable, gpu, segment.p_vaddr + static_cast<uint64_t>(delta),
                   segment.p_memsz);
  }
}

Status visit_code_object(Executable executable, CodeObject object, void*) {
  uint64_t base = 0, size = 0;
  int64_t delta = 0;
  uint32_t length = 0;
  g_loader.code_object_info(object, kLoadBase, &base);
  g_loader.code_object_info(object, kLoadSize, &size);
  g_loader.code_object_info(object, kLoadDelta, &delta);
  g_loader.code_object_info(object, kUriLength, &length);
  if (replays()) {
    AgentHandle gpu = {};
    g_loader.code_object_info(object, kLoadAgent, &gpu);
    note_segments(executable, gpu, base, delta);
  }
  if (length > kMaxName) return kSuccess;
  char* uri = static_cast<char*>(calloc(length + 1, 1));
  const size_t room = length + 200;
  char* text = static_cast<char*>(malloc(room));
  if (uri != nullptr && text != nullptr) {
    if (length != 0) g_loader.code_object_info(object, kUri, uri);
    log_code_object(base, size, delta, uri);
    for (char* at = uri; *at != '\0'; ++at) {
      if (*at == '"' || *at == '\\' || static_cast<unsigned char>(*at) < ' ') *at = '_';
    }
    snprintf(text, room, "{\"uri\":\"%s\",\"load_base\":\"0x%lx\",\"load_size\":%lu,\"delta\":%ld}",
             uri, base, size, delta);
    agent().metadata("hsa.code_object", text);
  }
  free(uri);
  free(text);
  return kSuccess;
}

bool has_loader() {
  if (!g_has_loader) {
    g_has_loader = next().system_get_major_extension_table(kExtensionLoader, 1, sizeof g_loader,
                                                           &g_loader) == kSuccess;
  }
  return g_has_loader;
}

Status learn(Executable executable, void*) {
  if (has_loader()) g_loader.iterate_code_objects(executable, visit_code_object, nullptr);
  next().executable_iterate_symbols(executable, visit_symbol, nullptr);
  return kSuccess;
}

Status freeze(Executable executable, const char* options) {
  Call call(kFreeze);
  const MemoryTurn turn;
  const Status status = next().executable_freeze(executable, options);
  const uint64_t words[] = {executable.handle};
  call.end(status, words, 1);
  if (status == kSuccess) learn(executable, nullptr);
  return status;
}

// Hooked only if kernels are replayed.
Status destroy(Executable executable) {
  const MemoryTurn turn;
  forget_variables(executable);
  return next().executable_destroy(executable);
}

// Hooked only in a process that is attached to: no executable is destroyed while we look at it.
Status destroy_unseen(Executable executable) {
  pthread_mutex_lock(&g_learning);
  const Status status = next().executable_destroy(executable);
  pthread_mutex_unlock(&g_learning);
  return status;
}

constexpr size_t kMostExecutables = 4096;
struct Executables {
  Executable all[kMostExecutables];
  size_t count;
};

Status add_executable(Executable executable, void* data) {
  auto* list = static_cast<Executables*>(data);
  if (list->count < kMostExecutables) list->all[list->count++] = executable;
  return kSuccess;
}

}  // namespace

// While it iterates, the runtime holds a lock that querying an executable also takes.
void learn_kernels() {
  if (!has_loader() || g_loader.iterate_executables == nullptr) return;
  auto* list = static_cast<Executables*>(calloc(1, sizeof(Executables)));
  if (list == nullptr) return;
  // Calls in flight that began before our hook was in place.
  constexpr timespec kCallsUnderWay = {0, 5'000'000};
  sleep_uncancelled(kCallsUnderWay);
  pthread_mutex_lock(&g_learning);
  g_loader.iterate_executables(add_executable, list);
  for (size_t i = 0; i < list->count; ++i) learn(list->all[i], nullptr);
  pthread_mutex_unlock(&g_learning);
  free(list);
}

uint32_t kernel_name(uint64_t object) {
  Node* node = find_node(object);
  if (node == nullptr) return 0;
  uint32_t name = __atomic_load_n(&node->name, __ATOMIC_ACQUIRE);
  if (name == 0) {
    const char* text = __atomic_load_n(&node->text, __ATOMIC_ACQUIRE);
    name = agent().intern(text, strlen(text));
    __atomic_store_n(&node->name, name, __ATOMIC_RELEASE);
  }
  return name;
}

const char* kernel_text(uint64_t object) {
  Node* node = find_node(object);
  return node != nullptr ? __atomic_load_n(&node->text, __ATOMIC_ACQUIRE) : nullptr;
}

uint32_t kernel_argument_bytes(uint64_t object) {
  const Node* node = find_node(object);
  return node != nullptr ? node->argument_bytes : 0;
}

void hook_kernels(Functions* hooks) {
  hooks->executable_freeze = freeze;
  if (replays()) hooks->executable_destroy = destroy;
  if (rocm::g_attached) hooks->executable_destroy = destroy_unseen;
}

}  // namespace sonde::hsa
