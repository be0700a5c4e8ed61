#include "backends/rocm/hip/functions.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "backends/rocm/connection.h"

namespace sonde::hip {

FunctionInfo g_functions[kFunctionCount];

namespace {

constexpr uint16_t kIds[] = {
#define X(id, place, name, category, weight, count, parameters) id,
#include "backends/rocm/hip/functions.inc"
#undef X
};

// All texts concatenated, each zero-terminated: pointers to them would have to be relocated, and
// their pages copied, in every recorded process.
constexpr char kTexts[] =
#define X(id, place, name, category, weight, count, parameters) \
#name "\0" #category "\0" #weight "\0" parameters "\0"
#include "backends/rocm/hip/functions.inc"
#undef X
    ;

struct Places {
  uint32_t of[kFunctionCount];
};

// Where the texts of each function begin.
constexpr Places find_places() {
  Places places = {};
  uint32_t at = 0;
  for (uint32_t& place : places.of) {
    place = at;
    for (int texts = 0; texts < 4; ++texts) {
      while (kTexts[at++] != '\0') {
      }
    }
  }
  return places;
}
constexpr Places kPlaces = find_places();

struct Source {
  const char* name;
  const char* category;
  const char* weight;
  const char* parameters;
};

Source source_of(size_t function) {
  Source source = {};
  source.name = kTexts + kPlaces.of[function];
  source.category = source.name + strlen(source.name) + 1;
  source.weight = source.category + strlen(source.category) + 1;
  source.parameters = source.weight + strlen(source.weight) + 1;
  return source;
}

constexpr const char* kCategories[] = {"launch",  "copy",  "memset",  "memory", "stream",
                                       "event",   "graph", "module",  "device", "context",
                                       "texture", "error", "profiler"};

constexpr uint32_t kMaxId = 400;
uint16_t g_by_id[kMaxId];  // index + 1

Role role_of(const Token& token) {
  struct Named {
    const char* name;
    Role role;
  };
  constexpr Named kNames[] = {{"dst", Role::kDst},
                              {"dstDevice", Role::kDst},
                              {"dstHost", Role::kDst},
                              {"src", Role::kSrc},
                              {"srcDevice", Role::kSrc},
                              {"srcHost", Role::kSrc},
                              {"sizeBytes", Role::kBytes},
                              {"sizebytes", Role::kBytes},
                              {"count", Role::kBytes},
                              {"ByteCount", Role::kBytes},
                              {"kind", Role::kCopyKind},
                              {"stream", Role::kStream},
                              {"hStream", Role::kStream},
                              {"width", Role::kWidth},
                              {"height", Role::kHeight},
                              {"function_address", Role::kFunction},
                              {"f", Role::kFunction},
                              {"fPtr", Role::kFunction},
                              {"hostFunction", Role::kFunction},
                              {"config", Role::kConfig}};
  const Kind kind = kind_of(token.letter);
  for (const Named& named : kNames) {
    if (strncmp(named.name, token.name, token.length) != 0 || named.name[token.length] != '\0') {
      continue;
    }
    const bool wide = kind == Kind::kPointer || kind == Kind::kWord;
    return wide || named.role == Role::kCopyKind ? named.role : Role::kNone;
  }
  return Role::kNone;
}

Category category_of(const char* name) {
  size_t i = 0;
  while (strcmp(kCategories[i], name) != 0) ++i;
  return static_cast<Category>(i);
}

bool ends_with(const char* text, const char* end) {
  const size_t length = strlen(text), wanted = strlen(end);
  return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

}  // namespace

size_t parse_parameters(const char* text, Parameter* parameters, bool newer) {
  Layout layout;
  Token token;
  while (layout.count < kMaxParameters && next_token(&text, &token, newer)) {
    Parameter& parameter = parameters[layout.count];
    parameter = {kind_of(token.letter), role_of(token), static_cast<uint16_t>(layout.add(token))};
  }
  return layout.count;
}

void write_formats(const char* text, char* formats, size_t room) {
  size_t used = 0;
  formats[0] = '\0';
  const auto add = [&](const Token& token, const char* suffix, char letter) {
    const int length = snprintf(formats + used, room - used, "%s%.*s%s:%c", used != 0 ? " " : "",
                                static_cast<int>(token.length), token.name, suffix, letter);
    if (length > 0 && used + static_cast<size_t>(length) < room)
      used += static_cast<size_t>(length);
  };
  Token token;
  while (next_token(&text, &token, false)) {
    switch (kind_of(token.letter)) {
      case Kind::kPointer:
      case Kind::kOutPointer:
        add(token, "", 'p');
        break;
      case Kind::kInt:
      case Kind::kOutInt:
      case Kind::kEnum:
        add(token, "", 'd');
        break;
      case Kind::kFloat:
      case Kind::kOutFloat:
        add(token, "", 'f');
        break;
      case Kind::kText:
        add(token, "", 's');
        break;
      case Kind::kDim3:
        add(token, ".x", 'u');
        add(token, ".y", 'u');
        add(token, ".z", 'u');
        break;
      case Kind::kExtent:
        add(token, ".width", 'u');
        add(token, ".height", 'u');
        add(token, ".depth", 'u');
        break;
      case Kind::kPitched:
        add(token, ".ptr", 'p');
        add(token, ".pitch", 'u');
        break;
      case Kind::kStruct:
        break;
      default:
        add(token, "", 'u');
    }
  }
}

bool shows_values(const Parameter* parameters, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    switch (parameters[i].kind) {
      case Kind::kOutPointer:
      case Kind::kOutInt:
      case Kind::kOutUnsigned:
      case Kind::kOutWord:
      case Kind::kOutFloat:
      case Kind::kText:
        return false;
      default:
        break;
    }
  }
  return true;
}

namespace {

bool asks_for_work(const FunctionInfo& info) {
  const char* name = info.name;
  return info.category == Category::copy || info.category == Category::memset ||
         starts_with(name, "hipGraphLaunch") || starts_with(name, "hipMemPrefetchAsync") ||
         strcmp(name, "hipStreamBatchMemOp") == 0 ||
         (info.category == Category::launch && strstr(name, "Launch") != nullptr) ||
         starts_with(name, "hipStreamWriteValue") || starts_with(name, "hipStreamWaitValue");
}

bool g_newer;

void define_all() {
  char formats[1024];
  for (size_t i = 0; i < kFunctionCount; ++i) {
    const Source source = source_of(i);
    FunctionInfo& info = g_functions[i];
    info.name = source.name;
    info.category = category_of(source.category);
    info.in_full = *source.weight == '+';
    info.launches = info.in_full && asks_for_work(info);
    info.async = strstr(source.name, "Async") != nullptr;
    info.count =
        static_cast<uint8_t>(parse_parameters(source.parameters, info.parameters, g_newer));
    info.by_value = shows_values(info.parameters, info.count);
    info.stream = 0;
    while (info.stream < info.count && info.parameters[info.stream].role != Role::kStream) {
      ++info.stream;
    }
    write_formats(source.parameters, formats, sizeof formats);
    info.defined = rocm::agent().define_function("hip", source.category, source.name, formats);
    if (kIds[i] != 0 && kIds[i] < kMaxId) g_by_id[kIds[i]] = static_cast<uint16_t>(i + 1);
  }
}

}  // namespace

void prepare_functions(bool newer) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (newer) g_newer = true;
  pthread_once(&once, define_all);
}

const char* name_of(Function function) { return kTexts + kPlaces.of[function]; }

uint32_t define_unknown(uint32_t id, const char* (*name_of)(uint32_t id)) {
  constexpr uint32_t kMaxUnknown = 600;
  static uint32_t defined[kMaxUnknown];  // a race between two threads is harmless
  uint32_t& known = defined[id < kMaxUnknown ? id : 0];
  if (known == 0 && name_of != nullptr) {
    known = rocm::agent().define_function("hip", "other", name_of(id), "");
  }
  return known;
}

FunctionInfo* function_of_id(uint32_t id) {
  return id < kMaxId && g_by_id[id] != 0 ? &g_functions[g_by_id[id] - 1] : nullptr;
}

FunctionInfo* function_of_name(const char* name) {
  for (FunctionInfo& function : g_functions) {
    if (strcmp(function.name, name) == 0) return &function;
  }
  // ROCm 6 renamed functions whose structs it changed.
  if (ends_with(name, "R0600")) {
    for (FunctionInfo& function : g_functions) {
      const size_t length = strlen(function.name);
      if (strncmp(function.name, name, length) == 0 && strcmp(name + length, "R0600") == 0) {
        return &function;
      }
    }
  }
  return nullptr;
}

}  // namespace sonde::hip
