// Notes calls into RCCL on the board, so that a reader of all ranks' boards sees which rank is
// missing, and knows which communicators of other processes are the same as one's own. Used by
// rccl/.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace sonde::hsa {

// A communicator of this process. `group`: the same number in all ranks.
void note_communicator(const void* communicator, uint64_t group, int rank, int ranks);

struct Group {
  uint64_t id;  // the same number in all ranks; 0: not known
  int ranks;
};
Group group_of(const void* communicator);

// Notes that a communicator is split.
struct Split {
  uint64_t group;   // of the communicator; 0: not known
  uint64_t number;  // of its splits, from 1, which all ranks make in the same order
};
Split note_split(const void* communicator);

// A call that creates a communicator, in which all ranks must take part. Returns the same as the
// next.
uint64_t note_joining(const char* name, uint64_t group, int rank, int ranks);

// A collective, a send or a receive. Returns the call's number plus 1; 0: it is not on the board,
// because the communicator is unknown.
uint64_t note_collective(const void* communicator, const char* name, uint64_t count, int type,
                         int root);
void note_collective_returned(uint64_t number_plus_1);

}  // namespace sonde::hsa
