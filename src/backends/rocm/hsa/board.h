// Writes the board of this process (wire/board.h), from which src/fault reports on a failed GPU.
// Does nothing if the session has no folder for boards. On any error the program is not affected,
// and the board has less on it.
#pragma once

#include "backends/rocm/hsa/runtime.h"
#include "wire/board.h"

namespace sonde::hsa {

struct Queue;

// Call once, when the runtime's tables arrive.
void open_board();
// Has the kernel make the pages that launches write to, which would wait for them otherwise.
void prepare_pages();

void note_queue(Queue* queue, const QueueMemory* handle);
void note_queue_end(const Queue& queue);

// Returns the dispatch's number plus 1; 0: there is no board.
uint64_t note_dispatch(const Queue& queue, const DispatchPacket& packet);
void note_end(uint64_t number_plus_1, int64_t now_ns);  // by tick_ns()
// A barrier packet, as the program wrote it.
void note_barrier(const Queue& queue, const BarrierPacket& packet);
void note_consumed(const Queue& queue, uint64_t consumed);

struct Fault {
  wire::BoardFaultKind kind;
  int gpu;
  const Queue* queue;  // nullptr: unknown
  uint32_t status, reasons;
  uint64_t address;
  const char* text;
};
void note_fault(const Fault& fault);

// board_memory.cpp
// `key`: the pointer that it will be freed by.
void note_allocation(const void* key, const void* address, size_t bytes, int gpu,
                     wire::BoardMemory kind);
void note_free(const void* key);

// board_stack.cpp. The stacks of the calling thread, and of a blocked thread, given the registers
// that the kernel reports and its interpreter state, 0 if it has none. False: it could not be
// taken.
void take_stack(wire::BoardStack* stack);
bool take_stack_of(uint32_t tid, uint64_t pc, uint64_t stack_pointer, uint64_t python,
                   wire::BoardStack* stack);
// The stack of a thread that the board's reader has stopped.
bool take_stack_stopped(uint32_t tid, const wire::BoardRegisters& registers, uint64_t python,
                        wire::BoardStack* stack);
uint64_t python_of_this_thread();

// board_threads.cpp
// Whether a reader watches this board while the process runs, and may ask for its threads.
bool is_watched();
// Registers the calling thread as one of the program's.
void see_thread();
// Called by a thread of ours now and then: reports what all threads do, if the reader asked.
void tell_threads();

// board_log.cpp
void open_log(const char* path);
void log_code_object(uint64_t base, uint64_t bytes, int64_t delta, const char* uri);
uint32_t log_module(const struct sonde_module* module);  // its number
uint32_t log_code(const struct sonde_code* code);

// The mapped board; nullptr if this process has none.
wire::Board* board();
int64_t board_now_ns();

}  // namespace sonde::hsa
