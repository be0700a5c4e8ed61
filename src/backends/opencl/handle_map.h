// A thread-safe map from a pointer to a small value: sharded, locked for a few instructions, never
// calls out. Used for kernels and mappings. The memory of removed entries is reused.
#pragma once

#include <pthread.h>
#include <stdlib.h>

#include "backends/opencl/layer.h"

namespace sonde::opencl {

template <typename Value>
class HandleMap {
 public:
  bool get(const void* key, Value* value) {
    Shard& shard = shard_of(key);
    pthread_mutex_lock(&shard.lock);
    Node* node = find(shard, key);
    if (node != nullptr) *value = node->value;
    pthread_mutex_unlock(&shard.lock);
    return node != nullptr;
  }

  // False without memory.
  bool put(const void* key, const Value& value) {
    Shard& shard = shard_of(key);
    pthread_mutex_lock(&shard.lock);
    Node* node = find(shard, key);
    if (node == nullptr) node = insert(shard, key);
    if (node != nullptr) node->value = value;
    pthread_mutex_unlock(&shard.lock);
    return node != nullptr;
  }

  bool take(const void* key, Value* value) {
    Shard& shard = shard_of(key);
    pthread_mutex_lock(&shard.lock);
    Node** at = &shard.buckets[bucket_of(key)];
    while (*at != nullptr && (*at)->key != key) at = &(*at)->next;
    Node* node = *at;
    if (node != nullptr) {
      *value = node->value;
      *at = node->next;
      node->next = shard.free_nodes;
      shard.free_nodes = node;
    }
    pthread_mutex_unlock(&shard.lock);
    return node != nullptr;
  }

  // In a forked child: another thread of the parent may have held a lock.
  void reset_locks() {
    for (Shard& shard : shards_) shard.lock = PTHREAD_MUTEX_INITIALIZER;
  }

 private:
  static constexpr size_t kShards = 16;
  static constexpr size_t kBuckets = 256;

  struct Node {
    Node* next;
    const void* key;
    Value value;
  };
  struct Shard {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    Node* free_nodes = nullptr;
    Node* buckets[kBuckets] = {};
  };

  static uint64_t hash(const void* key) { return (word(key) >> 3) * 0x9e3779b97f4a7c15u; }
  Shard& shard_of(const void* key) { return shards_[hash(key) >> 60]; }
  static size_t bucket_of(const void* key) { return (hash(key) >> 48) % kBuckets; }

  static Node* find(Shard& shard, const void* key) {
    Node* node = shard.buckets[bucket_of(key)];
    while (node != nullptr && node->key != key) node = node->next;
    return node;
  }

  static Node* insert(Shard& shard, const void* key) {
    Node* node = shard.free_nodes;
    if (node != nullptr) {
      shard.free_nodes = node->next;
    } else {
      node = static_cast<Node*>(malloc(sizeof(Node)));
      if (node == nullptr) return nullptr;
    }
    Node** bucket = &shard.buckets[bucket_of(key)];
    node->key = key;
    node->next = *bucket;
    *bucket = node;
    return node;
  }

  Shard shards_[kShards] = {};
};

}  // namespace sonde::opencl
