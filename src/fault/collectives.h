// Who has not come to a collective: from the calls of all ranks, each of which counts those on its
// communicators. Of boards, used by compose.cpp; of reports that are kept, by sonde debug.
#pragma once

#include <string>
#include <vector>

#include "fault/board.h"
#include "fault/report.h"
#include "fault/stacks.h"

namespace sonde::fault {

// The calls of all ranks on the communicators that the process of `own` is in.
std::vector<RankCall> list_rank_calls(const wire::Board& own, const std::vector<const Board*>& all,
                                      const Namer& namer);

// Of the communicators where a call of this process is not over; 0: of any.
std::vector<CollectiveWait> find_collective_waits(const std::vector<RankCall>& calls, int64_t pid);

// Only the newest of each rank: what later ones are compared with.
void keep_newest(std::vector<RankCall>& calls);

// "rank 2 has not called ncclAllReduce, call 5 of its communicator of 4 ranks, where ranks 0, 1 and
// 3 are".
std::string collective_text(const CollectiveWait& wait);

// "rank 2 (process 4711, which has ended) has made 4 calls on it, the last was ncclAllGather of 8
// elements".
std::string late_text(const LateRank& rank);

// What speaks for it, and where the ranks are that have not come.
std::string collective_evidence(const CollectiveWait& wait);

// Whether a call on the board is not over, as far as it can tell.
bool is_open(const wire::Board& board, const wire::BoardCollective& call);

}  // namespace sonde::fault
