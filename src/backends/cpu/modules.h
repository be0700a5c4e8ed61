// The files that are mapped and executed, each with a small number. A module is known from the
// first address of it that is met; the dynamic loader says which it is, without a lock, or, before
// glibc 2.35, the kernel's list of mappings. Safe in a signal handler and from several threads.
//
// dl_iterate_phdr() is not used: it waits for the loader's lock, which another thread may hold
// while it waits for memory that the interrupted thread has locked.
#pragma once

#include <stdint.h>

#include "backends/cpu/eh_frame.h"
#include "sonde/backend.h"

namespace sonde::cpu {

constexpr uint32_t kMaxModules = 4096;

struct Module {
  uint32_t number = 0;  // 0: none
  uint64_t bias = 0;
  Section section;
  const void* link_map = nullptr;  // of the loader, if that told
  const char* path = nullptr;      // the program's may be empty
  uint32_t seen = 0;               // in the kernel's list, by the number of the look at it
  uint32_t definition[2] = {};     // its numbers at the two definers, 0: not defined yet
};

// The number of the module that `pc` lies in, or 0.
uint32_t module_of(uint64_t pc);
const Module& module_at(uint32_t number);
// Two may number modules and Python codes, each in its own way: the agent, and whoever is set here.
void set_second_definer(const struct sonde_agent* agent);
bool is_second_definer(const struct sonde_agent* agent);
// The definer's number; 0 if it cannot be had now.
uint32_t module_definition(uint32_t number, const struct sonde_agent* agent);

// Before the first use. `ask_loader`: if it has a function for that. False: nobody tells.
bool prepare_modules(bool ask_loader = true);
// A file has been unmapped.
void forget_modules();
// In a forked child: another thread of the parent may have been adding one.
void modules_after_fork();

}  // namespace sonde::cpu
