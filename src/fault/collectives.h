// Finds the ranks that are missing in a collective, from the calls of all ranks, which number their
// collectives on each communicator. compose.cpp passes boards, sonde debug stored reports.
#pragma once

#include <string>
#include <vector>

#include "fault/board.h"
#include "fault/report.h"
#include "fault/stacks.h"

namespace sonde::fault {

// The calls of all ranks on the communicators of process `own`.
std::vector<RankCall> list_rank_calls(const wire::Board& own, const std::vector<const Board*>& all,
                                      const Namer& namer);

// Waits on communicators on which this process has an open call; 0: on any.
std::vector<CollectiveWait> find_collective_waits(const std::vector<RankCall>& calls, int64_t pid);

// Keeps only each rank's newest call, with which later reports are compared.
void keep_newest(std::vector<RankCall>& calls);

// "rank 2 has not called ncclAllReduce, call 5 of its communicator of 4 ranks, where ranks 0, 1 and
// 3 are".
std::string collective_text(const CollectiveWait& wait);

// "rank 2 (process 4711, which has ended) has made 4 calls on it, the last was ncclAllGather of 8
// elements".
std::string late_text(const LateRank& rank);

// The evidence, and where the missing ranks are.
std::string collective_evidence(const CollectiveWait& wait);

// Whether a call is still open, as far as the board shows.
bool is_open(const wire::Board& board, const wire::BoardCollective& call);

}  // namespace sonde::fault
