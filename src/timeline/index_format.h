// The bytes of an index file. Private to src/timeline.
//
//   a Head, which says where the tables are and what they must hash to
//   columns, each at a multiple of 8
//   the tables: Meta, tracks, lanes, names, devices, warnings
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/packed.h"
#include "timeline/index.h"

namespace sonde::timeline {

constexpr char kIndexMagic[8] = {'S', 'N', 'D', 'I', 'N', 'D', 'E', 'X'};
constexpr uint32_t kIndexVersion = 2;  // of these bytes and of what they are made from

struct Head {
  char magic[8] = {};
  uint32_t version = 0, bytes_of_head = 0;
  FileKey key;
  uint64_t file_bytes = 0, tables_at = 0, tables_bytes = 0, tables_hash = 0;
};

struct Part {
  uint64_t at = 0, count = 0;
};

struct Meta {
  int64_t origin_ns = 0, start_ns = 0, end_ns = 0;
  Part op_ids, api_ids, op_api, api_op, api_op_count;
  uint64_t tracks = 0, lanes = 0, names = 0, devices = 0, warnings = 0;
};

struct StoredTrack {
  int64_t owner = 0, number = 0;
  uint32_t kind = 0, first_lane = 0, lanes = 0, zero = 0;
};

struct StoredLane {
  Part start_ns, duration_ns, name, row, longs, sum_ns, levels;
};

static_assert(std::is_trivially_copyable_v<Head> && std::is_trivially_copyable_v<Meta>);

inline uint64_t hash_of(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace sonde::timeline
