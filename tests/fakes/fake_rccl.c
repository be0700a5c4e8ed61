// librccl.so.1 as far as Sonde sees it: says what it is called with. ncclAllToAll is made of other
// functions of the library, as RCCL's is.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

struct Communicator {
  int ranks, rank;
};
struct UniqueId {
  char bytes[128];
};

static int make(void** comm, int ranks, int rank) {
  struct Communicator* made = malloc(sizeof *made);
  if (made == NULL) return 1;
  made->ranks = ranks;
  made->rank = rank;
  *comm = made;
  return 0;
}

EXPORT int ncclGroupStart(void) { return 0; }
EXPORT int ncclGroupEnd(void) { return 0; }
EXPORT int ncclCommInitAll(void** comm, int devices, const int* list) {
  static struct Communicator communicator;
  (void)list;
  communicator.ranks = devices;
  *comm = &communicator;
  return 0;
}
EXPORT int ncclCommInitRank(void** comm, int ranks, struct UniqueId id, int rank) {
  (void)id;
  return make(comm, ranks, rank);
}
// Parts have two ranks here.
EXPORT int ncclCommSplit(void* parent, int color, int key, void** comm, void* config) {
  (void)parent, (void)config;
  *comm = NULL;
  return color < 0 ? 0 : make(comm, 2, key);
}
EXPORT int ncclCommCount(void* comm, int* count) {
  *count = ((struct Communicator*)comm)->ranks;
  return 0;
}
EXPORT int ncclCommUserRank(void* comm, int* rank) {
  *rank = ((struct Communicator*)comm)->rank;
  return 0;
}
EXPORT int ncclSend(const void* send, size_t count, int type, int peer, void* comm, void* stream) {
  (void)comm;
  printf("send %p %zu %d %d %p\n", send, count, type, peer, stream);
  return count > 1000000 ? 5 : 0;
}
EXPORT int ncclRecv(void* recv, size_t count, int type, int peer, void* comm, void* stream) {
  (void)comm;
  printf("recv %p %zu %d %d %p\n", recv, count, type, peer, stream);
  return 0;
}
#define PLAIN(name)                                                                 \
  EXPORT int name(const void* send, void* recv, size_t count, int type, void* comm, \
                  void* stream) {                                                   \
    (void)comm;                                                                     \
    printf("%s %p %p %zu %d %p\n", #name, send, recv, count, type, stream);         \
    return 0;                                                                       \
  }
#define WITH_ONE_MORE(name)                                                                   \
  EXPORT int name(const void* send, void* recv, size_t count, int type, int more, void* comm, \
                  void* stream) {                                                             \
    (void)comm;                                                                               \
    printf("%s %p %p %zu %d %d %p\n", #name, send, recv, count, type, more, stream);          \
    return 0;                                                                                 \
  }
PLAIN(ncclAllGather)
WITH_ONE_MORE(ncclAllReduce)
WITH_ONE_MORE(ncclReduceScatter)
WITH_ONE_MORE(ncclBroadcast)
WITH_ONE_MORE(ncclGather)
WITH_ONE_MORE(ncclScatter)
EXPORT int ncclBcast(void* memory, size_t count, int type, int root, void* comm, void* stream) {
  return ncclBroadcast(memory, memory, count, type, root, comm, stream);
}
EXPORT int ncclReduce(const void* send, void* recv, size_t count, int type, int op, int root,
                      void* comm, void* stream) {
  (void)comm;
  printf("ncclReduce %p %p %zu %d %d %d %p\n", send, recv, count, type, op, root, stream);
  return 0;
}
EXPORT int ncclAllToAll(const void* send, void* recv, size_t count, int type, void* comm,
                        void* stream) {
  ncclGroupStart();
  for (int peer = 0; peer < ((struct Communicator*)comm)->ranks; ++peer) {
    ncclSend(send, count, type, peer, comm, stream);
    ncclRecv(recv, count, type, peer, comm, stream);
  }
  return ncclGroupEnd();
}
EXPORT int ncclAllToAllv(const void* send, const size_t* counts, const size_t* places, void* recv,
                         const size_t* recv_counts, const size_t* recv_places, int type, void* comm,
                         void* stream) {
  (void)comm;
  printf("ncclAllToAllv %p %zu %zu %p %zu %zu %d %p\n", send, counts[0], places[0], recv,
         recv_counts[0], recv_places[0], type, stream);
  return 0;
}
