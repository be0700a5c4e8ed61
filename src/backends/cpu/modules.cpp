#include "backends/cpu/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "agent/platform.h"

namespace sonde::cpu {

namespace {

// What glibc 2.35 and newer fill in, as their dlfcn.h declares it; older headers lack it.
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
Module g_modules[kMaxModules];  // 0 is none; they are never taken back
uint32_t g_count = 1;
int g_adding = 0;

bool same(const Module& module, const FoundObject& found) {
  return module.section.start == reinterpret_cast<uint64_t>(found.map_start) &&
         module.section.end == reinterpret_cast<uint64_t>(found.map_end) &&
         module.section.header == found.eh_frame && module.link_map == found.link_map;
}

uint32_t find(const FoundObject& found) {
  // The newest first: an address may be used again after a dlclose.
  for (uint32_t i = agent::load_acquire(g_count); --i > 0;) {
    if (same(g_modules[i], found)) return i;
  }
  return 0;
}

uint32_t add(const FoundObject& found) {
  if (__atomic_exchange_n(&g_adding, 1, __ATOMIC_ACQUIRE) != 0) return 0;
  uint32_t number = find(found);
  if (number == 0 && g_count < kMaxModules) {
    number = g_count;
    Module& module = g_modules[number];
    module.number = number;
    module.bias = found.link_map != nullptr ? found.link_map->l_addr : 0;
    module.section = {reinterpret_cast<uint64_t>(found.map_start),
                      reinterpret_cast<uint64_t>(found.map_end),
                      static_cast<const uint8_t*>(found.eh_frame)};
    module.link_map = found.link_map;
    agent::store_release(g_count, number + 1);
  }
  __atomic_store_n(&g_adding, 0, __ATOMIC_RELEASE);
  return number;
}

struct BuildId {
  const uint8_t* bytes = nullptr;
  uint32_t size = 0;
};

BuildId build_id_in(const uint8_t* notes, uint64_t bytes, uint64_t align) {
  if (align < 4) align = 4;
  const auto rounded = [align](uint64_t size) { return (size + align - 1) / align * align; };
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, notes, sizeof note);
    const uint64_t name = rounded(note.n_namesz), all = sizeof note + name + rounded(note.n_descsz);
    if (all > bytes) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        memcmp(notes + sizeof note, "GNU", 4) == 0) {
      return {notes + sizeof note + name, note.n_descsz};
    }
    notes += all;
    bytes -= all;
  }
  return {};
}

// From the file's own header, where it is mapped at the beginning of the module.
BuildId build_id_of(const Module& module) {
  const auto* start = reinterpret_cast<const uint8_t*>(module.section.start);
  ElfW(Ehdr) header;
  memcpy(&header, start, sizeof header);
  const uint64_t size = module.section.end - module.section.start;
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr)) ||
      header.e_phoff + header.e_phnum * sizeof(ElfW(Phdr)) > size) {
    return {};
  }
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    memcpy(&segment, start + header.e_phoff + i * sizeof segment, sizeof segment);
    const uint64_t at = module.bias + segment.p_vaddr;
    if (segment.p_type != PT_NOTE || at < module.section.start ||
        at + segment.p_memsz > module.section.end) {
      continue;
    }
    const BuildId id =
        build_id_in(reinterpret_cast<const uint8_t*>(at), segment.p_memsz, segment.p_align);
    if (id.bytes != nullptr) return id;
  }
  return {};
}

}  // namespace

bool prepare_modules() {
  g_find_object = reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
  return g_find_object != nullptr;
}

void modules_after_fork() { __atomic_store_n(&g_adding, 0, __ATOMIC_RELAXED); }

uint32_t module_of(uint64_t pc) {
  FoundObject found = {};
  if (g_find_object == nullptr || g_find_object(reinterpret_cast<void*>(pc), &found) != 0) return 0;
  const uint32_t number = find(found);
  return number != 0 ? number : add(found);
}

const Module& module_at(uint32_t number) { return g_modules[number]; }

uint32_t module_definition(uint32_t number, const struct sonde_agent* agent) {
  if (number == 0) return 0;
  Module& module = g_modules[number];
  const uint32_t known = agent::load(module.definition);
  if (known != 0) return known;
  const auto* map = static_cast<const link_map*>(module.link_map);
  char executable[PATH_MAX];
  const char* path = map != nullptr ? map->l_name : "";
  if (path == nullptr || *path == '\0') {  // the program itself
    const ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
    executable[length > 0 ? length : 0] = '\0';
    path = executable;
  }
  const BuildId id = build_id_of(module);
  const struct sonde_module description = {
      module.bias, module.section.start, module.section.end, path, id.bytes, id.size};
  // Two threads may define the same one twice, which does no harm.
  const uint32_t definition = agent->define_module(&description);
  if (definition != 0) agent::store(module.definition, definition);
  return definition;
}

}  // namespace sonde::cpu
