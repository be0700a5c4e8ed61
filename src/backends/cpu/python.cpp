#include "backends/cpu/python.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/platform.h"
#include "backends/cpu/interpreter.h"
#include "backends/cpu/modules.h"
#include "backends/cpu/python_layout.h"
#include "backends/cpu/python_offsets.h"
#include "backends/cpu/python_pages.h"
#include "backends/cpu/reading.h"

// Defined in a program that is, or is linked with, Python. Resolved by the loader.
extern "C" [[gnu::weak]] const char* Py_GetVersion();

namespace sonde::cpu {

namespace {

using ThisThreadState = void* (*)();

const PythonLayout* g_layout = nullptr;
bool g_refused = false;                   // the interpreter's frames cannot be read
constinit PythonLayout g_described = {};  // filled from the interpreter's own description
// The expected types: an object of another type is not what it seems to be.
uint64_t g_code_type = 0, g_text_type = 0;
ThisThreadState g_this_thread_state = nullptr;
unsigned long long g_loads = 0;  // libraries loaded when Python was last looked for
StackBounds g_loop;              // the interpreter's

// Every Python structure satisfies this; a torn read may not.
bool plausible(uint64_t address) {
  return address % 8 == 0 && address > 0xffff && address < uint64_t{1} << 47;
}

// Follows the reference count, in every build with a GIL.
constexpr uint64_t kTypeOffset = 8;

bool is_type(uint64_t found, uint64_t type) { return type == 0 || found == type; }

// A code object that was defined. The two words match each other and the object only if they come
// from the same write, so a lookup needs no lock.
struct KnownCode {
  uint64_t seal;  // over the object and its number
  uint64_t definition;
};
constexpr uint32_t kKnownCodes = 1 << 13;
constexpr uint64_t kSpread = 0x9FB21C651E98DF25;
KnownCode g_known[2][kKnownCodes];  // one table per definer (modules.h)
int g_adding = 0;

// Distinguishes different objects at the same address. `object`: where it can be read.
uint64_t check_of(const PythonLayout& layout, const char* object) {
  return field<uint64_t>(object, layout.code_file) * 31 +
         field<uint64_t>(object, layout.code_name) * 17 +
         field<uint64_t>(object, layout.code_lines) * 13 +
         static_cast<uint64_t>(field<int32_t>(object, layout.code_line));
}

uint64_t seal_of(uint64_t code, uint64_t check, uint64_t definition) {
  return ((code * kSpread ^ check) + definition) * kSpread;
}

// 0: not defined, or evicted by another one.
uint32_t known_definition(const KnownCode& place, uint64_t code, uint64_t check) {
  const uint64_t definition = agent::load(place.definition);
  const bool is_it = agent::load(place.seal) == seal_of(code, check, definition);
  return is_it ? static_cast<uint32_t>(definition) : 0;
}

// Another thread's handler holds the lock for microseconds, unless it is preempted.
bool lock_known() {
  for (int i = 0; i < 200; ++i) {
    if (__atomic_exchange_n(&g_adding, 1, __ATOMIC_ACQUIRE) == 0) return true;
    agent::relax();
  }
  return false;
}

KnownCode& place_of(const struct sonde_agent* agent, uint64_t code) {
  return g_known[is_second_definer(agent) ? 1 : 0][(code * kSpread) >> (64 - 13)];
}

char* put_utf8(char* place, uint32_t c) {
  if (c < 0x80) {
    *place++ = static_cast<char>(c);
    return place;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  *place++ = static_cast<char>((0xff00 >> (more + 1) & 0xff) | c >> (6 * more));
  for (int i = more; i-- > 0;) *place++ = static_cast<char>(0x80 | (c >> (6 * i) & 0x3f));
  return place;
}

constexpr uint32_t kMostText = 1000;  // characters of a name

// The state of a string begins with its interned flag: 2 bits, or 16 in early versions of 3.14. The
// bits after it form a valid kind only for the right one of the two.
bool is_compact(uint32_t state) {
  const uint32_t kind = state & 7;
  return (state >> 3 & 1) != 0 && (kind == 1 || kind == 2 || kind == 4);
}

// Converts a string object to UTF-8, into `text` of 4 * kMostText bytes.
uint32_t read_text(Reading& memory, uint64_t object, char* text) {
  if (!plausible(object) || !is_type(memory.at<uint64_t>(object, kTypeOffset), g_text_type))
    return 0;
  auto state = memory.at<uint32_t>(object, g_layout->text_state) >> 2;
  if (!is_compact(state)) state >>= 14;
  if (!is_compact(state)) return 0;
  const uint32_t kind = state & 7;
  const bool ascii = (state >> 4 & 1) != 0;
  auto length = memory.at<uint64_t>(object, g_layout->text_length);
  if (length > kMostText) length = kMostText;
  const uint64_t data = object + (ascii ? g_layout->ascii_text : g_layout->wide_text);
  char* end = text;
  for (uint64_t i = 0; i < length; ++i) {
    const uint32_t c = kind == 1   ? memory.at<uint8_t>(data, i)
                       : kind == 2 ? memory.at<uint16_t>(data, i * 2)
                                   : memory.at<uint32_t>(data, i * 4);
    end = put_utf8(end, c);
  }
  return static_cast<uint32_t>(end - text);
}

constexpr uint64_t kMostLineBytes = 14 * 1024;  // a longer line table is left out

uint32_t define(const struct sonde_agent* agent, Reading& memory, uint64_t code) {
  const PythonLayout& layout = *g_layout;
  char file[4 * kMostText], name[4 * kMostText];
  struct sonde_code description = {};
  description.version = layout.version;
  description.first_line = static_cast<uint32_t>(memory.at<int32_t>(code, layout.code_line));
  description.file = file;
  description.file_bytes = read_text(memory, memory.at<uint64_t>(code, layout.code_file), file);
  description.name = name;
  description.name_bytes = read_text(memory, memory.at<uint64_t>(code, layout.code_name), name);
  const auto lines = memory.at<uint64_t>(code, layout.code_lines);
  const uint64_t line_bytes =
      plausible(lines) ? memory.at<uint64_t>(lines, layout.bytes_length) : 0;
  char copied_lines[kMostLineBytes];
  if (line_bytes != 0 && line_bytes <= kMostLineBytes) {
    description.lines = reinterpret_cast<const void*>(lines + layout.bytes_data);
    description.line_bytes = static_cast<uint32_t>(line_bytes);
    if (memory.is_of_another()) {
      if (!copy_carefully(copied_lines, lines + layout.bytes_data, line_bytes)) return 0;
      description.lines = copied_lines;
    } else if (!memory.can_read(lines + layout.bytes_data, line_bytes)) {
      return 0;
    }
  }
  return agent->define_code(&description);
}

// The id of a code object, defining it if needed.
uint32_t definition_of(const struct sonde_agent* agent, Reading& memory, uint64_t code,
                       const char* object) {
  KnownCode& place = place_of(agent, code);
  const uint64_t check = check_of(*g_layout, object);
  uint32_t definition = known_definition(place, code, check);
  if (definition != 0 || !lock_known()) return definition;
  definition = known_definition(place, code, check);  // defined by another thread meanwhile
  if (definition == 0) definition = define(agent, memory, code);
  if (definition != 0) {
    agent::store(place.definition, definition);
    agent::store(place.seal, seal_of(code, check, definition));
  }
  __atomic_store_n(&g_adding, 0, __ATOMIC_RELEASE);
  return definition;
}

class PythonWalk {
 public:
  PythonWalk(const struct sonde_agent* agent, Reading& memory, PythonStack& stack,
             bool remembers = true)
      : agent_(agent), memory_(memory), stack_(stack), remembers_(remembers) {}

  void run(uint64_t thread) {
    uint64_t frame = memory_.at<uint64_t>(thread, layout_.thread_frame);
    uint64_t cframe = 0;
    if (layout_.cframe_frame != kDirect) {
      cframe = frame;
      // The innermost one may be invalid; then the next one is tried.
      thread_ = thread;
      if (!add_innermost_run(frame, cframe) && !add_innermost_run(frame, cframe)) return;
    }
    while (add_run(frame, cframe)) {
    }
  }

 private:
  // The interpreter publishes its "cframe" before it fills it in, so the innermost one may contain
  // anything. A valid run of frames leads to the frame that called it. False: this one is invalid,
  // and `cframe` is now its predecessor.
  bool add_innermost_run(uint64_t& frame, uint64_t& cframe) {
    if (!plausible(cframe)) return false;
    frame = memory_.at<uint64_t>(cframe, layout_.cframe_frame);
    const auto before = memory_.at<uint64_t>(cframe, layout_.cframe_before);
    if (!is_before(before, cframe) ||
        !leads_to(memory_.at<uint64_t>(before, layout_.cframe_frame), frame)) {
      cframe = before;
      return false;
    }
    add_run(frame, cframe);
    return true;
  }

  // cframes lie on the stack, except the first, which is part of the thread state.
  bool is_before(uint64_t before, uint64_t cframe) const {
    constexpr uint64_t kLargestState = 4096, kLargestStack = uint64_t{1} << 30;
    const bool is_first = before >= thread_ && before < thread_ + kLargestState;
    return before % 8 == 0 && (is_first || (before > cframe && before - cframe < kLargestStack));
  }

  bool leads_to(uint64_t caller, uint64_t frame) {
    constexpr uint32_t kMostFrames = 1 << 13;
    for (uint32_t i = 0; i < kMostFrames && plausible(frame); ++i) {
      const char* const read = look_at_frame(frame);
      if (read == nullptr) return false;
      frame = field<uint64_t>(read, layout_.frame_before);
      if (marks_entry(read)) return frame == caller;
    }
    return false;
  }

  // Adds frames up to and including the next one that C called; false if there are no more.
  bool add_run(uint64_t& frame, uint64_t& cframe) {
    while (plausible(frame) && stack_.frame_count < wire::kMaxFrames) {
      const char* const read = look_at_frame(frame);
      if (read == nullptr) return false;
      const bool is_entry = layout_.chain != FrameChain::kObjects && marks_entry(read);
      if (layout_.chain != FrameChain::kEntryFrames || !is_entry) add(read);
      if (layout_.chain == FrameChain::kObjects) {
        end_run(0);
      } else if (layout_.chain == FrameChain::kEntryFrames && is_entry) {
        end_run(frame);
      } else if (is_entry) {
        end_run(cframe);
        if (plausible(cframe)) cframe = memory_.at<uint64_t>(cframe, layout_.cframe_before);
      }
      frame = field<uint64_t>(read, layout_.frame_before);
      if (is_entry) return true;
    }
    return false;
  }

  const char* look_at_frame(uint64_t frame) {
    return memory_.look_at(frame, frame_bytes_, frame_room_);
  }

  bool marks_entry(const char* frame) const {
    const auto mark = field<uint8_t>(frame, layout_.frame_mark);
    return layout_.chain == FrameChain::kEntryMarks ? mark != 0 : mark == kOwnedByCStack;
  }

  void add(const char* frame) {
    // From 3.14 on, the lowest bits are a reference-ownership tag.
    const uint64_t code = field<uint64_t>(frame, layout_.frame_code) & ~uint64_t{7};
    if (!plausible(code)) return;
    const char* const object = memory_.look_at(code, code_bytes_, code_room_);
    if (object == nullptr || !is_type(field<uint64_t>(object, kTypeOffset), g_code_type)) return;
    int64_t offset = 0;
    if (layout_.chain == FrameChain::kObjects) {
      offset = int64_t{field<int32_t>(frame, layout_.frame_at)} * layout_.at_scale;
    } else {
      offset = static_cast<int64_t>(field<uint64_t>(frame, layout_.frame_at) -
                                    (code + layout_.code_start));
    }
    const bool sound = offset >= 0 && offset < 1 << 24;
    const uint32_t number =
        remembers_ ? definition_of(agent_, memory_, code, object) : define(agent_, memory_, code);
    stack_.frames[stack_.frame_count++] = {number, sound ? static_cast<uint32_t>(offset) : 0};
  }

  void end_run(uint64_t place) {
    if (stack_.run_count < wire::kMaxFrames) {
      stack_.runs[stack_.run_count++] = {place, stack_.frame_count};
    }
  }

  const struct sonde_agent* agent_;
  Reading& memory_;
  PythonStack& stack_;
  const bool remembers_;
  const PythonLayout layout_ = *g_layout;
  const uint64_t frame_bytes_ = bytes_of_frame(layout_), code_bytes_ = bytes_of_code(layout_);
  // Copies, when reading another thread.
  char frame_room_[kMostPart], code_room_[kMostPart];
  uint64_t thread_ = 0;  // its thread state
};

// Whether an interpreter may have been loaded since the last call. dlsym() would wait for a thread
// that is loading something else, and its first failure allocates memory.
bool may_have_come() {
  struct Look {
    unsigned long long loads = 0;
    bool is_there = false;
  } look;
  const auto look_at = [](dl_phdr_info* info, size_t, void* context) {
    auto& seen = *static_cast<Look*>(context);
    seen.loads = info->dlpi_adds;
    if (seen.loads == agent::load(g_loads)) return 1;
    if (info->dlpi_name != nullptr && strstr(info->dlpi_name, "/libpython") != nullptr) {
      seen.is_there = true;
    }
    return 0;
  };
  dl_iterate_phdr(look_at, &look);
  const bool is_first = agent::load(g_loads) == 0;
  if (look.loads == __atomic_exchange_n(&g_loads, look.loads, __ATOMIC_RELAXED)) return false;
  return look.is_there || (is_first && Py_GetVersion != nullptr);
}

// "3.11.2 (main ...": 0x30b
uint32_t version_of(const char* text) {
  if (text[0] != '3' || text[1] != '.') return 0;
  uint32_t minor = 0;
  for (const char* c = text + 2; *c >= '0' && *c <= '9'; ++c) {
    minor = minor * 10 + static_cast<uint32_t>(*c - '0');
  }
  return 0x300 | minor;
}

// "3.13.5 experimental free-threading build (main ...": without the GIL, object headers have
// another layout.
bool has_gil(const char* text) { return strstr(text, "free-threading") == nullptr; }

void refuse(const struct sonde_agent* agent, const char* version, const char* why) {
  g_refused = true;
  agent::store_release(g_layout, static_cast<const PythonLayout*>(nullptr));
  if (agent == nullptr) return;
  char text[200];
  snprintf(text, sizeof text,
           "stacks have no Python functions, only those of the interpreter: Python %.*s %s",
           static_cast<int>(strcspn(version, " ")), version, why);
  agent->diagnostic(SONDE_WARNING, "cpu", text);
}

const PythonLayout* layout_of(uint32_t version) {
  for (const PythonLayout& layout : kPythonLayouts) {
    if (layout.version == version) return &layout;
  }
  const void* runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
  uint64_t words[kOffsetWords];
  const bool is_described =
      runtime != nullptr &&
      copy_carefully(words, reinterpret_cast<uint64_t>(runtime), sizeof words) &&
      layout_of_offsets(words, version, g_described);
  if (runtime == nullptr) dlerror();
  return is_described ? &g_described : nullptr;
}

// The names and lines found for the probe's function and its caller.
struct Probed {
  uint32_t count = 0;
  struct {
    char name[16];
    uint32_t line;
    bool is_of_start;
  } functions[2];
};
constinit thread_local Probed* t_probed = nullptr;

uint32_t look_at_code(const struct sonde_code* code) {
  constexpr char kFile[] = "/sitecustomize.py";
  constexpr uint32_t kFileBytes = sizeof kFile - 1;
  if (t_probed->count < 2) {
    auto& function = t_probed->functions[t_probed->count++];
    snprintf(function.name, sizeof function.name, "%.*s", static_cast<int>(code->name_bytes),
             code->name);
    function.line = code->first_line;
    function.is_of_start =
        code->file_bytes > kFileBytes &&
        memcmp(code->file + code->file_bytes - kFileBytes, kFile, kFileBytes) == 0;
  }
  return 1;
}

bool is_of_start(const Probed& found, uint32_t index, const char* name) {
  const auto& function = found.functions[index];
  // Up to 3.10 this is not the qualified name; for these functions it is the same.
  return function.is_of_start && strcmp(function.name, name) == 0;
}

}  // namespace

void probe_python(const struct sonde_agent* agent, const char* said) {
  // Of another interpreter's thread we find the state that it has in the main one.
  if (agent::load_acquire(g_layout) == nullptr || is_in_another_interpreter()) return;
  const auto thread = reinterpret_cast<uint64_t>(g_this_thread_state());
  struct sonde_agent looking = {};
  looking.define_code = look_at_code;
  Probed found = {};
  t_probed = &found;
  PythonStack stack;
  Reading memory{StackBounds()};
  if (plausible(thread)) PythonWalk(&looking, memory, stack, /*remembers=*/false).run(thread);
  t_probed = nullptr;
  uint32_t line = 0, before = 0;
  constexpr uint32_t kMostBetween = 512;  // bytes of instructions
  const bool is_right = sscanf(said, "%u:%u", &line, &before) == 2 && found.count == 2 &&
                        is_of_start(found, 0, "_probe") && is_of_start(found, 1, "_start") &&
                        found.functions[0].line == line && stack.frames[0].offset >= before &&
                        stack.frames[0].offset - before <= kMostBetween;
  if (is_right) return look_for_chunk(*g_layout, memory, thread);
  const auto version = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "Py_GetVersion"));
  refuse(agent, version(), "does not keep its frames where this version of Sonde looks for them");
}

void find_python(const struct sonde_agent* agent) {
  if (g_layout != nullptr || g_refused || !may_have_come()) return;
  const auto version = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "Py_GetVersion"));
  void* loop = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
  g_this_thread_state =
      reinterpret_cast<ThisThreadState>(dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"));
  if (version == nullptr || loop == nullptr || g_this_thread_state == nullptr) {
    dlerror();  // clears the error, which the program would otherwise see
    return;
  }
  g_loop = extent_of(loop);
  find_runtime();
  if (!has_gil(version())) {
    return refuse(agent, version(),
                  "is a build without the GIL (free-threaded), which is not supported");
  }
  const PythonLayout* layout = layout_of(version_of(version()));
  if (layout == nullptr) {
    return refuse(agent, version(), "has frames that this version of Sonde does not know");
  }
  g_code_type = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "PyCode_Type"));
  g_text_type = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "PyUnicode_Type"));
  agent::store_release(g_layout, layout);
}

void python_after_fork() { __atomic_store_n(&g_adding, 0, __ATOMIC_RELAXED); }

void walk_python(const struct sonde_agent* agent, const StackBounds& in_use, PythonStack& stack) {
  stack.frame_count = stack.run_count = 0;
  if (agent::load_acquire(g_layout) == nullptr) return;
  const auto thread = reinterpret_cast<uint64_t>(g_this_thread_state());
  if (!plausible(thread)) return;
  Reading memory(in_use);
  know_own_pages(*g_layout, memory, thread);
  PythonWalk(agent, memory, stack).run(thread);
}

uint64_t python_state() {
  if (agent::load_acquire(g_layout) == nullptr) return 0;
  return reinterpret_cast<uint64_t>(g_this_thread_state());
}

void walk_python_of(const struct sonde_agent* agent, uint64_t state, PythonStack& stack) {
  stack.frame_count = stack.run_count = 0;
  if (agent::load_acquire(g_layout) == nullptr || !plausible(state)) return;
  Reading memory = Reading::of_another();
  PythonWalk(agent, memory, stack).run(state);
}

bool belongs(const PythonStack::Run& run, const Stack& native, uint32_t index) {
  const Frame& frame = native.frames[index];
  if (run.place == 0) return frame.address >= g_loop.low && frame.address < g_loop.high;
  // The run lies within this frame's part of the stack. It may also lie above what could be
  // unwound.
  return frame.stack != 0 && run.place < frame.stack;
}

}  // namespace sonde::cpu
