// Calls into RCCL on the board, so that a reader of the boards of all ranks sees who has not come.
// Used by rccl/.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace sonde::hsa {

// A communicator of this process. `group`: the same number in all its ranks.
void note_communicator(const void* communicator, uint64_t group, int rank, int ranks);

// A call that makes a communicator, which the other ranks have to make as well. As the next.
uint64_t note_joining(const char* name, uint64_t group, int rank, int ranks);

// The number of the call, plus 1; 0: it is not on the board. Of communicators that nobody told of,
// nothing is.
uint64_t note_collective(const void* communicator, const char* name, uint64_t count, int type,
                         int root);
void note_collective_returned(uint64_t number_plus_1);

}  // namespace sonde::hsa
