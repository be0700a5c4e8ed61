// Who has not come to a collective: from the boards of all ranks, each of which counts the calls of
// its communicators. Used by compose.cpp.
#pragma once

#include <string>
#include <vector>

#include "fault/board.h"
#include "fault/report.h"
#include "fault/stacks.h"

namespace sonde::fault {

// Of the communicators that the board's process is in: those where a call is not over.
std::vector<CollectiveWait> find_collective_waits(const wire::Board& own,
                                                  const std::vector<const Board*>& all,
                                                  const Namer& namer);

// "rank 2 has not called ncclAllReduce, call 5 of its communicator of 4 ranks, where ranks 0, 1 and
// 3 are".
std::string collective_text(const CollectiveWait& wait);

// Whether a call on the board is not over, as far as it can tell.
bool is_open(const wire::Board& board, const wire::BoardCollective& call);

}  // namespace sonde::fault
