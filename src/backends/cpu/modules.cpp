#include "backends/cpu/modules.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "agent/platform.h"
#include "backends/cpu/mapped_files.h"
#include "backends/cpu/mapped_image.h"

namespace sonde::cpu {

namespace {

// struct dl_find_object of glibc 2.35 and later; older headers lack it.
struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  struct link_map* link_map;
  void* eh_frame;
  unsigned long long reserved[7];
};
using FindObject = int (*)(void*, FoundObject*);

FindObject g_find_object = nullptr;
const struct sonde_agent* g_second_definer = nullptr;
Module g_modules[kMaxModules];  // number 0 is none; entries are never removed
uint32_t g_count = 1;
uint32_t g_unmappings = 1;
int g_adding = 0;          // held while modules and texts are added
char g_texts[512 * 1024];  // paths and build IDs
size_t g_text_bytes = 0;

char* text_room(size_t& bytes) {
  bytes = sizeof g_texts - g_text_bytes;
  return g_texts + g_text_bytes;
}

// The path has been put into the room.
void keep_texts(Module& module, const MappedImage* image) {
  module.path = g_texts + g_text_bytes;
  g_text_bytes += strlen(module.path) + 1;
  if (image == nullptr) return;
  size_t left = 0;
  auto* room = reinterpret_cast<uint8_t*>(text_room(left));
  module.build_id = room;
  module.build_id_bytes = image->copy_build_id(module.bias, room, left);
  g_text_bytes += module.build_id_bytes;
}

bool same(const Module& module, const FoundObject& found) {
  return module.section.start == reinterpret_cast<uint64_t>(found.map_start) &&
         module.section.end == reinterpret_cast<uint64_t>(found.map_end) &&
         module.section.header == found.eh_frame && module.link_map == found.link_map;
}

// What the loader knows of a file that it found.
bool copy_loaders(Stay stay, const FoundObject& found, struct link_map& map, char* path,
                  size_t path_bytes) {
  return copy(stay, &map, reinterpret_cast<uint64_t>(found.link_map), sizeof map) &&
         copy_text(stay, path, path_bytes, reinterpret_cast<uint64_t>(map.l_name));
}

// After a dlclose, another file may be at the same place.
bool is_still(Module& module, const FoundObject& found, Stay stay) {
  const uint32_t unmappings = agent::load(g_unmappings);
  if (agent::load(module.seen) == unmappings) return true;
  struct link_map map;
  char path[PATH_MAX];
  if (!copy_loaders(stay, found, map, path, sizeof path) || strcmp(path, module.path) != 0) {
    return false;
  }
  agent::store(module.seen, unmappings);
  return true;
}

uint32_t find(const FoundObject& found, Stay stay) {
  for (uint32_t i = agent::load_acquire(g_count); --i > 0;) {
    if (same(g_modules[i], found) && is_still(g_modules[i], found, stay)) return i;
  }
  return 0;
}

bool describe(const FoundObject& found, Stay stay, Module& module) {
  module.section = {reinterpret_cast<uint64_t>(found.map_start),
                    reinterpret_cast<uint64_t>(found.map_end),
                    static_cast<const uint8_t*>(found.eh_frame)};
  module.link_map = found.link_map;
  module.seen = agent::load(g_unmappings);
  size_t left = 0;
  char* const path = text_room(left);
  struct link_map map;
  if (!copy_loaders(stay, found, map, path, left)) return false;
  module.bias = map.l_addr;
  MappedImage image(stay, module.section.start, module.section.end);
  keep_texts(module, image.read_headers() ? &image : nullptr);
  return true;
}

uint32_t add(const FoundObject& found, Stay stay) {
  if (__atomic_exchange_n(&g_adding, 1, __ATOMIC_ACQUIRE) != 0) return 0;
  uint32_t number = find(found, stay);
  if (number == 0 && g_count < kMaxModules && describe(found, stay, g_modules[g_count])) {
    number = g_count;
    g_modules[number].number = number;
    agent::store_release(g_count, number + 1);
  }
  __atomic_store_n(&g_adding, 0, __ATOMIC_RELEASE);
  return number;
}

// Without the loader's help: an address that is in no known file triggers a scan of the kernel's
// list, but not too often, since the address may belong to JIT code.
constexpr int64_t kPauseNs = 100'000'000;
uint32_t g_look = 0;
int g_must_look = 1;
int64_t g_looked_ns = 0;

uint32_t find_mapped(uint64_t pc) {
  const uint32_t look = agent::load_acquire(g_look);
  for (uint32_t i = agent::load_acquire(g_count); --i > 0;) {
    const Module& module = g_modules[i];
    if (module.link_map == nullptr && agent::load(module.seen) >= look &&
        pc >= module.section.start && pc < module.section.end) {
      return i;
    }
  }
  return 0;
}

bool describe(const MappedFile& file, Module& module) {
  // A load faults if the file has been truncated.
  const Stay stay = can_copy() ? Stay::kMayVanish : Stay::kCertain;
  module.section = {file.start, file.end, nullptr};
  MappedImage image(stay, file.start, file.end);
  size_t left = 0;
  char* const path = text_room(left);
  if (!image.read_headers() || !image.find_bias(module.bias) || file.path_bytes >= left) {
    return false;
  }
  module.section.header = image.unwind_table(module.bias);
  memcpy(path, file.path, file.path_bytes);
  path[file.path_bytes] = '\0';
  keep_texts(module, &image);
  return true;
}

bool is_mapped(const Module& module, const MappedFile& file) {
  return module.link_map == nullptr && module.section.start == file.start &&
         module.section.end == file.end && module.path != nullptr &&
         strncmp(module.path, file.path, file.path_bytes) == 0 &&
         module.path[file.path_bytes] == '\0';
}

void take_mapped(const MappedFile& file, void* context) {
  const uint32_t look = *static_cast<const uint32_t*>(context);
  for (uint32_t i = g_count; --i > 0;) {
    if (is_mapped(g_modules[i], file)) return agent::store(g_modules[i].seen, look);
  }
  if (g_count == kMaxModules) return;
  Module& module = g_modules[g_count];
  if (!describe(file, module)) return;
  module.number = g_count;
  module.seen = look;
  agent::store_release(g_count, g_count + 1);
}

bool look_at_mappings() {
  if (__atomic_exchange_n(&g_adding, 1, __ATOMIC_ACQUIRE) != 0) return false;
  uint32_t look = g_look + 1;
  agent::store(g_must_look, 0);
  const bool good = for_each_mapped_file(take_mapped, &look);
  if (good) agent::store_release(g_look, look);
  agent::store(g_looked_ns, clock_ns(CLOCK_MONOTONIC));
  __atomic_store_n(&g_adding, 0, __ATOMIC_RELEASE);
  return good;
}

uint32_t mapped_module_of(uint64_t pc) {
  const bool must = agent::load(g_must_look) != 0;
  const uint32_t number = must ? 0 : find_mapped(pc);
  if (number != 0) return number;
  if (!must && clock_ns(CLOCK_MONOTONIC) - agent::load(g_looked_ns) < kPauseNs) return 0;
  look_at_mappings();
  return find_mapped(pc);
}

}  // namespace

bool prepare_modules(bool ask_loader) {
  FindObject asked = nullptr;
  if (ask_loader) asked = reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
  g_find_object = asked;  // in one store: another thread may be using it
  return g_find_object != nullptr || look_at_mappings();
}

void set_second_definer(const struct sonde_agent* agent) { agent::store(g_second_definer, agent); }

bool is_second_definer(const struct sonde_agent* agent) {
  return agent::load(g_second_definer) == agent;
}

void forget_modules() {
  agent::store(g_must_look, 1);
  __atomic_fetch_add(&g_unmappings, 1, __ATOMIC_RELAXED);
}

void modules_after_fork() { __atomic_store_n(&g_adding, 0, __ATOMIC_RELAXED); }

uint32_t module_of(uint64_t pc, Stay stay) {
  FoundObject found = {};
  if (g_find_object == nullptr) return mapped_module_of(pc);
  if (g_find_object(reinterpret_cast<void*>(pc), &found) != 0) return 0;
  const uint32_t number = find(found, stay);
  return number != 0 ? number : add(found, stay);
}

const Module& module_at(uint32_t number) { return g_modules[number]; }

bool is_ours(uint32_t number) {
  enum : uint8_t { kUnknown, kOurs, kOthers };
  static uint8_t whose[kMaxModules];
  if (number == 0) return false;
  const uint8_t known = agent::load(whose[number]);
  if (known != kUnknown) return known == kOurs;
  const char* path = module_at(number).path;
  const bool ours = path != nullptr && strstr(path, "/libsonde-") != nullptr;
  agent::store(whose[number], ours ? kOurs : kOthers);
  return ours;
}

uint32_t module_definition(uint32_t number, const struct sonde_agent* agent) {
  if (number == 0) return 0;
  Module& module = g_modules[number];
  uint32_t& place = module.definition[is_second_definer(agent) ? 1 : 0];
  const uint32_t known = agent::load(place);
  if (known != 0) return known;
  char executable[PATH_MAX];
  const char* path = module.path;
  if (path == nullptr || *path == '\0') {  // the program itself
    const ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
    executable[length > 0 ? length : 0] = '\0';
    path = executable;
  }
  const struct sonde_module description = {.bias = module.bias,
                                           .start = module.section.start,
                                           .end = module.section.end,
                                           .path = path,
                                           .build_id = module.build_id,
                                           .build_id_bytes = module.build_id_bytes};
  // Two threads may define the same module twice, which does no harm.
  const uint32_t definition = agent->define_module(&description);
  if (definition != 0) agent::store(place, definition);
  return definition;
}

}  // namespace sonde::cpu
