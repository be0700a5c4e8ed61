// Stands in for ROCm's newer runtimes: hands tables of their layouts to the library that
// rocprofiler-register would load, as that does, and then calls through them.
//   fake_rocm hip BYTES    a HIP table of so many bytes (6.2: 3624, 6.3: 3696, later: 3712)
//   fake_rocm newer BYTES  the same, and calls of functions that came later
//   fake_rocm twice        two libraries of HIP and two of RCCL, each with a table of its own
//   fake_rocm version NAME VERSION  a table of that version of hip or rccl; says if it was replaced
//   fake_rocm rccl         RCCL's table of 37 functions
//   fake_rocm rccl_by_name LIBRARY  loads the library for itself alone, which calls RCCL by name
//   fake_rocm hsa BYTES    HSA's tables with an AMD table of so many bytes; says what was replaced
//   fake_rocm tracer BYTES loads a HIP with a tracer (tests/fakes/tracer_hip.cpp) and then, as
//   HSA's
//                          runtime of such a version, the tools of HSA_TOOLS_LIB, with an AMD table
//                          of so many bytes; calls that HIP as a program does that found it by
//                          dlsym()
// Prints what its own functions were called with, which must not depend on who listens.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <vector>

#include "fake_runtime.h"

namespace {

int fake_malloc(void** ptr, size_t size) {
  *ptr = reinterpret_cast<void*>(0x1000);
  printf("malloc %zu\n", size);
  return size > 1000000 ? 2 : 0;
}
int fake_copy(void* dst, const void* src, size_t size, int kind, void* stream) {
  printf("copy %p %p %zu %d %p\n", dst, src, size, kind, stream);
  return 0;
}
struct Dim {
  uint32_t x, y, z;
};
int fake_launch(const void* function, Dim grid, Dim block, void** args, size_t shared,
                void* stream) {
  printf("launch %p %u,%u,%u %u,%u,%u %p %zu %p\n", function, grid.x, grid.y, grid.z, block.x,
         block.y, block.z, static_cast<void*>(args), shared, stream);
  return 0;
}
int fake_set_device(int device) {
  printf("device %d\n", device);
  return 0;
}
int never() { abort(); }

void* address(uint64_t value) { return reinterpret_cast<void*>(value); }

// The places are those of HipDispatchTable, without its size.
int fake_hip(size_t bytes) {
  std::vector<void*> table(bytes / 8, pointer(never));
  table[0] = address(bytes);
  void** functions = table.data() + 1;
  constexpr int kLaunch = 214, kMalloc = 215, kCopyAsync = 268, kSetDevice = 327;
  functions[kLaunch] = reinterpret_cast<void*>(fake_launch);
  functions[kMalloc] = reinterpret_cast<void*>(fake_malloc);
  functions[kCopyAsync] = reinterpret_cast<void*>(fake_copy);
  functions[kSetDevice] = reinterpret_cast<void*>(fake_set_device);
  const int status = hand_over("hip", 60200, table.data());
  void* memory = nullptr;
  call<int>(functions[kSetDevice], 3);
  call<int>(functions[kMalloc], &memory, size_t{4096});
  const int failed = call<int>(functions[kMalloc], &memory, size_t{1} << 40);
  call<int>(functions[kCopyAsync], address(0x10), address(0x20), size_t{5} << 32, 1, address(0x77));
  call<int>(functions[kLaunch], address(0x30), Dim{4, 5, 6}, Dim{64, 2, 1},
            static_cast<void**>(nullptr), size_t{128}, address(0x88));
  printf("{\"status\": %d, \"failed\": %d}\n", status, failed);
  return 0;
}

int fake_graph_launch(void* graph, void* stream) {
  printf("graph %p %p\n", graph, stream);
  return 0;
}
int fake_cooperative(void* function, uint32_t x, uint32_t y, uint32_t z, uint32_t block_x, uint32_t,
                     uint32_t, uint32_t shared, void* stream, void**) {
  printf("cooperative %p %u,%u,%u %u %u %p\n", function, x, y, z, block_x, shared, stream);
  return 0;
}
int fake_launch_ex(const void* config, const void* function, void**) {
  printf("launch ex %u %p\n", static_cast<const uint32_t*>(config)[0], function);
  return 0;
}
int fake_drv_launch(const void* config, void* function, void**, void**) {
  printf("drv launch %u %p\n", static_cast<const uint32_t*>(config)[0], function);
  return 0;
}
int fake_batch(void** to, void** from, size_t* sizes, size_t count, void*, size_t*, size_t, size_t*,
               void* stream) {
  printf("batch %p %p %zu %zu %p\n", to[0], from[0], sizes[0], count, stream);
  return 0;
}
int fake_last_error() { return 2; }
int fake_properties(void* properties, int device) {
  printf("properties %p of %d\n", properties, device);
  return 0;
}

// HIP's data of this call are the largest of all; nothing may be stored where the caller's own are.
__attribute__((noinline)) void ask_for_properties(void* function) {
  volatile char own[4096];
  for (volatile char& byte : own) byte = 0x5a;
  call<int>(function, address(0x50), 0x01020304);
  const bool kept = std::all_of(own, own + sizeof own, [](char byte) { return byte == 0x5a; });
  printf("caller's own: %s\n", kept ? "kept" : "overwritten");
}

// Functions behind the first 445 of the table, as far as it reaches.
int fake_newer(size_t bytes) {
  std::vector<void*> table(bytes / 8, pointer(never));
  table[0] = address(bytes);
  void** functions = table.data() + 1;
  struct {
    Dim grid, block;
    size_t shared;
    void* stream;
    void* attributes;
    uint32_t count;
  } const config = {{8, 1, 1}, {64, 1, 1}, 16, address(0x99), nullptr, 0};
  const auto put = [&](size_t index, void* function) {
    if (index + 1 < table.size()) functions[index] = function;
    return index + 1 < table.size();
  };
  constexpr int kProperties = 105, kCooperative = 306, kGraphLaunch = 420, kLastError = 439,
                kLaunchEx = 474, kDrvLaunch = 475, kBatch = 487;
  put(kProperties, reinterpret_cast<void*>(fake_properties));
  put(kCooperative, reinterpret_cast<void*>(fake_cooperative));
  put(kGraphLaunch, reinterpret_cast<void*>(fake_graph_launch));
  put(kLastError, pointer(fake_last_error));
  put(kLaunchEx, reinterpret_cast<void*>(fake_launch_ex));
  const bool newest = put(kDrvLaunch, reinterpret_cast<void*>(fake_drv_launch)) &&
                      put(kBatch, reinterpret_cast<void*>(fake_batch));
  hand_over("hip", 70000, table.data());
  void** none = nullptr;
  ask_for_properties(functions[kProperties]);
  call<int>(functions[kCooperative], address(0x30), 2u, 3u, 4u, 64u, 1u, 1u, 128u, address(0x88),
            none);
  call<int>(functions[kGraphLaunch], address(0x40), address(0x88));
  call<int>(functions[kLastError]);
  if (newest) {
    void *to[] = {address(0x10), address(0x11)}, *from[] = {address(0x20), address(0x21)};
    size_t sizes[] = {1000, 24};
    void* attributes = nullptr;
    size_t *indices = nullptr, *failed = nullptr;
    call<int>(functions[kLaunchEx], static_cast<const void*>(&config), address(0x31), none);
    call<int>(functions[kDrvLaunch], static_cast<const void*>(&config), address(0x32), none, none);
    call<int>(functions[kBatch], static_cast<void**>(to), static_cast<void**>(from),
              static_cast<size_t*>(sizes), size_t{2}, attributes, indices, size_t{0}, failed,
              address(0x77));
  }
  printf("{\"calls\": %d, \"replaced\": %ld}\n", newest ? 7 : 4,
         std::count_if(table.begin() + 1, table.end(), [&](void* function) {
           Dl_info place, own;
           return dladdr(function, &place) != 0 && dladdr(pointer(never), &own) != 0 &&
                  place.dli_fbase != own.dli_fbase;
         }));
  return 0;
}

int other_set_device(int device) {
  printf("other device %d\n", device);
  return 0;
}
int group_of(const char* which) {
  printf("group of %s\n", which);
  return 0;
}

int fake_twice() {
  constexpr int kSetDevice = 327, kGroupStart = 13;
  std::vector<void*> hip(453, pointer(never)), other_hip = hip, rccl(38, pointer(never));
  hip[0] = other_hip[0] = address(453 * 8);
  rccl[0] = address(38 * 8);
  std::vector<void*> other_rccl = rccl;
  hip[1 + kSetDevice] = reinterpret_cast<void*>(fake_set_device);
  other_hip[1 + kSetDevice] = reinterpret_cast<void*>(other_set_device);
  rccl[1 + kGroupStart] = pointer(+[] { return group_of("the first"); });
  other_rccl[1 + kGroupStart] = pointer(+[] { return group_of("the other"); });
  hand_over("hip", 60200, hip.data());
  hand_over("rccl", 21803, rccl.data());
  hand_over("hip", 60400, other_hip.data());
  hand_over("rccl", 22105, other_rccl.data());
  hand_over("hip", 60200, hip.data());  // as it is done again where a tool is attached
  call<int>(hip[1 + kSetDevice], 1);
  call<int>(other_hip[1 + kSetDevice], 2);
  call<int>(rccl[1 + kGroupStart]);
  call<int>(other_rccl[1 + kGroupStart]);
  return 0;
}

int fake_version(const char* name, uint64_t version) {
  std::vector<void*> table(453, pointer(never));
  table[0] = address(453 * 8);
  hand_over(name, version, table.data());
  hand_over(name, version, table.data());
  const bool kept = std::count(table.begin() + 1, table.end(), pointer(never)) == 452;
  printf("replaced: %s\n", kept ? "no" : "yes");
  return 0;
}

int fake_reduce(const void* send, void* recv, size_t count, int type, int op, void* comm,
                void* stream) {
  printf("reduce %p %p %zu %d %d %p %p\n", send, recv, count, type, op, comm, stream);
  return 0;
}
int fake_all_to_all_v(const void* send, const size_t* counts, const size_t*, void* recv,
                      const size_t*, const size_t*, int type, void* comm, void* stream) {
  printf("all to all v %p %zu %p %d %p %p\n", send, counts[0], recv, type, comm, stream);
  return 0;
}
int fake_count(void* comm, int* ranks) {
  if (comm != address(0xc0)) return 4;
  *ranks = 3;
  return 0;
}
int fake_send(const void* send, size_t count, int type, int peer, void* comm, void* stream) {
  printf("send %p %zu %d %d %p %p\n", send, count, type, peer, comm, stream);
  return 5;
}
int fake_group() { return 0; }

int fake_rccl() {
  std::vector<void*> table(38, pointer(never));
  table[0] = address(38 * 8);
  void** functions = table.data() + 1;
  functions[1] = reinterpret_cast<void*>(fake_reduce);
  functions[3] = reinterpret_cast<void*>(fake_all_to_all_v);
  functions[9] = reinterpret_cast<void*>(fake_send);
  functions[27] = reinterpret_cast<void*>(fake_count);
  functions[13] = functions[14] = pointer(fake_group);
  hand_over("rccl", 21803, table.data());
  call<int>(functions[13]);
  call<int>(functions[1], address(0x100), address(0x200), size_t{1000}, 7, 0, address(0xc0),
            address(0x55));
  call<int>(functions[9], address(0x300), size_t{10}, 8, 3, address(0xc0), address(0x55));
  constexpr size_t kCounts[] = {10, 20, 30}, kPlaces[] = {0, 10, 30};
  call<int>(functions[3], address(0x100), kCounts, kPlaces, address(0x200), kCounts, kPlaces, 6,
            address(0xc0), address(0x55));
  call<int>(functions[14]);
  printf("{\"calls\": 5}\n");
  return 0;
}

int rccl_by_name(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* symbol = library != nullptr ? dlsym(library, "use_rccl") : nullptr;
  if (symbol == nullptr) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  return call<int>(symbol);
}

// Every function of these tables succeeds and does nothing.
struct HsaTables {
  explicit HsaTables(uint32_t bytes)
      : core(1016 / 8, pointer(fake_group)), amd(bytes / 8, pointer(fake_group)) {
    const Version of_core = {2, 1016, 0, 0}, of_amd = {1, bytes, 0, 0};
    memcpy(core.data(), &of_core, sizeof of_core);
    memcpy(amd.data(), &of_amd, sizeof of_amd);
    table.core = core.data();
    table.amd = amd.data();
  }
  std::vector<void*> core, amd;
  struct {
    Version version = {3, 64, 0, 0};
    void* core = nullptr;
    void* amd = nullptr;
    void* others[4] = {};
  } table;
};

int fake_hsa(uint32_t bytes) {
  HsaTables hsa(bytes);
  hand_over("hsa", 11400, &hsa.table);
  call<int>(hsa.amd[128 / 8], address(0x40));  // hsa_amd_memory_pool_free
  printf("replaced");
  for (size_t i = 2; i < hsa.amd.size(); ++i) {
    if (hsa.amd[i] != pointer(fake_group)) printf(" %zu", i * 8);
  }
  printf("\n");
  return 0;
}

int fake_tracer(uint32_t bytes) {
  void* hip = dlopen("libamdhip64.so.6", RTLD_NOW | RTLD_LOCAL);
  if (hip == nullptr) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  static HsaTables hsa(bytes);
  load_tools(&hsa.table, 1, [](void*) {});
  void* memory = nullptr;
  call<int>(dlsym(hip, "hipMalloc"), &memory, size_t{4096});
  const int failed = call<int>(dlsym(hip, "hipMalloc"), &memory, size_t{1} << 40);
  call<int>(dlsym(hip, "hipMemcpyAsync"), address(0x10), address(0x20), size_t{5} << 32, 1,
            address(0x77));
  call<int>(dlsym(hip, "hipLaunchKernel"), address(0x30), Dim{4, 5, 6}, Dim{64, 2, 1},
            static_cast<void**>(nullptr), size_t{128}, address(0x88));
  printf("{\"memory\": \"%p\", \"failed\": %d}\n", memory, failed);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const unsigned long bytes = argc > 2 ? strtoul(argv[2], nullptr, 10) : 0;
  if (strcmp(what, "hip") == 0) return fake_hip(bytes);
  if (strcmp(what, "newer") == 0) return fake_newer(bytes);
  if (strcmp(what, "twice") == 0) return fake_twice();
  if (strcmp(what, "version") == 0 && argc > 3)
    return fake_version(argv[2], strtoul(argv[3], nullptr, 10));
  if (strcmp(what, "rccl") == 0) return fake_rccl();
  if (strcmp(what, "rccl_by_name") == 0 && argc > 2) return rccl_by_name(argv[2]);
  if (strcmp(what, "hsa") == 0) return fake_hsa(static_cast<uint32_t>(bytes));
  if (strcmp(what, "tracer") == 0) return fake_tracer(static_cast<uint32_t>(bytes));
  return 2;
}
