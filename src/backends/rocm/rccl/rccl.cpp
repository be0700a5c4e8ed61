// RCCL's collectives and transfers, with the communicator, the bytes that each rank contributes,
// and what tells which communicators of other ranks are the same. Intercepted through RCCL's table,
// if there is one, and by functions of the same names, for which this library is preloaded: a call
// that arrives both ways is recorded once.
#include "backends/rocm/rccl/rccl.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/rocm/connection.h"
#include "backends/rocm/entered.h"
#include "backends/rocm/hsa/board_collectives.h"
#include "base/errno_keeper.h"
#include "base/loaded_function.h"

namespace sonde::rocm {
namespace {

// Size of an element, by ncclDataType_t.
uint64_t element_bytes(int type) {
  constexpr uint8_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && type < static_cast<int>(sizeof kBytes) ? kBytes[type] : 0;
}

enum Way : uint32_t { kByTable, kByName, kWays };

// In table order. Other functions of the table are not replaced.
enum Id : uint32_t {
#define X(id, parameters, arguments, ...) k##id,
#include "backends/rocm/rccl/functions.inc"
#undef X
  kBcast,  // in place; not in the table
  kIds
};

constexpr const char* kNames[] = {
#define X(id, parameters, arguments, ...) "nccl" #id,
#include "backends/rocm/rccl/functions.inc"
#undef X
    "ncclBcast"};

constexpr uint32_t kGroupStart = 13, kGroupEnd = 14, kCommCount = 27, kUserRank = 29;
// Calls that make communicators.
constexpr uint32_t kInitRank = 17, kInitAll = 18, kInitRankConfig = 19, kSplit = 23;
constexpr uint32_t kFunctions = 30;
// `group`: the same number in all ranks of the communicator.
constexpr const char* kArguments =
    "sendbuff:p recvbuff:p count:u datatype:d op:d root:d comm:p group:p ranks:d stream:p bytes:u";
constexpr int kInvalidUsage = 5;  // ncclInvalidUsage

void* g_next[kWays][kFunctions];
uint32_t g_defined[kFunctions];
constinit thread_local Entered t_entered;

const char* name_of(uint32_t id) {
  if (id < kIds) return kNames[id];
  if (id == kCommCount) return "ncclCommCount";
  if (id == kUserRank) return "ncclCommUserRank";
  if (id == kInitRank) return "ncclCommInitRank";
  if (id == kInitAll) return "ncclCommInitAll";
  if (id == kInitRankConfig) return "ncclCommInitRankConfig";
  if (id == kSplit) return "ncclCommSplit";
  return id == kGroupStart ? "ncclGroupStart" : "ncclGroupEnd";
}

// Whether calls are recorded. Finds the agent and defines the functions the first time.
bool watching() {
  static const bool watched = [] {
    if (!wanted("hip") || !connect()) return false;
    for (uint32_t id = 0; id < kIds; ++id) {
      g_defined[id] = agent().define_function("rccl", "collective", kNames[id], kArguments);
    }
    g_defined[kGroupStart] = agent().define_function("rccl", "collective", "ncclGroupStart", "");
    g_defined[kGroupEnd] = agent().define_function("rccl", "collective", "ncclGroupEnd", "");
    return true;
  }();
  return watched && recording();
}

struct Collective {
  const void* send;
  void* recv;
  size_t count;
  int type, op, root;
  void* comm;
  void* stream;
};

template <typename... A>
int call_next(Way way, uint32_t id, A... values) {
  int (*next)(A...);
  void* symbol = __atomic_load_n(&g_next[way][id], __ATOMIC_ACQUIRE);
  if (symbol == nullptr) return kInvalidUsage;  // no RCCL in this process
  memcpy(&next, &symbol, sizeof next);
  const void* frame = this_frame();
  if (t_entered.nested(frame)) return next(values...);
  t_entered.enter(frame);
  const int result = next(values...);
  t_entered.leave();
  return result;
}

int ranks_of(Way way, void* comm) {
  const ErrnoKeeper keep;
  int ranks = 0;
  return comm != nullptr && call_next(way, kCommCount, comm, &ranks) == 0 ? ranks : 0;
}

// Of a communicator that was made before this library saw it, or as it does not see, only RCCL
// knows the number of ranks.
hsa::Group group_of(Way way, void* comm) {
  const hsa::Group group = hsa::group_of(comm);
  return group.id != 0 ? group : hsa::Group{0, ranks_of(way, comm)};
}

template <typename... A>
int record(Way way, uint32_t id, const Collective& what, A... values) {
  if (t_entered.nested(this_frame()) || !watching()) return call_next(way, id, values...);
  const hsa::Group group = group_of(way, what.comm);
  const struct sonde_call call = agent().call_begin(g_defined[id], SONDE_CALL_LAUNCHES);
  const uint64_t noted =
      hsa::note_collective(what.comm, name_of(id), what.count, what.type, what.root);
  const int result = call_next(way, id, values...);
  const ErrnoKeeper keep;
  hsa::note_collective_returned(noted);
  const uint64_t words[] = {word(what.send),
                            word(what.recv),
                            what.count,
                            static_cast<uint64_t>(int64_t{what.type}),
                            static_cast<uint64_t>(int64_t{what.op}),
                            static_cast<uint64_t>(int64_t{what.root}),
                            word(what.comm),
                            group.id,
                            static_cast<uint64_t>(int64_t{group.ranks}),
                            word(what.stream),
                            what.count * element_bytes(what.type)};
  agent().call_end(&call, result, words, sizeof words / sizeof words[0]);
  return result;
}

// Only the communicator knows the number of counts.
size_t sum(Way way, const size_t* counts, void* comm) {
  if (counts == nullptr || !watching()) return 0;
  const int ranks = ranks_of(way, comm);
  size_t all = 0;
  for (int i = 0; i < ranks; ++i) all += counts[i];
  return all;
}

using Bytes = const void*;
#define UNPACKED(...) __VA_ARGS__
#define X(id, parameters, arguments, ...)                     \
  template <Way W>                                            \
  int call_##id parameters {                                  \
    return record(W, k##id, __VA_ARGS__, UNPACKED arguments); \
  }
#include "backends/rocm/rccl/functions.inc"
#undef X

// ---- communicators ----

struct UniqueId {
  char bytes[128];  // ncclUniqueId
};

// FNV-1a: gives all ranks the same number.
uint64_t hash_of(const void* data, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < bytes; ++i) {
    hash = (hash ^ static_cast<const uint8_t*>(data)[i]) * 0x100000001b3;
  }
  return hash;
}

template <Way W, uint32_t Id, typename... Config>
int init_rank(void** comm, int ranks, UniqueId id, int rank, Config... config) {
  // This call, too, waits for the other ranks and so may hang.
  const uint64_t group = hash_of(id.bytes, sizeof id.bytes);
  const uint64_t noted = hsa::note_joining(name_of(Id), group, rank, ranks);
  const int result = call_next(W, Id, comm, ranks, id, rank, config...);
  const ErrnoKeeper keep;
  hsa::note_collective_returned(noted);
  if (result == 0 && comm != nullptr) hsa::note_communicator(*comm, group, rank, ranks);
  return result;
}

// All ranks are in this process.
template <Way W>
int init_all(void** comms, int ranks, const int* devices) {
  const int result = call_next(W, kInitAll, comms, ranks, devices);
  if (result != 0 || comms == nullptr) return result;
  const ErrnoKeeper keep;
  // Another process may have the same pointers.
  const uint64_t group =
      hash_of(comms, sizeof *comms * static_cast<size_t>(ranks)) ^ static_cast<uint64_t>(getpid());
  for (int i = 0; i < ranks; ++i) {
    hsa::note_collective_returned(hsa::note_joining(name_of(kInitAll), group, i, ranks));
    hsa::note_communicator(comms[i], group, i, ranks);
  }
  return result;
}

// The ranks that give the same colour make a communicator.
template <Way W>
int split(void* parent, int color, int key, void** comm, void* config) {
  const bool is_nested = t_entered.nested(this_frame());
  const int result = call_next(W, kSplit, parent, color, key, comm, config);
  if (is_nested) return result;
  const ErrnoKeeper keep;
  const hsa::Split of = hsa::note_split(parent);  // also where this rank is in no part
  if (of.group == 0 || result != 0 || comm == nullptr || *comm == nullptr) return result;
  int rank = 0;
  const int ranks = ranks_of(W, *comm);
  if (ranks == 0 || call_next(W, kUserRank, *comm, &rank) != 0) return result;
  const uint64_t part[] = {of.group, of.number, static_cast<uint64_t>(int64_t{color})};
  hsa::note_communicator(*comm, hash_of(part, sizeof part), rank, ranks);
  return result;
}

template <Way W, uint32_t Id>
int group() {
  if (t_entered.nested(this_frame()) || !watching()) return call_next(W, Id);
  const struct sonde_call call = agent().call_begin(g_defined[Id], SONDE_CALL_LAUNCHES);
  const int result = call_next(W, Id);
  const ErrnoKeeper keep;
  agent().call_end(&call, result, nullptr, 0);
  return result;
}

template <typename Function>
void put(void** functions, size_t entries, uint32_t id, Function* function) {
  if (id >= entries || functions[id] == nullptr) return;
  void* ours = reinterpret_cast<void*>(function);
  if (functions[id] == ours) return;
  g_next[kByTable][id] = functions[id];
  functions[id] = ours;
}

// Called before a call by name: finds the next function.
void find(uint32_t id, const void* caller) {
  if (__atomic_load_n(&g_next[kByName][id], __ATOMIC_ACQUIRE) != nullptr) return;
  const ErrnoKeeper keep;
  __atomic_store_n(&g_next[kByName][id], find_loaded_function(name_of(id), g_next, caller),
                   __ATOMIC_RELEASE);
}

}  // namespace

void take_rccl_table(void* table) {
  const size_t entries = entries_of(table);
  void** functions = static_cast<void**>(table) + 1;
  const auto take = [&](uint32_t id, auto* function) { put(functions, entries, id, function); };
  constexpr uint32_t kAsked[] = {kCommCount, kUserRank};
  for (const uint32_t id : kAsked) {
    if (id < entries) g_next[kByTable][id] = functions[id];
  }
  take(kInitRank, init_rank<kByTable, kInitRank>);
  take(kInitAll, init_all<kByTable>);
  take(kInitRankConfig, init_rank<kByTable, kInitRankConfig, void*>);
  take(kSplit, split<kByTable>);
#define X(id, parameters, arguments, ...) take(k##id, call_##id<kByTable>);
#include "backends/rocm/rccl/functions.inc"
#undef X
  take(kGroupStart, group<kByTable, kGroupStart>);
  take(kGroupEnd, group<kByTable, kGroupEnd>);
}

}  // namespace sonde::rocm

using namespace sonde::rocm;

#define EXPORT extern "C" __attribute__((visibility("default")))
#define FIND(id) find(id, __builtin_return_address(0))

#define X(id, parameters, arguments, ...) \
  EXPORT int nccl##id parameters {        \
    FIND(k##id);                          \
    FIND(kCommCount);                     \
    return call_##id<kByName> arguments;  \
  }
#include "backends/rocm/rccl/functions.inc"
#undef X

#define GROUP(id)                   \
  EXPORT int nccl##id() {           \
    FIND(k##id);                    \
    return group<kByName, k##id>(); \
  }

GROUP(GroupStart)
GROUP(GroupEnd)

EXPORT int ncclBcast(void* memory, size_t count, int type, int root, void* comm, void* stream) {
  FIND(kBcast);
  FIND(kCommCount);
  return record(kByName, kBcast, {memory, memory, count, type, -1, root, comm, stream}, memory,
                count, type, root, comm, stream);
}
EXPORT int ncclCommInitRank(void** comm, int ranks, UniqueId id, int rank) {
  FIND(kInitRank);
  return init_rank<kByName, kInitRank>(comm, ranks, id, rank);
}
EXPORT int ncclCommInitRankConfig(void** comm, int ranks, UniqueId id, int rank, void* config) {
  FIND(kInitRankConfig);
  return init_rank<kByName, kInitRankConfig>(comm, ranks, id, rank, config);
}
EXPORT int ncclCommInitAll(void** comms, int ranks, const int* devices) {
  FIND(kInitAll);
  return init_all<kByName>(comms, ranks, devices);
}
EXPORT int ncclCommSplit(void* parent, int color, int key, void** comm, void* config) {
  FIND(kSplit);
  FIND(kCommCount);
  FIND(kUserRank);
  return split<kByName>(parent, color, key, comm, config);
}
