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
#include <unistd.h>

#include <bit>
#include <concepts>
#include <string>
#include <string_view>

#include "../programs/cpu_clock.h"
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
  void field(const char* name, double value) { add(",\"%s\":%.17g", name, value); }
  void field(const char* name, std::integral auto value) {
    add(",\"%s\":%s", name, std::to_string(value).c_str());
  }
  template <std::unsigned_integral Value>
  void field(const char* name, const Value (&values)[3]) {
    add(",\"%s\":[%s,%s,%s]", name, std::to_string(values[0]).c_str(),
        std::to_string(values[1]).c_str(), std::to_string(values[2]).c_str());
  }

  void fields() {}
  template <typename Value, typename... Rest>
  void fields(const char* name, const Value& value, const Rest&... rest) {
    field(name, value);
    fields(rest...);
  }

  void print() {
    add("}\n");
    if (g_file >= 0 && write(g_file, text, length) < 0) _exit(99);
  }
};

template <typename... Fields>
void print(const char* event, const Fields&... fields) {
  Line line(event);
  line.fields(fields...);
  line.print();
}

uint64_t ticks() { return static_cast<uint64_t>(clock_ns(CLOCK_MONOTONIC)) * kTicksPerNs; }

int recording() { return __atomic_load_n(&g_stopped, __ATOMIC_RELAXED) == 0; }

// No text where there is no name.
const char* name_of(uint32_t id) { return id < kMaxNames ? g_names[id].text : "?"; }

uint32_t add_name(const char* text, size_t length, const char* arguments) {
  pthread_mutex_lock(&g_lock);
  uint32_t id = 1;
  while (id < g_name_count &&
         (std::string_view(g_names[id].text) != std::string_view(text, length) ||
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
  print("function", "id", id, "domain", domain, "category", category, "name", name, "arguments",
        arguments);
  return id;
}

uint32_t define_clock(const char* name) {
  const uint32_t id = __atomic_add_fetch(&g_clock_count, 1, __ATOMIC_RELAXED);
  print("clock", "id", id, "name", name);
  return id;
}

uint32_t define_device(const sonde_device* device) {
  const uint32_t id = __atomic_add_fetch(&g_device_count, 1, __ATOMIC_RELAXED);
  print("device", "id", id, "gpu_id", device->gpu_id, "clock", device->clock, "backend",
        device->backend, "name", device->name, "vendor", device->vendor, "driver", device->driver,
        "kind", device->kind, "location", device->location, "memory_bytes", device->memory_bytes,
        "compute_units", device->compute_units, "clock_mhz", device->clock_mhz);
  return id;
}

uint32_t define_queue(const sonde_queue* queue) {
  const uint32_t id = __atomic_add_fetch(&g_queue_count, 1, __ATOMIC_RELAXED);
  print("queue", "id", id, "device", queue->device, "flags", queue->flags, "handle", queue->handle,
        "context", queue->context);
  return id;
}

void clock_snapshot(uint32_t clock, uint64_t value, uint64_t before, uint64_t after) {
  print("snapshot", "clock", clock, "value", value, "before", before, "after", after);
}

sonde_call call_begin(uint32_t function, int wants_correlation) {
  sonde_call call = {0, t_depth};
  if (wants_correlation) call.correlation = __atomic_add_fetch(&g_correlation, 1, __ATOMIC_RELAXED);
  if (t_depth < kMaxDepth) t_calls[t_depth] = {function, ticks()};
  ++t_depth;
  return call;
}

// Prints a call, whose words are packed as the arguments of its function ("queue:p size:u")
// describe them. A count of words that does not fit the description is said, so that a test can
// look for it.
template <typename... Fields>
void print_call(uint32_t function, const uint64_t* words, size_t count, const Fields&... fields) {
  if (!recording()) return;
  Line line("call");
  line.fields("name", name_of(function), fields...);
  size_t used = 0;
  const char* separator = "";
  line.add(",\"args\":{");
  const char* at = g_names[function].arguments;
  while (at != nullptr && *at != '\0') {
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
      line.add("%.17g", std::bit_cast<double>(word));
    } else {
      line.add("\"0x%llx\"", static_cast<unsigned long long>(word));
    }
    at += name + 2;
    at += strspn(at, " ");
  }
  line.add("}");
  if (used != count) line.field("words_left", static_cast<uint64_t>(count - used));
  line.print();
}

void call_end(const sonde_call* call, int64_t result, const uint64_t* words, size_t count) {
  const uint64_t end = ticks();
  const size_t depth = call->private_data;
  const bool nested = depth + 1 == t_depth && depth < kMaxDepth;
  const OpenCall open = depth < kMaxDepth ? t_calls[depth] : OpenCall{0, 0};
  t_depth = depth;
  print_call(open.function, words, count, "correlation", call->correlation, "begin", open.begin,
             "end", end, "depth", depth, "result", result, "broken_nesting", !nested);
}

void call_at(uint32_t function, uint64_t begin, uint64_t end, int64_t result, const uint64_t* words,
             size_t count) {
  print_call(function, words, count, "begin", begin, "end", end, "result", result);
}

void op(const sonde_op* o) {
  if (!recording()) return;
  print("op", "kind", o->kind, "name", name_of(o->name), "queue", o->queue, "clock", o->clock,
        "correlation", o->correlation, "queued", o->queued, "submitted", o->submitted, "start",
        o->start, "end", o->end, "bytes", o->bytes, "grid", o->grid, "group", o->group, "status",
        o->status, "src", o->src, "dst", o->dst, "size", o->size, "group_segment_bytes",
        o->group_segment_bytes, "private_segment_bytes", o->private_segment_bytes, "flags",
        o->flags, "src_device", o->src_device, "dst_device", o->dst_device, "stream", o->stream,
        "at", ticks());
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

template <typename... Fields>
void print_marker(const char* event, uint32_t domain, uint32_t category, const char* text,
                  const Fields&... fields) {
  if (!recording()) return;
  print(event, "domain", name_of(domain), "category", name_of(category), "text", text, fields...,
        "at", ticks());
}

void range_push(uint32_t domain, uint32_t category, const char* text) {
  const int depth = (*depth_of(domain))++;
  print_marker("range_push", domain, category, text, "id", depth);
}

int range_pop(uint32_t domain) {
  int* depth = depth_of(domain);
  if (*depth == 0) return -1;
  --*depth;
  print_marker("range_pop", domain, 0, nullptr, "id", *depth);
  return *depth;
}

uint64_t range_start(uint32_t domain, uint32_t category, const char* text) {
  const uint64_t id = __atomic_add_fetch(&g_range, 1, __ATOMIC_RELAXED);
  print_marker("range_start", domain, category, text, "id", id);
  return id;
}

void range_stop(uint64_t id) { print_marker("range_stop", 0, 0, nullptr, "id", id); }

void range_at(uint32_t domain, uint32_t category, const char* text, uint64_t begin, uint64_t end) {
  print_marker("range_at", domain, category, text, "begin", begin, "end", end);
}

void mark(uint32_t domain, uint32_t category, const char* text) {
  print_marker("mark", domain, category, text);
}

void counter(uint32_t name, double value) {
  if (recording()) print("counter", "name", name_of(name), "value", value);
}

void metadata(const char* key, const char* value) { print("metadata", "key", key, "value", value); }

void name_thread(uint32_t tid, const char* name) {
  print("name_thread", "named_tid", tid, "name", name);
}

void diagnostic(int severity, const char* source, const char* text) {
  print("diagnostic", "severity", severity, "source", source, "text", text);
}

void dropped(const char* source, uint64_t count) {
  print("dropped", "source", source, "count", count);
}

void start() {
  if (__atomic_load_n(&g_stopped, __ATOMIC_RELAXED) > 0) {
    __atomic_sub_fetch(&g_stopped, 1, __ATOMIC_RELAXED);
  }
  print("start");
}

void stop() {
  __atomic_add_fetch(&g_stopped, 1, __ATOMIC_RELAXED);
  print("stop");
}

void flush() { print("flush"); }

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
  print("agent", "ticks_per_ns", kTicksPerNs);
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
