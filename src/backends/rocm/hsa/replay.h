// Replaying a kernel for each further set of counters, within one run of the program, if
// SONDE_COUNTERS has several passes. Used by counting.cpp; the hooks of copies.cpp, calls.cpp and
// kernels.cpp keep the program from changing memory meanwhile.
//
// What the kernel may write is saved before its first run and restored before each further one, so
// that every run sees the same: all device memory that the program has allocated, the variables of
// its code objects, and the host memory that the kernel's arguments point into. Of host memory,
// only words that the first run changed are restored. The host may have changed some of them: those
// that no later run writes are set back to their values after the first run. A kernel that waits
// for something that the host wrote once would never end when replayed: it is stopped, and all
// memory is set back to its state after the first run.
//
// Between saving and the last run nothing else may change memory: no other kernel runs, copies and
// fills wait, and nothing is freed. Direct writes of a host thread to device memory are not
// noticed.
#pragma once

#include "backends/rocm/hsa/counting.h"
#include "base/pinned.h"

namespace sonde::hsa {

bool replays();

// ---- replay.cpp: turns, and the runs ----

// A turn to change memory for the program: waits while a kernel has exclusive use of it.
class MemoryTurn : Pinned {
 public:
  MemoryTurn() : taken_(replays()) {
    if (taken_) begin();
  }
  ~MemoryTurn() {
    if (taken_) end();
  }

  // For a change that ends later, on another thread, which then calls end() once.
  static void begin();
  static void end();

 private:
  bool taken_;
};

// An asynchronous copy waits for its dependencies before its turn. False: they do not complete; the
// copy is made nevertheless, and no kernel is replayed until end_loose_copy().
bool begin_copy(uint32_t count, const Signal* depends_on);
void end_loose_copy();

// True: the caller has exclusive use of memory until give_memory_back(). Callers of these hold
// g_stepping.
bool take_memory();
void give_memory_back();
// A kernel has finished, or one of its replays.
void note_progress();
// Whether a thread has waited for memory for so long that the kernel may be waiting for that
// thread.
bool memory_is_wanted();

// False, after reporting why, if the kernel cannot be replayed. The caller has memory.
bool prepare_replay(const CounterSession& session, const DispatchPacket& packet);
// Runs the kernel for all passes but the first, and records their counters.
void replay(const CounterSession& session, const DispatchPacket& packet, const struct sonde_op& op);
void end_replays();

// ---- saved_memory.cpp ----

void note_memory(const void* address, size_t bytes, Pool pool);
// `there`: the device's address for it.
void note_host_memory(const void* address, const void* there, size_t bytes);
void forget_memory(const void* address);
// Memory that no replay can save: while there is any, no kernel is replayed.
enum Unsaved { kOfAnotherProcess, kVirtual, kShared, kUnsavedKinds };
void note_unsaved(Unsaved kind, int more);
// Others may write to the allocation at this address until it is freed.
void note_shared(const void* address);
const char* unsaved_memory();  // the reason, or nullptr
void note_variables(Executable executable, AgentHandle gpu, uint64_t address, size_t bytes);
void forget_variables(Executable executable);
// Frees the memory that holds saved copies; true if there was any.
bool free_saved_memory();
void forget_all_memory();  // the runtime ends, and its memory with it

// nullptr: saved; else the reason why not.
const char* save_memory(const DispatchPacket& packet);
// The same. If host memory has changed, the kernel may have waited for the host, which does nothing
// for it a second time: in that case the state after the first run is saved, too.
const char* after_first_run(bool* may_wait);
bool restore_first_run(bool has_ended);
bool restore_memory();
void after_last_run();

}  // namespace sonde::hsa
