/* The C ABI between Sonde's agent and its capture backends.
 *
 * A backend is a shared library that watches one interface (OpenCL, ROCTX, HSA ...) inside the
 * traced program and hands what it sees to the agent, which writes it to the process' spool. A
 * backend needs nothing but this header: it finds the agent at run time with sonde_find_agent() and
 * does nothing when there is none.
 *
 * Times are in "ticks" of the agent's clock (ticks()), or in a clock of the backend's own that it
 * has defined and calibrates with clock_snapshot(); the tool converts both to CLOCK_MONOTONIC ns.
 * Ids returned by the define_* functions stay valid for the life of the process, also in a forked
 * child. 0 is the id of "nothing" and may always be passed. All functions may be called from any
 * thread and at any time; none of them fails visibly, blocks without bound, or changes errno.
 * Strings are copied. */
#ifndef SONDE_BACKEND_H
#define SONDE_BACKEND_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SONDE_AGENT_ABI 2

/* Clocks every process knows; a backend's own come from define_clock(). */
enum sonde_clock {
  SONDE_CLOCK_TICKS = 0, /* the agent's clock */
  SONDE_CLOCK_MONOTONIC = 1,
  SONDE_CLOCK_MONOTONIC_RAW = 2,
  SONDE_CLOCK_REALTIME = 3,
  SONDE_CLOCK_BOOTTIME = 4
};

enum sonde_severity { SONDE_INFO = 0, SONDE_WARNING = 1, SONDE_ERROR = 2 };

/* What a device did. The names in rocpd_op.opType are in src/wire/records.h. */
enum sonde_op_kind {
  SONDE_OP_OTHER = 0,
  SONDE_OP_KERNEL = 1,
  SONDE_OP_COPY_H2D = 2,
  SONDE_OP_COPY_D2H = 3,
  SONDE_OP_COPY_D2D = 4,
  SONDE_OP_COPY_H2H = 5,
  SONDE_OP_FILL = 6,
  SONDE_OP_MAP = 7, /* a map that moved data or waited, as the runtime timed it */
  SONDE_OP_UNMAP = 8,
  SONDE_OP_BARRIER = 9, /* barriers and markers */
  SONDE_OP_MIGRATE = 10,
  SONDE_OP_NATIVE = 11, /* a host function run by the queue */
  SONDE_OP_TASK = 12    /* several operations the runtime timed as one (graphs) */
};

enum sonde_op_flag {
  SONDE_OP_BLOCKING = 1,    /* the call returned after it */
  SONDE_OP_PINNED = 2,      /* host memory is pinned */
  SONDE_OP_HAS_DEVICES = 4, /* src_device and dst_device are given */
  SONDE_OP_HAS_REQUEST = 8, /* copy_request() says what its call asked for */
  SONDE_OP_HAS_STREAM = 16  /* `stream` is given; else the queue's handle stands for it */
};

struct sonde_device {
  uint32_t gpu_id;     /* number shown as gpuId; small and stable within the process */
  uint32_t clock;      /* clock of its timestamps */
  const char* backend; /* "opencl" */
  const char* name;
  const char* vendor;
  const char* driver;
  const char* kind;     /* "gpu", "cpu", "accelerator" */
  const char* location; /* PCI address or "" */
  uint64_t memory_bytes;
  uint32_t compute_units;
  uint32_t clock_mhz;
};

struct sonde_queue {
  uint32_t device; /* from define_device */
  uint32_t flags;  /* bit 0: out of order; bit 1: the program itself enabled profiling */
  uint64_t handle; /* the runtime's handle, as the program sees it */
  uint64_t context;
};

/* One finished operation of a device. All times are values of `clock`; 0 = unknown. */
struct sonde_op {
  uint32_t kind;  /* enum sonde_op_kind */
  uint32_t name;  /* intern()ed kernel name, or 0 */
  uint32_t queue; /* from define_queue */
  uint32_t clock;
  uint64_t correlation; /* of the call that launched it, or 0 */
  uint64_t queued, submitted, start, end;
  uint64_t bytes;    /* moved or filled */
  uint64_t grid[3];  /* work items; 0 = the dimension is not used */
  uint32_t group[3]; /* work items of a work group; 0 = the runtime chose */
  int32_t status;    /* 0, or the runtime's error code of a failed operation */
  uint64_t src, dst; /* addresses or handles */
  uint64_t size[3];  /* of a rectangle: width in bytes, height, depth; else 0 */
  uint32_t group_segment_bytes, private_segment_bytes;
  uint32_t flags;                 /* enum sonde_op_flag */
  int16_t src_device, dst_device; /* of a copy: numbers of devices, -1 = the host */
  uint64_t stream;                /* as the launching call names it */
};

/* The copy that a call requested, however many operations the runtime splits it into. */
struct sonde_copy_request {
  uint64_t correlation; /* of the call, which has not ended yet */
  uint32_t kind;        /* enum sonde_op_kind: one of the copies */
  uint32_t flags;       /* SONDE_OP_BLOCKING, SONDE_OP_PINNED */
  uint64_t bytes;
  uint64_t src, dst;              /* addresses */
  uint64_t size[3];               /* of a rectangle: width in bytes, height, depth; else 0 */
  uint64_t stream;                /* as the call names it */
  int16_t src_device, dst_device; /* numbers of devices, -1 = the host */
  uint32_t reserved;              /* 0 */
};

/* What a hardware counter counted while a kernel ran. One value for each part of the device that
 * has the counter. */
struct sonde_counter_value {
  uint16_t xcc, engine;
  uint32_t instance;
  uint64_t value;
};
struct sonde_op_counter {
  uint32_t name;  /* intern()ed */
  uint32_t queue; /* of the op */
  uint64_t start; /* of the op */
  uint32_t pass;  /* the run in which it was counted */
  uint32_t count;
  const struct sonde_counter_value* values;
};

/* The call stack of a thread at a moment. */
enum sonde_stack_flag {
  SONDE_STACK_TRUNCATED = 1, /* the outermost frames are missing: no way to unwind */
  SONDE_STACK_TOO_DEEP = 2   /* the outermost frames are missing: too many */
};
struct sonde_stack {
  uint64_t ticks;
  uint32_t flags; /* enum sonde_stack_flag */
  uint32_t frames;
  uint32_t frame_bytes;
  const void* packed_frames; /* as src/wire/FORMAT.md says, innermost first */
};

/* What the calling thread was executing. */
struct sonde_sample {
  struct sonde_stack stack;
  uint64_t cpu_ns;  /* CPU time of the thread since its last sample */
  uint32_t missed;  /* samples that were due meanwhile and not taken */
  uint32_t cost_ns; /* CPU time that the thread's last sample took */
  int by_timer;     /* due by a timer of CPU time, not by a perf event */
};

/* An executable file in memory. */
struct sonde_module {
  uint64_t bias, start, end;
  const char* path;
  const void* build_id;
  uint32_t build_id_bytes;
};

/* A code object of Python. Texts are given with their lengths. */
struct sonde_code {
  uint32_t first_line, version;
  const char* file;
  const char* name;
  const void* lines;
  uint32_t file_bytes, name_bytes, line_bytes;
};

/* The kind of call that call_begin() is given. */
enum sonde_call_kind {
  SONDE_CALL_PLAIN = 0,
  SONDE_CALL_CORRELATED = 1, /* gets a correlation id, which links ops to it */
  SONDE_CALL_LAUNCHES = 2    /* that, and it asks a device for work: its stack may be wanted */
};

/* A call in flight. Opaque to the backend; lives on its stack between call_begin and call_end. */
struct sonde_call {
  uint64_t correlation; /* unique in the process when asked for, else 0 */
  uint64_t private_data;
};

struct sonde_agent {
  uint32_t abi;  /* SONDE_AGENT_ABI */
  uint32_t size; /* sizeof(struct sonde_agent) of the agent; later versions append members */

  /* 1 while events are wanted. Cheap; the recording functions check it themselves. */
  int (*recording)(void);
  uint64_t (*ticks)(void);

  uint32_t (*intern)(const char* text, size_t length);

  /* Describes a function of an API. `arguments` names its arguments and how to print each: "queue:p
   * flags:x size:u offset:d name:s", with p pointer, x hexadecimal, u unsigned, d signed, f double
   * (its bits), s text.
   * In braces they become a JSON object, with members separated by '|', since their names may
   * contain blanks: "{Input Dims:L|Sequence number:d}". There L is a list of numbers and nested
   * lists, and N the same of intern()ed texts, packed as bytes and passed as a text of varints: an
   * even varint is twice a number; an odd one is twice the length of a list, plus one, and the
   * elements follow. Values that are empty, or missing at the end, are left out.
   * or missing at the end, is left out. */
  uint32_t (*define_function)(const char* domain, const char* category, const char* name,
                              const char* arguments);
  uint32_t (*define_clock)(const char* name);
  uint32_t (*define_device)(const struct sonde_device* device);
  uint32_t (*define_queue)(const struct sonde_queue* queue);
  /* `value` of the clock was read between the ticks `before` and `after`. */
  void (*clock_snapshot)(uint32_t clock, uint64_t value, uint64_t before, uint64_t after);

  /* A call of the program into an API; `kind` is an enum sonde_call_kind. Begin and end must
   * nest within a thread. */
  struct sonde_call (*call_begin)(uint32_t function, int kind);
  /* `words` is what sonde_args packed, `result` the API's own code (0 = success). */
  void (*call_end)(const struct sonde_call* call, int64_t result, const uint64_t* words,
                   size_t count);
  void (*op)(const struct sonde_op* op);
  /* Called before the call_end() of the call that makes the request. */
  void (*copy_request)(const struct sonde_copy_request* request);

  /* Markers. domain and category are intern()ed names or 0. */
  void (*range_push)(uint32_t domain, uint32_t category, const char* text);
  /* Returns the number of ranges still open in this thread and domain, or -1 if none was open. */
  int (*range_pop)(uint32_t domain);
  uint64_t (*range_start)(uint32_t domain, uint32_t category, const char* text);
  void (*range_stop)(uint64_t id);
  void (*mark)(uint32_t domain, uint32_t category, const char* text);
  void (*counter)(uint32_t name, double value);
  void (*metadata)(const char* key, const char* value);
  void (*name_thread)(uint32_t tid, const char* name); /* tid 0 = the calling thread */

  void (*diagnostic)(int severity, const char* source, const char* text);
  /* An event of `source` that the backend could not record; shown to the user as a drop. */
  void (*dropped)(const char* source, uint64_t count);

  void (*start)(void); /* recording of this process on, after stop() */
  void (*stop)(void);  /* nests: as many starts as stops */
  void (*flush)(void); /* everything recorded so far is safe when this returns */

  /* A finished range of this thread, with its ticks. One that would end before it begins gets
   * length 0. */
  void (*range_at)(uint32_t domain, uint32_t category, const char* text, uint64_t begin,
                   uint64_t end);
  /* A finished call without a correlation, with its ticks. Costs less than call_begin() and
   * call_end(), but the call is not visible while it runs. */
  void (*call_at)(uint32_t function, uint64_t begin, uint64_t end, int64_t result,
                  const uint64_t* words, size_t count);

  /* How often each thread should be sampled per second of its CPU time; 0 = not at all. */
  uint32_t (*sample_hz)(void);
  /* The next five may be called from a signal handler. They fail instead of waiting when the
   * signal interrupted the agent, or when another thread is defining something. */
  /* The first three return 0 if the caller should try again later, else 1: recorded, or counted
   * as lost. */
  int (*sample)(const struct sonde_sample* sample);
  /* Thread `tid` was blocked for `wall_ns` in total, with the stack that it had at its ticks. */
  int (*blocked)(const struct sonde_stack* stack, uint32_t tid, uint64_t wall_ns);
  /* The stack of the call with that correlation, which this thread is about to begin. */
  int (*launch_stack)(const struct sonde_stack* stack, uint64_t correlation);
  /* Both return 0 if the caller should try again later, or if it cannot be done. */
  uint32_t (*define_module)(const struct sonde_module* module);
  uint32_t (*define_code)(const struct sonde_code* code);

  /* Whether to sample blocked threads, too. */
  int (*sample_blocked)(void);
  /* Registers `take`, to be called at the start of each call that launches work, in the
   * launching thread and before the call's begin is read. Returns 0, and registers nothing, if
   * nobody wants these stacks. `take` may call the functions of this table. */
  int (*take_launch_stacks)(void (*take)(uint64_t correlation));
  /* Registers `prepare`, to be called before the program enters a sandbox in which a system
   * call, or reading the time, would kill it: by the thread that enters it. Nothing is recorded
   * from then on, and the backend must do nothing on its own any more. Only one backend may
   * register. */
  void (*on_silence)(void (*prepare)(void));
  /* A counter of the op that this thread recorded last. */
  void (*op_counter)(const struct sonde_op_counter* counter);
};

/* The agent of this process, or NULL. Cached by the caller. */
static inline const struct sonde_agent* sonde_find_agent(void) {
  const struct sonde_agent* (*get)(void) =
      (const struct sonde_agent* (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "sonde_agent_v2");
  const struct sonde_agent* agent = get != NULL ? get() : NULL;
  return agent != NULL && agent->abi == SONDE_AGENT_ABI ? agent : NULL;
}

/* Arguments of a call, packed on the stack for call_end. */
#define SONDE_ARGS_MAX_WORDS 96
struct sonde_args {
  size_t count;
  uint64_t words[SONDE_ARGS_MAX_WORDS];
};

static inline void sonde_arg_u64(struct sonde_args* args, uint64_t value) {
  if (args->count < SONDE_ARGS_MAX_WORDS) args->words[args->count++] = value;
}

static inline void sonde_arg_text(struct sonde_args* args, const char* text) {
  size_t length = 0;
  size_t room;
  size_t i;
  if (text != NULL) {
    while (length < 512 && text[length] != '\0') ++length;
  }
  if (args->count >= SONDE_ARGS_MAX_WORDS) return;
  room = (SONDE_ARGS_MAX_WORDS - args->count - 1) * 8;
  if (length > room) length = room;
  args->words[args->count++] = length;
  for (i = 0; i < length; i += 8) {
    uint64_t word = 0;
    size_t n = length - i < 8 ? length - i : 8;
    __builtin_memcpy(&word, text + i, n);
    args->words[args->count++] = word;
  }
}

#ifdef __cplusplus
}
#endif

#endif /* SONDE_BACKEND_H */
