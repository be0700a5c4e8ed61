// What the layer knows about a command queue: what the program requested, its device, and its
// pending ops (see pending.h). Used by the hooks of queues, events and enqueues. A Queue is never
// freed; when the runtime reuses a handle, its Queue starts anew, while ops that are still pending
// keep the ids they were launched with.
#pragma once

#include <pthread.h>

#include <atomic>

#include "backends/opencl/layer.h"

namespace sonde::opencl {

struct Device;
struct PendingOp;

// Ops in the order in which they were launched.
struct PendingList {
  PendingOp* head = nullptr;
  PendingOp* tail = nullptr;
  void append(PendingOp* op);
};

struct Queue {
  Queue* next_in_bucket;
  std::atomic<Queue*> next_of_all;
  cl_command_queue handle;
  Device* device;
  uint32_t id;                         // of define_queue()
  std::atomic<bool> asked;             // the program requested profiling
  bool forced;                         // we requested profiling
  bool in_order;                       // ops finish in list order
  uint8_t property_count;              // of `properties`; 0: created without a list
  cl_queue_properties properties[24];  // as the program gave them, for CL_QUEUE_PROPERTIES_ARRAY

  std::atomic<uint32_t> pending;              // ops in the list, or being recorded
  std::atomic<uint32_t> releasing, releases;  // see held_events() of pending.h
  pthread_mutex_t list_lock;                  // list, free_ops, fresh; held for a few instructions
  PendingList list;
  PendingOp* free_ops;
  char* fresh;  // unused memory for ops
  char* fresh_end;
  pthread_mutex_t reap_lock;  // held while finished ops are recorded
  std::atomic<pthread_t> reaper;
};

// The Queue of a handle that the runtime has just accepted; created if needed. NULL without memory.
Queue* find_queue(cl_command_queue handle);
// The same, but NULL for an unknown handle.
Queue* known_queue(cl_command_queue handle);
Queue* first_queue();
// The queue of an event; NULL for a user event or one that the runtime rejects.
Queue* queue_of(cl_event event);

// In a forked child: another thread of the parent may have held a lock.
void reset_queue_locks();

}  // namespace sonde::opencl
