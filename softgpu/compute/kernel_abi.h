/* kernel_abi: the interface between a program built with softgpu-hipcc and the executor. The
 * program's side is written by softgpu-lower (as constants with this layout) and by
 * compiler/support/ (C that is linked into the kernels as bitcode), so this is plain C. Any change
 * of a layout here needs a new SOFTGPU_ABI; a module of another version is rejected with a message.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SOFTGPU_ABI = 2, SOFTGPU_MAX_WAVE = 64 };

struct SoftgpuItem;

/* What the lanes that meet at one point of the program show each other. */
struct SoftgpuMeeting {
  uint64_t active;              /* lanes that take part */
  uint64_t ones;                /* of those, where a != 0 */
  uint64_t a[SOFTGPU_MAX_WAVE]; /* what each lane brought; 0 where not active */
  uint64_t b[SOFTGPU_MAX_WAVE];
};

/* Requests of a kernel to the executor. */
struct SoftgpuApi {
  void (*barrier)(struct SoftgpuItem*);
  /* Waits for the other lanes of the wave; `site` orders meeting points as the program does. The
   * result is valid until this lane meets again. */
  const struct SoftgpuMeeting* (*meet)(struct SoftgpuItem*, uint32_t site, uint64_t a, uint64_t b);
  void (*yield)(struct SoftgpuItem*); /* lets other items run: a place where one spins */
  /* printf: begin, then any number of pieces, with `last` set in the final one. The first string
   * is the format. */
  uint64_t (*print_begin)(struct SoftgpuItem*, int to_stderr);
  void (*print_string)(struct SoftgpuItem*, uint64_t id, const char* text, uint64_t bytes,
                       uint32_t last);
  void (*print_values)(struct SoftgpuItem*, uint64_t id, uint32_t count, const uint64_t* values,
                       uint32_t last);
  void* (*allocate)(struct SoftgpuItem*, uint64_t bytes);
  void (*release)(struct SoftgpuItem*, void*);
  uint64_t (*clock_ns)(void);
};

/* A work group. */
struct SoftgpuGroup {
  const struct SoftgpuApi* api;
  const void* kernarg;
  const void* implicit_args;
  const void* packet; /* hsa_kernel_dispatch_packet_t */
  char* lds;
  void* const* variables; /* addresses of the module's variables */
  uint32_t id[3];
  uint32_t size[3];      /* of this group: less than the dispatch says at the edge of the grid */
  uint32_t lds_bytes;    /* static and dynamic */
  uint32_t static_bytes; /* where dynamic LDS starts */
  uint32_t wave_size;
  const char* stack_begin; /* private memory, for tests of address kinds */
  const char* stack_end;
  void* runner; /* the executor's */
};

/* A work item. The executor appends its own data. */
struct SoftgpuItem {
  struct SoftgpuGroup* group;
  uint32_t id[3];
  uint32_t lane; /* of its wave */
  uint32_t wave; /* of its group */
  const char* stack_begin;
  const char* stack_end;
};

struct SoftgpuKernel {
  const char* name;
  /* Exactly one is set: all items of a group in a loop, or one item (those that wait for
   * others). */
  void (*run_group)(struct SoftgpuGroup*);
  void (*run_item)(struct SoftgpuItem*);
  uint32_t lds_bytes;
  uint32_t implicit_offset; /* of the implicit arguments in the kernarg segment */
  uint32_t stack_bytes;     /* of one item; 0 = cannot be known */
  uint32_t wave_size;
  uint32_t watches_memory; /* 1: items may wait for other groups, which may start later */
  uint32_t reserved;
};

/* A __device__ or __constant__ variable that the host can access by name: it lives in the code
 * object that the runtime loaded; `copy` replaces it if there is none. */
struct SoftgpuVariable {
  const char* name;
  void* copy;
};

struct SoftgpuModule {
  uint32_t abi;
  uint32_t kernel_count;
  const struct SoftgpuKernel* kernels;
  uint32_t variable_count;
  uint32_t reserved;
  const struct SoftgpuVariable* variables;
  struct SoftgpuModule* next; /* the registry's */
};

/* Called by the program's constructor and destructor; absent without softgpu. */
void softgpu_register_module(struct SoftgpuModule*);
void softgpu_unregister_module(struct SoftgpuModule*);

#ifdef __cplusplus
}
#endif
