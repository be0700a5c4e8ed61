#include "fault/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/host_name.h"
#include "base/join.h"
#include "fault/live.h"

namespace sonde::fault {

namespace {

using wire::BoardCollective;

constexpr size_t kNewest = 16;

// A rank's collectives on a communicator, by sequence number.
struct Rank {
  std::map<uint64_t, const RankCall*> calls;
  uint64_t newest = 0;  // a later send tells it, too, when the collective is no longer on the board
  const RankCall* any = nullptr;
  bool transfers = false;  // it sends or receives, too
};
using Ranks = std::map<int, Rank>;

bool is_whole(const wire::Board& board, const BoardCollective& call) {
  const auto place = static_cast<uint64_t>(&call - board.collectives);
  return call.number != 0 && (call.number - 1) % wire::kBoardCollectives == place &&
         call.group != 0 && call.ranks > 0 && call.rank >= 0 && call.rank < call.ranks;
}

bool is_collective(const RankCall& call) { return !wire::is_point_to_point(call.name.c_str()); }

Ranks ranks_of(uint64_t communicator, const std::vector<RankCall>& calls) {
  Ranks ranks;
  for (const RankCall& call : calls) {
    if (call.communicator != communicator) continue;
    Rank& rank = ranks[call.rank];
    rank.any = &call;
    rank.newest = std::max(rank.newest, call.sequence);
    if (is_collective(call)) {
      rank.calls[call.sequence] = &call;
    } else {
      rank.transfers = true;
    }
  }
  return ranks;
}

std::string call_text(const RankCall& call) {
  if (call.sequence == 0) return call.name;
  return fmt::format("{} of {} elements", call.name, call.count);
}

LateRank late_rank(int number, const Rank& rank, uint64_t sequence) {
  LateRank late;
  late.rank = number;
  late.pid = rank.any->pid;
  late.ended = rank.any->process_ended;
  late.transfers = rank.transfers;
  late.calls = std::min(sequence, rank.newest);
  const auto last = rank.calls.find(late.calls);
  if (last == rank.calls.end()) return late;
  late.call = call_text(*last->second);
  late.stack = last->second->stack;
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

// The first call that differs between the ranks that made it.
std::optional<uint64_t> first_difference(const Ranks& ranks) {
  std::map<uint64_t, const RankCall*> known;
  std::optional<uint64_t> found;
  for (const auto& [number, rank] : ranks) {
    for (const auto& [sequence, call] : rank.calls) {
      const auto [one, is_new] = known.try_emplace(sequence, call);
      if (is_new) continue;
      // Each rank sends as much as it has: by this call, ranks may differ.
      const bool is_uneven = call->name == "ncclAllToAllv";
      const bool same = call->name == one->second->name &&
                        (is_uneven || call->count == one->second->count) &&
                        call->type == one->second->type && call->root == one->second->root;
      if (!same && call->is_open && (!found || sequence < *found)) found = sequence;
    }
  }
  return found;
}

CollectiveWait wait_of(const Ranks& ranks, int size) {
  CollectiveWait wait;
  wait.ranks = size;
  uint64_t least = ~uint64_t{0}, most = 0;
  for (const auto& [number, rank] : ranks) {
    least = std::min(least, rank.newest);
    most = std::max(most, rank.newest);
  }
  if (const auto differs = first_difference(ranks)) {
    wait.sequence = *differs;
    wait.differs = true;
    for (const auto& [number, rank] : ranks) {
      wait.late.push_back(late_rank(number, rank, *differs));
    }
    return wait;
  }
  for (int number = 0; number < size; ++number) {
    if (ranks.count(number) == 0) wait.unknown.push_back(number);
  }
  wait.sequence = least < most ? least + 1 : most;
  for (const auto& [number, rank] : ranks) {
    if (rank.newest < wait.sequence) {
      wait.late.push_back(late_rank(number, rank, wait.sequence));
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

std::vector<RankCall> list_rank_calls(const wire::Board& own, const std::vector<const Board*>& all,
                                      const Namer& namer) {
  std::set<uint64_t> communicators;
  for (const BoardCollective& call : own.collectives) {
    if (is_whole(own, call)) communicators.insert(call.group);
  }
  std::vector<RankCall> calls;
  const std::string host = host_name();
  for (const Board* board : all) {
    // Of each rank, the newest collective and the oldest open one.
    std::map<std::pair<uint64_t, int>, std::pair<const BoardCollective*, const BoardCollective*>>
        shown;
    const wire::Board& state = *board->state;
    for (const BoardCollective& call : state.collectives) {
      if (!is_whole(state, call) || !communicators.contains(call.group)) continue;
      auto& [newest, oldest] = shown[{call.group, call.rank}];
      if (wire::is_point_to_point(call.name)) continue;
      if (newest == nullptr || call.sequence > newest->sequence) newest = &call;
      if (is_open(state, call) && (oldest == nullptr || call.sequence < oldest->sequence)) {
        oldest = &call;
      }
    }
    const bool ended = !shown.empty() && !board->path.empty() &&
                       LiveProcess(state, board->path).trouble() == ESRCH;
    for (const BoardCollective& call : state.collectives) {
      if (!is_whole(state, call) || !communicators.contains(call.group)) continue;
      RankCall made{call.group, call.ranks,           call.rank, host,       int64_t{state.pid},
                    ended,      call.sequence,        call.name, call.count, call.type,
                    call.root,  is_open(state, call), {}};
      const auto& [newest, oldest] = shown[{call.group, call.rank}];
      if (&call == newest || &call == oldest) {
        made.stack = name_stack(call.stack, *board, namer).frames;
      }
      calls.push_back(std::move(made));
    }
  }
  return calls;
}

std::vector<CollectiveWait> find_collective_waits(const std::vector<RankCall>& calls, int64_t pid) {
  std::set<uint64_t> own, open;
  for (const RankCall& call : calls) {
    if (!call.is_open) continue;
    if (pid == 0 || call.pid == pid) own.insert(call.communicator);
    if (is_collective(call)) open.insert(call.communicator);
  }
  std::vector<CollectiveWait> waits;
  for (const uint64_t communicator : own) {
    if (!open.contains(communicator)) continue;  // only sends and receives wait
    const Ranks ranks = ranks_of(communicator, calls);
    waits.push_back(wait_of(ranks, ranks.begin()->second.any->ranks));
  }
  return waits;
}

void keep_newest(std::vector<RankCall>& calls) {
  std::stable_sort(calls.begin(), calls.end(), [](const RankCall& a, const RankCall& b) {
    return std::tuple(a.communicator, a.rank, b.sequence) <
           std::tuple(b.communicator, b.rank, a.sequence);
  });
  // A send or receive tells only how many collectives its rank has made.
  std::map<std::tuple<uint64_t, int, bool>, size_t> kept;
  std::erase_if(calls, [&](const RankCall& call) {
    const bool counts = is_collective(call);
    const size_t most = counts ? kNewest : 1;
    return ++kept[{call.communicator, call.rank, counts}] > most && !call.is_open;
  });
}

std::string late_text(const LateRank& rank) {
  return fmt::format("rank {} (process {}{}) has made {} {} on it{}, the last was {}", rank.rank,
                     rank.pid, rank.ended ? ", which has ended" : "", rank.calls,
                     rank.calls == 1 ? "call" : "calls",
                     rank.transfers ? " besides sends and receives" : "",
                     rank.call.empty() ? "none that is known" : rank.call);
}

std::string collective_evidence(const CollectiveWait& wait) {
  if (wait.differs) return "calls of one communicator have to be the same in all ranks";
  return join(wait.late, "; ", [](const LateRank& rank) {
    const std::string where = first_line(rank.stack);
    return late_text(rank) + (where.empty() ? "" : " in " + where);
  });
}

std::string collective_text(const CollectiveWait& wait) {
  const std::string which =
      wait.sequence == 0
          ? fmt::format("which makes a communicator of {} ranks", wait.ranks)
          : fmt::format("call {} of a communicator of {} ranks", wait.sequence, wait.ranks);
  if (wait.differs) {
    return fmt::format("{} is not the same in all of them: {}", which,
                       join(wait.late, ", ", [](const LateRank& rank) {
                         return fmt::format("rank {} {}", rank.rank, rank.call);
                       }));
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
  return fmt::format("{} {} in {}, {}; nothing is known here about {}", ranks_text(wait.arrived),
                     wait.arrived.size() == 1 ? "is" : "are", call, which,
                     ranks_text(wait.unknown));
}

}  // namespace sonde::fault
