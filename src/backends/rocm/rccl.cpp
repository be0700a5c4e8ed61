// Collectives and transfers of RCCL, with the communicator and how many bytes each rank gives.
#include "backends/rocm/rccl.h"

#include <string.h>

#include "backends/rocm/connection.h"
#include "base/errno_keeper.h"

namespace sonde::rocm {
namespace {

// Bytes of an element, by ncclDataType_t.
uint64_t element_bytes(int type) {
  constexpr uint8_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && type < static_cast<int>(sizeof kBytes) ? kBytes[type] : 0;
}

// In the order of the table. The others of its functions are left alone.
enum Id : uint32_t {
  kAllGather,
  kAllReduce,
  kAllToAll,
  kAllToAllv,
  kBroadcast,
  kGather,
  kReduce,
  kReduceScatter,
  kScatter,
  kSend,
  kRecv,
  kIds
};
constexpr const char* kNames[] = {"ncclAllGather", "ncclAllReduce",     "ncclAllToAll",
                                  "ncclAllToAllv", "ncclBroadcast",     "ncclGather",
                                  "ncclReduce",    "ncclReduceScatter", "ncclScatter",
                                  "ncclSend",      "ncclRecv"};
static_assert(sizeof kNames / sizeof kNames[0] == kIds);
constexpr uint32_t kGroupStart = 13, kGroupEnd = 14;
constexpr const char* kArguments =
    "sendbuff:p recvbuff:p count:u datatype:d op:d root:d comm:p stream:p bytes:u";

void* g_next[kGroupEnd + 1];
uint32_t g_defined[kGroupEnd + 1];
thread_local uint32_t t_depth;  // RCCL may be made of itself

struct Collective {
  const void* send;
  void* recv;
  size_t count;
  int type, op, root;
  void* comm;
  void* stream;
};

template <typename... A>
int call_next(uint32_t id, A... values) {
  int (*next)(A...);
  memcpy(&next, &g_next[id], sizeof next);
  ++t_depth;
  const int result = next(values...);
  --t_depth;
  return result;
}

template <typename... A>
int record(uint32_t id, const Collective& what, A... values) {
  if (t_depth != 0 || !recording()) return call_next(id, values...);
  // What HIP is called for on the way is the program's doing as little as it is seen now.
  const struct sonde_call call = agent().call_begin(g_defined[id], SONDE_CALL_LAUNCHES);
  const int result = call_next(id, values...);
  const ErrnoKeeper keep;
  const uint64_t words[] = {word(what.send),
                            word(what.recv),
                            what.count,
                            static_cast<uint64_t>(int64_t{what.type}),
                            static_cast<uint64_t>(int64_t{what.op}),
                            static_cast<uint64_t>(int64_t{what.root}),
                            word(what.comm),
                            word(what.stream),
                            what.count * element_bytes(what.type)};
  agent().call_end(&call, result, words, sizeof words / sizeof words[0]);
  return result;
}

using Bytes = const void*;

template <uint32_t Id>  // AllGather, AllToAll
int plain(Bytes send, void* recv, size_t count, int type, void* comm, void* stream) {
  return record(Id, {send, recv, count, type, -1, -1, comm, stream}, send, recv, count, type, comm,
                stream);
}
template <uint32_t Id>  // AllReduce, ReduceScatter
int reducing(Bytes send, void* recv, size_t count, int type, int op, void* comm, void* stream) {
  return record(Id, {send, recv, count, type, op, -1, comm, stream}, send, recv, count, type, op,
                comm, stream);
}
template <uint32_t Id>  // Broadcast, Gather, Scatter
int rooted(Bytes send, void* recv, size_t count, int type, int root, void* comm, void* stream) {
  return record(Id, {send, recv, count, type, -1, root, comm, stream}, send, recv, count, type,
                root, comm, stream);
}
int reduce(Bytes send, void* recv, size_t count, int type, int op, int root, void* comm,
           void* stream) {
  return record(kReduce, {send, recv, count, type, op, root, comm, stream}, send, recv, count, type,
                op, root, comm, stream);
}
int all_to_all_v(Bytes send, const size_t* send_counts, const size_t* send_places, void* recv,
                 const size_t* recv_counts, const size_t* recv_places, int type, void* comm,
                 void* stream) {
  // How many ranks there are, and so counts, only the communicator knows.
  return record(kAllToAllv, {send, recv, 0, type, -1, -1, comm, stream}, send, send_counts,
                send_places, recv, recv_counts, recv_places, type, comm, stream);
}
int send_to(Bytes send, size_t count, int type, int peer, void* comm, void* stream) {
  return record(kSend, {send, nullptr, count, type, -1, peer, comm, stream}, send, count, type,
                peer, comm, stream);
}
int receive_from(void* recv, size_t count, int type, int peer, void* comm, void* stream) {
  return record(kRecv, {nullptr, recv, count, type, -1, peer, comm, stream}, recv, count, type,
                peer, comm, stream);
}

template <uint32_t Id>
int group() {
  if (t_depth != 0 || !recording()) return call_next(Id);
  const struct sonde_call call = agent().call_begin(g_defined[Id], SONDE_CALL_LAUNCHES);
  const int result = call_next(Id);
  agent().call_end(&call, result, nullptr, 0);
  return result;
}

template <typename Function>
void put(void** functions, size_t entries, uint32_t id, const char* name, const char* arguments,
         Function* function) {
  if (id >= entries || functions[id] == nullptr) return;
  void* ours = reinterpret_cast<void*>(function);
  if (functions[id] == ours) return;
  g_defined[id] = agent().define_function("rccl", "collective", name, arguments);
  g_next[id] = functions[id];
  functions[id] = ours;
}

}  // namespace

void take_rccl_table(void* table) {
  size_t bytes = 0;
  memcpy(&bytes, table, sizeof bytes);
  const size_t entries = bytes / sizeof(void*) - 1;
  void** functions = static_cast<void**>(table) + 1;
  const auto collective = [&](uint32_t id, auto* function) {
    put(functions, entries, id, kNames[id], kArguments, function);
  };
  collective(kAllGather, plain<kAllGather>);
  collective(kAllReduce, reducing<kAllReduce>);
  collective(kAllToAll, plain<kAllToAll>);
  collective(kAllToAllv, all_to_all_v);
  collective(kBroadcast, rooted<kBroadcast>);
  collective(kGather, rooted<kGather>);
  collective(kReduce, reduce);
  collective(kReduceScatter, reducing<kReduceScatter>);
  collective(kScatter, rooted<kScatter>);
  collective(kSend, send_to);
  collective(kRecv, receive_from);
  put(functions, entries, kGroupStart, "ncclGroupStart", "", group<kGroupStart>);
  put(functions, entries, kGroupEnd, "ncclGroupEnd", "", group<kGroupEnd>);
}

}  // namespace sonde::rocm
