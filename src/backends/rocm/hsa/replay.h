// Running a kernel once more for each further set of counters, within one run of the program, where
// SONDE_COUNTERS has several passes. Used by counting.cpp; the hooks of copies.cpp, calls.cpp and
// kernels.cpp keep the program from changing memory meanwhile.
//
// What the kernel may write is saved before it runs the first time and restored before each of the
// others, so that each sees the same: all memory of devices that the program has allocated, the
// variables of its code objects, and of the host's memory what the kernel's arguments point into.
// Of the latter only words that the first run changed are restored. The host may have changed some
// of them: those that no later run writes are put back to what they were after the first. A kernel
// that waits for what the host has written once never ends when it runs again: it is stopped, and
// all memory is as the first run left it.
//
// Between the saving and the last run nothing else may change memory: no other kernel runs, copies
// and fills wait, nothing is freed. A thread of the host that writes to a device's memory directly
// is not seen.
#pragma once

#include "backends/rocm/hsa/counting.h"
#include "base/pinned.h"

namespace sonde::hsa {

bool replays();

// ---- replay.cpp: whose turn it is, and the runs ----

// Around what changes memory for the program: waits while a kernel has it alone.
class MemoryTurn : Pinned {
 public:
  MemoryTurn() : taken_(replays()) {
    if (taken_) begin();
  }
  ~MemoryTurn() {
    if (taken_) end();
  }

  // For what ends later, on another thread: end() once then.
  static void begin();
  static void end();

 private:
  bool taken_;
};

// An asynchronous copy waits for what it depends on before its turn. False: that does not come;
// it is made nevertheless, and until end_loose_copy() no kernel is run again.
bool begin_copy(uint32_t count, const Signal* depends_on);
void end_loose_copy();

// True: the caller has memory alone, until give_memory_back(). The caller of these has g_stepping.
bool take_memory();
void give_memory_back();
// A kernel has ended, or one of its further runs.
void note_progress();
// Whether somebody has waited for it for so long that the kernel may be waiting for them.
bool memory_is_wanted();

// False, and it is said why, if it cannot be run again. The caller has memory.
bool prepare_replay(const CounterSession& session, const DispatchPacket& packet);
// Runs it for all passes but the first, and records their counters.
void replay(const CounterSession& session, const DispatchPacket& packet, const struct sonde_op& op);
void end_replays();

// ---- saved_memory.cpp ----

void note_memory(const void* address, size_t bytes, Pool pool);
// `there`: the device's address of it.
void note_host_memory(const void* address, const void* there, size_t bytes);
void forget_memory(const void* address);
// Memory that no replay saves: while there is any, no kernel is run again.
enum Unsaved { kOfAnotherProcess, kVirtual, kShared, kUnsavedKinds };
void note_unsaved(Unsaved kind, int more);
// Others may write to the allocation with this address until it is freed.
void note_shared(const void* address);
const char* unsaved_memory();  // why, or nullptr
void note_variables(Executable executable, AgentHandle gpu, uint64_t address, size_t bytes);
void forget_variables(Executable executable);
// Gives back what the saving has taken; true if that was anything.
bool free_saved_memory();
void forget_all_memory();  // the runtime ends, and all of it with it

// nullptr: saved; else why it could not be.
const char* save_memory(const DispatchPacket& packet);
// The same. Where memory of the host has changed, the kernel may have waited for the host, which
// does nothing for it a second time: the state after the first run is saved then, too.
const char* after_first_run(bool* may_wait);
bool restore_first_run(bool has_ended);
bool restore_memory();
void after_last_run();

}  // namespace sonde::hsa
