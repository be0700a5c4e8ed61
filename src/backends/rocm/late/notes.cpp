#include "backends/rocm/late/notes.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

#include "agent/attach.h"

namespace sonde::late {
namespace {

constexpr char kName[] = "Sonde";  // as in sonde.h
constexpr uint32_t kTable = 1;

struct Task {
  const struct sonde_functions* from;
  const struct sonde_functions* to;
  bool found;
};

bool lies_in(const dl_phdr_info& info, uintptr_t at, size_t bytes) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info.dlpi_phdr[i];
    const uintptr_t begin = info.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && (part.p_flags & PF_W) != 0 && at >= begin &&
        at + bytes <= begin + part.p_memsz) {
      return true;
    }
  }
  return false;
}

// `place` contains the distance from itself to the word with the table's address.
void look_at_word(const dl_phdr_info& info, const char* place, Task& task) {
  int64_t distance = 0;
  memcpy(&distance, place, sizeof distance);
  const uintptr_t at = reinterpret_cast<uintptr_t>(place) + static_cast<uintptr_t>(distance);
  if (at % sizeof(void*) != 0 || !lies_in(info, at, sizeof(void*))) return;
  auto* word = reinterpret_cast<const struct sonde_functions**>(at);
  task.found = true;
  const struct sonde_functions* expected = task.from;
  __atomic_compare_exchange_n(word, &expected, task.to, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void look_at_notes(const dl_phdr_info& info, const ElfW(Phdr) & part, Task& task) {
  const size_t align = part.p_align == 8 ? 8 : 4;
  const auto* at = reinterpret_cast<const char*>(info.dlpi_addr + part.p_vaddr);
  const char* const end = at + part.p_memsz;
  const auto aligned = [align](size_t bytes) { return (bytes + align - 1) / align * align; };
  while (static_cast<size_t>(end - at) >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, at, sizeof note);
    const char* name = at + sizeof note;
    const size_t rest = static_cast<size_t>(end - name);
    if (note.n_namesz > rest || note.n_descsz > rest) return;
    const size_t before = aligned(sizeof note + note.n_namesz) - sizeof note;
    const size_t bytes = before + aligned(note.n_descsz);
    if (before + note.n_descsz > rest) return;
    if (note.n_type == kTable && note.n_namesz == sizeof kName &&
        note.n_descsz == sizeof(int64_t) && memcmp(name, kName, sizeof kName) == 0) {
      look_at_word(info, name + before, task);
    }
    if (bytes > rest) return;
    at = name + bytes;
  }
}

int look_at_object(dl_phdr_info* info, size_t, void* data) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type == PT_NOTE) look_at_notes(*info, part, *static_cast<Task*>(data));
  }
  return 0;
}

bool exchange(const struct sonde_functions* from, const struct sonde_functions* to) {
  Task task = {from, to, false};
  dl_iterate_phdr(look_at_object, &task);
  return task.found;
}

}  // namespace

bool set_notes() { return exchange(nullptr, agent::functions_of_attached()); }
void clear_notes() { exchange(agent::functions_of_attached(), nullptr); }

}  // namespace sonde::late
