#include "backends/rocm/late/imports.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sonde::late {
namespace {

struct Object {
  ElfW(Addr) base = 0;
  uintptr_t low = UINTPTR_MAX, high = 0;  // of its segments
  uintptr_t relro = 0, relro_end = 0;     // read-only since it was loaded
  const ElfW(Sym) * symbols = nullptr;
  const char* texts = nullptr;
  struct {
    const ElfW(Rela) * first = nullptr;
    size_t bytes = 0;
  } calls, data;
  bool has(const void* address) const {
    const auto at = reinterpret_cast<uintptr_t>(address);
    return at >= low && at < high;
  }
};

void read_dynamic(const ElfW(Dyn) * entry, Object& object) {
  for (; entry->d_tag != DT_NULL; ++entry) {
    const auto* pointer = reinterpret_cast<const void*>(entry->d_un.d_ptr);
    switch (entry->d_tag) {
      case DT_SYMTAB:
        object.symbols = static_cast<const ElfW(Sym)*>(pointer);
        break;
      case DT_STRTAB:
        object.texts = static_cast<const char*>(pointer);
        break;
      case DT_JMPREL:
        object.calls.first = static_cast<const ElfW(Rela)*>(pointer);
        break;
      case DT_PLTRELSZ:
        object.calls.bytes = entry->d_un.d_val;
        break;
      case DT_RELA:
        object.data.first = static_cast<const ElfW(Rela)*>(pointer);
        break;
      case DT_RELASZ:
        object.data.bytes = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
}

Object object_of(const dl_phdr_info& info) {
  Object object;
  object.base = info.dlpi_addr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info.dlpi_phdr[i];
    const uintptr_t begin = info.dlpi_addr + part.p_vaddr, end = begin + part.p_memsz;
    if (part.p_type == PT_LOAD) {
      if (begin < object.low) object.low = begin;
      if (end > object.high) object.high = end;
    } else if (part.p_type == PT_GNU_RELRO) {
      object.relro = begin;
      object.relro_end = end;
    } else if (part.p_type == PT_DYNAMIC) {
      read_dynamic(reinterpret_cast<const ElfW(Dyn)*>(begin), object);
    }
  }
  return object;
}

// Makes read-only words writable for the duration of the store.
bool write_word(const Object& object, void** word, void* value) {
  const auto at = reinterpret_cast<uintptr_t>(word);
  const bool sealed = at >= object.relro && at < object.relro_end;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const begin = reinterpret_cast<void*>(at & ~(page - 1));
  if (sealed && mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
  if (sealed) mprotect(begin, page, PROT_READ);
  return true;
}

struct Task {
  const Import* imports;
  size_t count;
  bool bind;
  size_t bound;
};

// Whether the word still has its original value: the library's function or, before the first call,
// the object's own PLT stub, which looks it up.
bool is_theirs(const Object& object, const void* value, const Import& import) {
  return value == import.theirs || object.has(value);
}

void look_at_word(const Object& object, void** word, const Import& import, Task& task) {
  void* const value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  if (!task.bind) {
    if (value == import.ours) write_word(object, word, import.theirs);
  } else if (value == import.ours ||
             (is_theirs(object, value, import) && write_word(object, word, import.ours))) {
    ++task.bound;
  }
}

void look_at_words(const Object& object, const ElfW(Rela) * first, size_t bytes, Task& task) {
  if (first == nullptr) return;
  const ElfW(Rela)* const end = first + bytes / sizeof *first;
  for (const ElfW(Rela)* each = first; each < end; ++each) {
    const auto type = ELF64_R_TYPE(each->r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
    const ElfW(Sym)& symbol = object.symbols[ELF64_R_SYM(each->r_info)];
    if (symbol.st_shndx != SHN_UNDEF) continue;  // defined in this object, whatever its name
    const char* name = object.texts + symbol.st_name;
    for (size_t i = 0; i < task.count; ++i) {
      if (task.imports[i].theirs == nullptr || strcmp(name, task.imports[i].name) != 0) continue;
      look_at_word(object, reinterpret_cast<void**>(object.base + each->r_offset), task.imports[i],
                   task);
    }
  }
}

int look_at_object(dl_phdr_info* info, size_t, void* data) {
  auto& task = *static_cast<Task*>(data);
  const Object object = object_of(*info);
  if (object.symbols == nullptr || object.texts == nullptr || object.has(task.imports[0].ours)) {
    return 0;
  }
  // The vDSO's addresses are not relocated, and it imports nothing.
  if (!object.has(object.symbols) || !object.has(object.texts)) return 0;
  look_at_words(object, object.calls.first, object.calls.bytes, task);
  look_at_words(object, object.data.first, object.data.bytes, task);
  return 0;
}

}  // namespace

bool objects_changed() {
  static unsigned long long last[2];
  unsigned long long now[2] = {};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* counts = static_cast<unsigned long long*>(data);
        counts[0] = info->dlpi_adds;
        counts[1] = info->dlpi_subs;
        return 1;  // the first entry has the process-wide counts
      },
      now);
  const bool changed = memcmp(now, last, sizeof now) != 0;
  memcpy(last, now, sizeof now);
  return changed;
}

size_t bind(const Import* imports, size_t count) {
  Task task = {imports, count, true, 0};
  dl_iterate_phdr(look_at_object, &task);
  return task.bound;
}

void unbind(const Import* imports, size_t count) {
  Task task = {imports, count, false, 0};
  dl_iterate_phdr(look_at_object, &task);
}

}  // namespace sonde::late
