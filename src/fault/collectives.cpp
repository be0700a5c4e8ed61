#include "fault/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace sonde::fault {

namespace {

using wire::BoardCollective;

// A rank's calls on a communicator, by their number.
struct Rank {
  const Board* board = nullptr;
  std::map<uint64_t, const BoardCollective*> calls;
  uint64_t newest() const { return calls.rbegin()->first; }
};
using Ranks = std::map<int, Rank>;

bool is_whole(const wire::Board& board, const BoardCollective& call) {
  const auto place = static_cast<uint64_t>(&call - board.collectives);
  return call.number != 0 && (call.number - 1) % wire::kBoardCollectives == place &&
         call.group != 0 && call.ranks > 0 && call.rank >= 0 && call.rank < call.ranks;
}

std::set<uint64_t> open_groups(const wire::Board& board) {
  std::set<uint64_t> groups;
  for (const BoardCollective& call : board.collectives) {
    if (is_whole(board, call) && is_open(board, call)) groups.insert(call.group);
  }
  return groups;
}

Ranks ranks_of(uint64_t group, const std::vector<const Board*>& all) {
  Ranks ranks;
  for (const Board* board : all) {
    for (const BoardCollective& call : board->state->collectives) {
      if (!is_whole(*board->state, call) || call.group != group) continue;
      Rank& rank = ranks[call.rank];
      rank.board = board;
      rank.calls[call.sequence] = &call;
    }
  }
  return ranks;
}

std::string call_text(const BoardCollective& call) {
  if (call.sequence == 0) return call.name;
  return fmt::format("{} of {} elements", call.name, call.count);
}

LateRank late_rank(int number, const Rank& rank, uint64_t sequence, const Namer& namer) {
  LateRank late;
  late.rank = number;
  late.pid = rank.board->state->pid;
  const auto last = rank.calls.find(std::min(sequence, rank.newest()));
  if (last == rank.calls.end()) return late;
  late.calls = last->first;
  late.call = call_text(*last->second);
  late.stack = name_stack(last->second->stack, *rank.board, namer).frames;
  return late;
}

// "rank 2", "ranks 0, 1 and 3".
std::string ranks_text(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ", ranks[i]);
  }
  return text;
}

// The first call that is not the same in all ranks that made it.
std::optional<uint64_t> first_difference(const Ranks& ranks) {
  std::map<uint64_t, const BoardCollective*> known;
  std::optional<uint64_t> found;
  for (const auto& [number, rank] : ranks) {
    for (const auto& [sequence, call] : rank.calls) {
      const auto [one, is_new] = known.try_emplace(sequence, call);
      // Point-to-point calls differ by their nature.
      const std::string name = call->name;
      if (is_new || name == "ncclSend" || name == "ncclRecv") continue;
      const bool same = name == one->second->name && call->count == one->second->count &&
                        call->type == one->second->type && call->root == one->second->root;
      if (!same && is_open(*rank.board->state, *call) && (!found || sequence < *found)) {
        found = sequence;
      }
    }
  }
  return found;
}

CollectiveWait wait_of(const Ranks& ranks, int size, const Namer& namer) {
  CollectiveWait wait;
  wait.ranks = size;
  uint64_t least = ~uint64_t{0}, most = 0;
  for (const auto& [number, rank] : ranks) {
    least = std::min(least, rank.newest());
    most = std::max(most, rank.newest());
  }
  if (const auto differs = first_difference(ranks)) {
    wait.sequence = *differs;
    wait.differs = true;
    for (const auto& [number, rank] : ranks) {
      wait.late.push_back(late_rank(number, rank, *differs, namer));
    }
    return wait;
  }
  for (int number = 0; number < size; ++number) {
    if (ranks.count(number) == 0) wait.unknown.push_back(number);
  }
  wait.sequence = least < most ? least + 1 : most;
  for (const auto& [number, rank] : ranks) {
    if (rank.newest() < wait.sequence) {
      wait.late.push_back(late_rank(number, rank, wait.sequence, namer));
      continue;
    }
    wait.arrived.push_back(number);
    const auto call = rank.calls.find(wait.sequence);
    if (call != rank.calls.end() && wait.call.empty()) wait.call = call->second->name;
  }
  return wait;
}

}  // namespace

bool is_open(const wire::Board& board, const BoardCollective& call) {
  if (call.returned_ns == 0) return true;
  for (uint64_t number = call.first_dispatch; number < call.dispatches; ++number) {
    const uint64_t place = number % wire::kBoardDispatches;
    if (board.dispatches[place].number == number + 1 && wire::ended_ns(board, place) == 0) {
      return true;
    }
  }
  return false;
}

std::vector<CollectiveWait> find_collective_waits(const wire::Board& own,
                                                  const std::vector<const Board*>& all,
                                                  const Namer& namer) {
  std::vector<CollectiveWait> waits;
  for (const uint64_t group : open_groups(own)) {
    const Ranks ranks = ranks_of(group, all);
    if (ranks.empty()) continue;
    const int size = ranks.begin()->second.calls.begin()->second->ranks;
    waits.push_back(wait_of(ranks, size, namer));
  }
  return waits;
}

std::string collective_text(const CollectiveWait& wait) {
  const std::string which =
      fmt::format("call {} of a communicator of {} ranks", wait.sequence, wait.ranks);
  if (wait.differs) {
    std::string ranks;
    for (const LateRank& rank : wait.late) {
      ranks += fmt::format("{}rank {} {}", ranks.empty() ? "" : ", ", rank.rank, rank.call);
    }
    return fmt::format("{} is not the same in all of them: {}", which, ranks);
  }
  std::vector<int> missing;
  for (const LateRank& rank : wait.late) missing.push_back(rank.rank);
  const std::string call = wait.call.empty() ? "a collective" : wait.call;
  if (!missing.empty()) {
    return fmt::format("{} {} not called {}, {}, where {} {}", ranks_text(missing),
                       missing.size() == 1 ? "has" : "have", call, which, ranks_text(wait.arrived),
                       wait.arrived.size() == 1 ? "waits" : "wait");
  }
  if (wait.unknown.empty()) return fmt::format("all ranks are in {}, {}", call, which);
  return fmt::format("{} {} in {}, {}; of {} nothing is known here", ranks_text(wait.arrived),
                     wait.arrived.size() == 1 ? "is" : "are", call, which,
                     ranks_text(wait.unknown));
}

}  // namespace sonde::fault
