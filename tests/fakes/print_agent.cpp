// A stand-in for libsonde-agent.so: exports `sonde_agent_v2` and `sonde_functions_v1`, and appends
// one JSON line per callback to the file named by PRINT_AGENT_OUT. LD_PRELOAD it to test a backend
// without the real agent.
//   PRINT_AGENT_STOPPED=1   start as if recording were off until start() is called
// The first line of a process is {"event":"agent",...}. A call is one line, printed at its end.
// Ticks are quarter nanoseconds of CLOCK_MONOTONIC, so that a backend which takes ticks for
// nanoseconds is found out. Ids of functions, names, queues ... are printed beside their text.
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/functions_of.h"
#include "sonde/backend.h"
#include "sonde/sonde.h"

namespace {

constexpr uint64_t kTicksPerNs = 4;
constexpr size_t kMaxNames = 1 << 16;
constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxDomains = 64;

struct Name {
  char* text;
  char* arguments;  // of a function
};

struct OpenCall {
  uint32_t function;
  uint64_t begin;
};

struct OpenRanges {
  uint32_t domain;
  int depth;
};

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
Name g_names[kMaxNames];      // interned text, and functions, in one id space
uint32_t g_name_count = 1;    // 0 is "nothing"
uint32_t g_clock_count = 16;  // above the well-known ones
uint32_t g_device_count = 0;
uint32_t g_queue_count = 0;
uint64_t g_correlation = 0;
uint64_t g_range = 0;
int g_stopped = 0;
int g_file = -1;

thread_local OpenCall t_calls[kMaxDepth];
thread_local size_t t_depth = 0;
thread_local OpenRanges t_ranges[kMaxDomains];

// One line of output, written with a single write(2) so that lines of threads never mix.
struct Line {
  char text[16384];
  size_t length = 0;

  explicit Line(const char* event) {
    add("{\"event\":\"%s\",\"pid\":%d,\"tid\":%ld", event, static_cast<int>(getpid()),
        syscall(SYS_gettid));
  }

  __attribute__((format(printf, 2, 3))) void add(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(text + length, sizeof text - length, format, arguments);
    va_end(arguments);
    if (n > 0) length += static_cast<size_t>(n);
    if (length > sizeof text - 1) length = sizeof text - 1;
  }

  void string(const char* value, size_t size) {
    add("\"");
    for (size_t i = 0; i < size; ++i) {
      const unsigned char c = static_cast<unsigned char>(value[i]);
      if (c == '"' || c == '\\') {
        add("\\%c", c);
      } else if (c < 0x20 || c >= 0x7f) {
        add("\\u%04x", c);
      } else {
        add("%c", c);
      }
    }
    add("\"");
  }

  void field(const char* name, const char* value) {
    add(",\"%s\":", name);
    if (value == nullptr) {
      add("null");
    } else {
      string(value, strlen(value));
    }
  }
  void field(const char* name, uint64_t value) {
    add(",\"%s\":%llu", name, static_cast<unsigned long long>(value));
  }
  void field(const char* name, int64_t value) {
    add(",\"%s\":%lld", name, static_cast<long long>(value));
  }
  void field(const char* name, uint32_t value) { field(name, static_cast<uint64_t>(value)); }
  void field(const char* name, int value) { field(name, static_cast<int64_t>(value)); }

  template <typename Value, typename... Rest>
  void fields(const char* name, Value value, Rest... rest) {
    field(name, value);
    if constexpr (sizeof...(rest) > 0) fields(rest...);
  }

  void print() {
    add("}\n");
    if (g_file >= 0 && write(g_file, text, length) < 0) _exit(99);
  }
};

uint64_t ticks() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec)) *
         kTicksPerNs;
}

int recording() { return __atomic_load_n(&g_stopped, __ATOMIC_RELAXED) == 0; }

const char* name_of(uint32_t id) { return id < kMaxNames ? g_names[id].text : "?"; }

uint32_t add_name(const char* text, size_t length, const char* arguments) {
  pthread_mutex_lock(&g_lock);
  uint32_t id = 1;
  while (id < g_name_count &&
         (strlen(g_names[id].text) != length || memcmp(g_names[id].text, text, length) != 0 ||
          (g_names[id].arguments == nullptr) != (arguments == nullptr))) {
    ++id;
  }
  if (id == g_name_count && id < kMaxNames) {
    g_names[id] = {strndup(text, length), arguments == nullptr ? nullptr : strdup(arguments)};
    ++g_name_count;
  }
  pthread_mutex_unlock(&g_lock);
  return id;
}

uint32_t intern(const char* text, size_t length) { return add_name(text, length, nullptr); }

uint32_t define_function(const char* domain, const char* category, const char* name,
                         const char* arguments) {
  const uint32_t id = add_name(name, strlen(name), arguments == nullptr ? "" : arguments);
  Line line("function");
  line.fields("id", id, "domain", domain, "category", category, "name", name, "arguments",
              arguments);
  line.print();
  return id;
}

uint32_t define_clock(const char* name) {
  const uint32_t id = __atomic_add_fetch(&g_clock_count, 1, __ATOMIC_RELAXED);
  Line line("clock");
  line.fields("id", id, "name", name);
  line.print();
  return id;
}

uint32_t define_device(const sonde_device* device) {
  const uint32_t id = __atomic_add_fetch(&g_device_count, 1, __ATOMIC_RELAXED);
  Line line("device");
  line.fields("id", id, "gpu_id", device->gpu_id, "clock", device->clock, "backend",
              device->backend, "name", device->name, "vendor", device->vendor, "driver",
              device->driver, "kind", device->kind, "location", device->location, "memory_bytes",
              device->memory_bytes, "compute_units", device->compute_units, "clock_mhz",
              device->clock_mhz);
  line.print();
  return id;
}

uint32_t define_queue(const sonde_queue* queue) {
  const uint32_t id = __atomic_add_fetch(&g_queue_count, 1, __ATOMIC_RELAXED);
  Line line("queue");
  line.fields("id", id, "device", queue->device, "flags", queue->flags, "handle", queue->handle,
              "context", queue->context);
  line.print();
  return id;
}

void clock_snapshot(uint32_t clock, uint64_t value, uint64_t before, uint64_t after) {
  Line line("snapshot");
  line.fields("clock", clock, "value", value, "before", before, "after", after);
  line.print();
}

sonde_call call_begin(uint32_t function, int wants_correlation) {
  sonde_call call = {0, t_depth};
  if (wants_correlation) call.correlation = __atomic_add_fetch(&g_correlation, 1, __ATOMIC_RELAXED);
  if (t_depth < kMaxDepth) t_calls[t_depth] = {function, ticks()};
  ++t_depth;
  return call;
}

// Prints the packed words as `arguments` ("queue:p size:u") describes them. A count of words that
// does not fit the description is said, so that a test can look for it.
void print_arguments(Line& line, const char* arguments, const uint64_t* words, size_t count) {
  size_t used = 0;
  const char* separator = "";
  line.add(",\"args\":{");
  for (const char* at = arguments; *at != '\0';) {
    const size_t name = strcspn(at, ":");
    const char format = at[name] == ':' ? at[name + 1] : '\0';
    if (used >= count || format == '\0') break;
    line.add("%s\"%.*s\":", separator, static_cast<int>(name), at);
    separator = ",";
    const uint64_t word = words[used++];
    if (format == 's') {
      line.string(reinterpret_cast<const char*>(words + used), word);
      used += (word + 7) / 8;
    } else if (format == 'd') {
      line.add("%lld", static_cast<long long>(word));
    } else if (format == 'u') {
      line.add("%llu", static_cast<unsigned long long>(word));
    } else if (format == 'f') {
      double value;
      memcpy(&value, &word, sizeof value);
      line.add("%.17g", value);
    } else {
      line.add("\"0x%llx\"", static_cast<unsigned long long>(word));
    }
    at += name + 2;
    at += strspn(at, " ");
  }
  line.add("}");
  if (used != count) line.field("words_left", static_cast<uint64_t>(count - used));
}

void call_end(const sonde_call* call, int64_t result, const uint64_t* words, size_t count) {
  const uint64_t end = ticks();
  const size_t depth = call->private_data;
  const bool nested = depth + 1 == t_depth && depth < kMaxDepth;
  const OpenCall open = depth < kMaxDepth ? t_calls[depth] : OpenCall{0, 0};
  t_depth = depth;
  if (!recording()) return;
  Line line("call");
  line.fields("name", name_of(open.function), "correlation", call->correlation, "begin", open.begin,
              "end", end, "depth", static_cast<uint64_t>(depth), "result", result);
  if (!nested) line.add(",\"broken_nesting\":true");
  const char* arguments = g_names[open.function].arguments;
  print_arguments(line, arguments == nullptr ? "" : arguments, words, count);
  line.print();
}

void call_at(uint32_t function, uint64_t begin, uint64_t end, int64_t result, const uint64_t* words,
             size_t count) {
  if (!recording()) return;
  Line line("call");
  line.fields("name", name_of(function), "begin", begin, "end", end, "result", result);
  const char* arguments = g_names[function].arguments;
  print_arguments(line, arguments == nullptr ? "" : arguments, words, count);
  line.print();
}

void op(const sonde_op* o) {
  if (!recording()) return;
  Line line("op");
  line.fields("kind", o->kind, "name", o->name == 0 ? nullptr : name_of(o->name), "queue", o->queue,
              "clock", o->clock, "correlation", o->correlation, "queued", o->queued, "submitted",
              o->submitted, "start", o->start, "end", o->end, "bytes", o->bytes);
  line.add(",\"grid\":[%llu,%llu,%llu],\"group\":[%u,%u,%u]",
           static_cast<unsigned long long>(o->grid[0]), static_cast<unsigned long long>(o->grid[1]),
           static_cast<unsigned long long>(o->grid[2]), o->group[0], o->group[1], o->group[2]);
  line.fields("status", o->status, "src", o->src, "dst", o->dst);
  line.add(",\"size\":[%llu,%llu,%llu]", static_cast<unsigned long long>(o->size[0]),
           static_cast<unsigned long long>(o->size[1]),
           static_cast<unsigned long long>(o->size[2]));
  line.fields("group_segment_bytes", o->group_segment_bytes, "private_segment_bytes",
              o->private_segment_bytes, "flags", o->flags, "src_device", o->src_device,
              "dst_device", o->dst_device, "stream", o->stream, "at", ticks());
  line.print();
}

int* depth_of(uint32_t domain) {
  for (OpenRanges& ranges : t_ranges) {
    if (ranges.domain == domain + 1) return &ranges.depth;
    if (ranges.domain == 0) {
      ranges.domain = domain + 1;
      return &ranges.depth;
    }
  }
  return &t_ranges[kMaxDomains - 1].depth;
}

void print_marker(const char* event, uint32_t domain, uint32_t category, const char* text,
                  uint64_t id) {
  if (!recording()) return;
  Line line(event);
  line.fields("domain", domain == 0 ? nullptr : name_of(domain), "category",
              category == 0 ? nullptr : name_of(category), "text", text, "id", id, "at", ticks());
  line.print();
}

void range_push(uint32_t domain, uint32_t category, const char* text) {
  const int depth = (*depth_of(domain))++;
  print_marker("range_push", domain, category, text, static_cast<uint64_t>(depth));
}

int range_pop(uint32_t domain) {
  int* depth = depth_of(domain);
  if (*depth == 0) return -1;
  --*depth;
  print_marker("range_pop", domain, 0, nullptr, static_cast<uint64_t>(*depth));
  return *depth;
}

uint64_t range_start(uint32_t domain, uint32_t category, const char* text) {
  const uint64_t id = __atomic_add_fetch(&g_range, 1, __ATOMIC_RELAXED);
  print_marker("range_start", domain, category, text, id);
  return id;
}

void range_stop(uint64_t id) { print_marker("range_stop", 0, 0, nullptr, id); }

void range_at(uint32_t domain, uint32_t category, const char* text, uint64_t begin, uint64_t end) {
  if (!recording()) return;
  Line line("range_at");
  line.fields("domain", domain == 0 ? nullptr : name_of(domain), "category",
              category == 0 ? nullptr : name_of(category), "text", text, "begin", begin, "end", end,
              "at", ticks());
  line.print();
}

void mark(uint32_t domain, uint32_t category, const char* text) {
  print_marker("mark", domain, category, text, 0);
}

void counter(uint32_t name, double value) {
  if (!recording()) return;
  Line line("counter");
  line.field("name", name_of(name));
  line.add(",\"value\":%.17g", value);
  line.print();
}

void metadata(const char* key, const char* value) {
  Line line("metadata");
  line.fields("key", key, "value", value);
  line.print();
}

void name_thread(uint32_t tid, const char* name) {
  Line line("name_thread");
  line.fields("named_tid", tid, "name", name);
  line.print();
}

void diagnostic(int severity, const char* source, const char* text) {
  Line line("diagnostic");
  line.fields("severity", severity, "source", source, "text", text);
  line.print();
}

void dropped(const char* source, uint64_t count) {
  Line line("dropped");
  line.fields("source", source, "count", count);
  line.print();
}

void start() {
  if (__atomic_load_n(&g_stopped, __ATOMIC_RELAXED) > 0) {
    __atomic_sub_fetch(&g_stopped, 1, __ATOMIC_RELAXED);
  }
  Line("start").print();
}

void stop() {
  __atomic_add_fetch(&g_stopped, 1, __ATOMIC_RELAXED);
  Line("stop").print();
}

void flush() { Line("flush").print(); }

constexpr struct sonde_agent kAgent = {
    SONDE_AGENT_ABI,
    sizeof(struct sonde_agent),
    recording,
    ticks,
    intern,
    define_function,
    define_clock,
    define_device,
    define_queue,
    clock_snapshot,
    call_begin,
    call_end,
    op,
    nullptr,  // HIP's
    range_push,
    range_pop,
    range_start,
    range_stop,
    mark,
    counter,
    metadata,
    name_thread,
    diagnostic,
    dropped,
    start,
    stop,
    flush,
    range_at,
    call_at,
    // No backend that samples is tested with it.
};

constexpr struct sonde_functions kFunctions = sonde::agent::functions_of(kAgent);

void open_output() {
  const char* path = getenv("PRINT_AGENT_OUT");
  if (path != nullptr) g_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const char* stopped = getenv("PRINT_AGENT_STOPPED");
  g_stopped = stopped != nullptr && stopped[0] == '1';
  pthread_atfork([] { pthread_mutex_lock(&g_lock); }, [] { pthread_mutex_unlock(&g_lock); },
                 [] { pthread_mutex_unlock(&g_lock); });
  Line line("agent");
  line.field("ticks_per_ns", kTicksPerNs);
  line.print();
}

}  // namespace

static void open_once() {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_output);
}

extern "C" __attribute__((visibility("default"))) const struct sonde_agent* sonde_agent_v2(void) {
  open_once();
  return &kAgent;
}

extern "C" __attribute__((visibility("default"))) const struct sonde_functions* sonde_functions_v1(
    void) {
  open_once();
  return &kFunctions;
}
