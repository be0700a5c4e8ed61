// The executable files that are mapped, each with a small number. A module is registered when an
// address in it is met for the first time; the dynamic loader, without its lock, says which file it
// is, or, before glibc 2.35, the kernel's list of mappings. Safe in a signal handler and from
// several threads.
//
// dl_iterate_phdr() is not used: it takes the loader's lock, whose holder may be waiting for an
// allocator lock that the interrupted thread holds.
#pragma once

#include <stdint.h>

#include "backends/cpu/copying.h"
#include "backends/cpu/eh_frame.h"
#include "sonde/backend.h"

namespace sonde::cpu {

constexpr uint32_t kMaxModules = 4096;

struct Module {
  uint32_t number = 0;  // 0: none
  uint64_t bias = 0;
  Section section;
  const void* link_map = nullptr;  // the loader's, if it was the source
  // Copies, since the file may be unmapped before it is defined.
  const char* path = nullptr;  // empty for the program itself, possibly
  const uint8_t* build_id = nullptr;
  uint32_t build_id_bytes = 0;
  uint32_t seen = 0;  // number of the last scan of the kernel's list, or of unmappings, that saw it
  uint32_t definition[2] = {};  // its ids at the two definers, 0: not defined yet
};

// The number of the module that contains `pc`, or 0.
uint32_t module_of(uint64_t pc, Stay stay = Stay::kCertain);
const Module& module_at(uint32_t number);
// Whether it is one of Sonde's own libraries.
bool is_ours(uint32_t number);
// Modules and Python code objects can have ids at two definers: the agent, and the one set here.
void set_second_definer(const struct sonde_agent* agent);
bool is_second_definer(const struct sonde_agent* agent);
// The module's id at the definer; 0 if it cannot be defined now.
uint32_t module_definition(uint32_t number, const struct sonde_agent* agent);

// Call before first use. `ask_loader`: use its lock-free lookup, if it has one. False: no source
// works.
bool prepare_modules(bool ask_loader = true);
// Files have been unmapped.
void forget_modules();
// In a forked child: another thread of the parent may have been adding a module.
void modules_after_fork();

}  // namespace sonde::cpu
