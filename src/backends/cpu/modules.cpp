#include "backends/cpu/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/platform.h"
#include "backends/cpu/mapped_files.h"

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
    module.path = found.link_map != nullptr ? found.link_map->l_name : nullptr;
    agent::store_release(g_count, number + 1);
  }
  __atomic_store_n(&g_adding, 0, __ATOMIC_RELEASE);
  return number;
}

// Without the loader's help: an address that is in no known file triggers a scan of the kernel's
// list, but not too often, since the address may belong to JIT code.
constexpr int64_t kPauseNs = 100'000'000;
constexpr size_t kPathRoom = 256 * 1024;
uint32_t g_look = 0;
int g_must_look = 1;
int64_t g_looked_ns = 0;
char* g_paths = nullptr;
size_t g_path_bytes = 0;

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

// Unlike a load, does not fault if the file has been truncated.
bool read_beginning(uint64_t from, char* to, size_t bytes) {
  const iovec local = {to, bytes};
  const iovec remote = {reinterpret_cast<void*>(from), bytes};
  const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  if (got < 0 && errno != EFAULT) memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return got == static_cast<ssize_t>(bytes) || (got < 0 && errno != EFAULT);
}

// Sets the load bias and the unwind table from the program headers.
bool read_segments(const MappedFile& file, Module& module) {
  char text[4096];
  ElfW(Ehdr) header;
  if (!read_beginning(file.start, text, sizeof text)) return false;
  memcpy(&header, text, sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr)) ||
      header.e_phoff > sizeof text ||
      header.e_phoff + header.e_phnum * sizeof(ElfW(Phdr)) > sizeof text) {
    return false;
  }
  module.section = {file.start, file.end, nullptr};
  bool placed = false;
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    memcpy(&segment, text + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_LOAD && !placed) {
      module.bias = file.start - (segment.p_vaddr - segment.p_offset);
      placed = true;
    }
    const uint64_t at = module.bias + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME && placed && at >= file.start &&
        at + segment.p_memsz <= file.end) {
      module.section.header = reinterpret_cast<const uint8_t*>(at);
    }
  }
  return placed;
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
  if (g_count == kMaxModules || g_path_bytes + file.path_bytes + 1 > kPathRoom) return;
  Module& module = g_modules[g_count];
  if (!read_segments(file, module)) return;
  char* path = g_paths + g_path_bytes;
  memcpy(path, file.path, file.path_bytes);
  path[file.path_bytes] = '\0';
  g_path_bytes += file.path_bytes + 1;
  module.path = path;
  module.number = g_count;
  module.seen = look;
  agent::store_release(g_count, g_count + 1);
}

bool look_at_mappings() {
  if (__atomic_exchange_n(&g_adding, 1, __ATOMIC_ACQUIRE) != 0) return false;
  uint32_t look = g_look + 1;
  agent::store(g_must_look, 0);
  if (g_paths == nullptr) g_paths = static_cast<char*>(agent::map_memory(kPathRoom));
  const bool good = g_paths != nullptr && for_each_mapped_file(take_mapped, &look);
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

// From the program headers, which are mapped at the beginning of the module.
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

void forget_modules() { agent::store(g_must_look, 1); }

void modules_after_fork() { __atomic_store_n(&g_adding, 0, __ATOMIC_RELAXED); }

uint32_t module_of(uint64_t pc) {
  FoundObject found = {};
  if (g_find_object == nullptr) return mapped_module_of(pc);
  if (g_find_object(reinterpret_cast<void*>(pc), &found) != 0) return 0;
  const uint32_t number = find(found);
  return number != 0 ? number : add(found);
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
  const BuildId id = build_id_of(module);
  const struct sonde_module description = {
      module.bias, module.section.start, module.section.end, path, id.bytes, id.size};
  // Two threads may define the same module twice, which does no harm.
  const uint32_t definition = agent->define_module(&description);
  if (definition != 0) agent::store(place, definition);
  return definition;
}

}  // namespace sonde::cpu
