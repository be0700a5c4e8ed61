// A program that calls RCCL's functions by their names, and the same as a library (use_rccl), which
// another program loads for itself alone. Prints how often it called.
//   rccl_client RANK  is one of four ranks in pairs instead, and reduces in all its communicators
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct UniqueId {
  char bytes[128];
};
int ncclCommInitRank(void** comm, int ranks, struct UniqueId id, int rank);
int ncclCommSplit(void* parent, int color, int key, void** comm, void* config);
int ncclCommInitAll(void** comm, int devices, const int* list);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclSend(const void*, size_t, int, int, void*, void*);
int ncclRecv(void*, size_t, int, int, void*, void*);
int ncclAllGather(const void*, void*, size_t, int, void*, void*);
int ncclAllToAll(const void*, void*, size_t, int, void*, void*);
int ncclAllReduce(const void*, void*, size_t, int, int, void*, void*);
int ncclReduceScatter(const void*, void*, size_t, int, int, void*, void*);
int ncclBroadcast(const void*, void*, size_t, int, int, void*, void*);
int ncclBcast(void*, size_t, int, int, void*, void*);
int ncclGather(const void*, void*, size_t, int, int, void*, void*);
int ncclScatter(const void*, void*, size_t, int, int, void*, void*);
int ncclReduce(const void*, void*, size_t, int, int, int, void*, void*);
int ncclAllToAllv(const void*, const size_t*, const size_t*, void*, const size_t*, const size_t*,
                  int, void*, void*);

__attribute__((visibility("default"))) int use_rccl(void) {
  void *comm, *stream = (void*)0x55, *recv = (void*)0x200;
  const void* send = (const void*)0x100;
  const size_t counts[] = {10, 20, 30}, places[] = {0, 10, 30};
  int failed = ncclCommInitAll(&comm, 3, NULL);
  failed += ncclGroupStart();
  failed += ncclAllGather(send, recv, 1, 7, comm, stream);
  failed += ncclAllReduce(send, recv, 2, 7, 1, comm, stream);
  failed += ncclAllToAll(send, recv, 3, 8, comm, stream);
  failed += ncclAllToAllv(send, counts, places, recv, counts, places, 6, comm, stream);
  failed += ncclBroadcast(send, recv, 4, 0, 2, comm, stream);
  failed += ncclBcast(recv, 5, 1, 1, comm, stream);
  failed += ncclGather(send, recv, 5, 4, 2, comm, stream);
  failed += ncclReduce(send, recv, 6, 9, 3, 1, comm, stream);
  failed += ncclReduceScatter(send, recv, 7, 2, 0, comm, stream);
  failed += ncclScatter(send, recv, 8, 1, 0, comm, stream);
  failed += ncclRecv(recv, 9, 5, 1, comm, stream);
  failed += ncclGroupEnd();
  if (failed != 0) return failed;
  const int result = ncclSend(send, 2000000, 7, 2, comm, stream);  // which the fake refuses
  printf("{\"calls\": 14, \"result\": %d}\n", result);
  return 0;
}

static int be_rank(int rank) {
  const struct UniqueId of_all = {"all"};
  struct UniqueId of_pair = {"pair"};
  of_pair.bytes[4] = (char)('0' + rank / 2);
  void* comms[4];
  int failed = ncclCommInitRank(&comms[0], 4, of_all, rank);
  failed += ncclCommInitRank(&comms[1], 2, of_pair, rank % 2);
  failed += ncclCommSplit(comms[0], rank < 2 ? -1 : 0, rank % 2, &comms[2], NULL);
  failed += ncclCommSplit(comms[0], rank % 2, rank / 2, &comms[3], NULL);
  for (int i = 0; i < 4 && failed == 0; ++i) {
    if (comms[i] != NULL) failed += ncclAllReduce(NULL, NULL, 1, 7, 0, comms[i], NULL);
  }
  return failed;
}

int main(int argc, char** argv) { return argc > 1 ? be_rank(atoi(argv[1])) : use_rccl(); }
