#include "agent/definitions.h"

#include "agent/chunk_file.h"
#include "agent/memory_calls.h"
#include "agent/spool.h"
#include "agent/state.h"
#include "agent/texts.h"

namespace sonde::agent {

namespace {

constexpr uint64_t kFirstSlots = 1 << 16;  // a power of two
// The most marker texts that are interned; further ones are written where they occur, which costs
// the program no memory.
constexpr uint64_t kMostMarkerTexts = 3 << 14;
constexpr uint64_t kBlockBytes = 256 * 1024;
constexpr uint32_t kSeenSlots = 4096;

// The log: blocks of records, in the order in which they were made.
struct Block {
  Block* next;
  uint64_t used;  // bytes of records
  char* records() { return reinterpret_cast<char*>(this + 1); }
  static constexpr uint64_t kCapacity = kBlockBytes - 2 * sizeof(uint64_t);
};

// The strings: a hash table with open addressing, at most three quarters full. A full table is
// replaced by a copy of twice the size and is never freed, because other threads may be searching
// it: all old copies together take as much memory as the current one.
struct Table {
  uint64_t slots;
  const wire::StringRecord** entries() {
    return reinterpret_cast<const wire::StringRecord**>(this + 1);
  }
};

struct Definitions {
  BoundedLock lock{BoundedLock::Patience::kLong};
  Table* table = nullptr;
  uint64_t strings = 0, marker_texts = 0;
  uint32_t next_id = 1;
  Block* first = nullptr;
  Block* last = nullptr;
  wire::ChunkHeader* chunk = nullptr;  // of ring 0
  // How far begin_definitions() has copied the log to ring 0.
  Block* copied = nullptr;
  uint64_t copied_bytes = 0;
  uint32_t* seen = nullptr;
};
Definitions g_definitions;

uint64_t mix(uint64_t a, uint64_t b) {
  const unsigned __int128 product =
      static_cast<unsigned __int128>(a ^ 0x9E3779B97F4A7C15) * (b | 1);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Every bit of the result depends on every bit of the argument: the tables use the low bits.
uint64_t spread(uint64_t hash) {
  hash = (hash ^ hash >> 32) * 0x9FB21C651E98DF25;
  return hash ^ hash >> 29;
}

template <typename T>
uint64_t word_at(const char* text) {
  T word;
  memcpy(&word, text, sizeof word);
  return word;
}

// Texts of up to 15 bytes, zero-padded to two words.
uint64_t hash_short(uint64_t low, uint64_t high, size_t length) {
  return spread(mix(low ^ length * 0xD6E8FEB86659FD93, high ^ 0xE7037ED1A0B428DB));
}

uint64_t hash_text(const char* text, size_t length) {
  if (length < 16) {
    uint64_t words[2] = {};
    memcpy(words, text, length);
    return hash_short(words[0], words[1], length);
  }
  // Whole words; the last one overlaps the one before it.
  uint64_t hash = length * 0xD6E8FEB86659FD93;
  for (size_t i = 0; i + 8 < length; i += 8) {
    hash = mix(hash ^ word_at<uint64_t>(text + i), 0xA0761D6478BD642F);
  }
  return spread(mix(hash ^ word_at<uint64_t>(text + length - 8), 0xE7037ED1A0B428DB));
}

// Compares by overlapping words: for short texts that beats a library call.
bool equal_text(const char* a, const char* b, size_t length) {
  if (length > 16) return memcmp(a, b, length) == 0;
  if (length >= 8) {
    return word_at<uint64_t>(a) == word_at<uint64_t>(b) &&
           word_at<uint64_t>(a + length - 8) == word_at<uint64_t>(b + length - 8);
  }
  if (length >= 4) {
    return word_at<uint32_t>(a) == word_at<uint32_t>(b) &&
           word_at<uint32_t>(a + length - 4) == word_at<uint32_t>(b + length - 4);
  }
  for (size_t i = 0; i < length; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

bool lose(wire::DropReason reason) {
  count_drop(wire::DropSource::kDefinition, reason);
  return false;
}

Table* map_table(uint64_t slots) {
  auto* table = static_cast<Table*>(map_memory(sizeof(Table) + slots * sizeof(void*)));
  if (table != nullptr) table->slots = slots;
  return table;
}

// Ensures that there are tables and a number for one more definition; otherwise counts it as lost.
bool prepare_memory() {
  auto& d = g_definitions;
  if (d.next_id >= wire::kMostDefinitions) return lose(wire::DropReason::kTableFull);
  if (d.seen == nullptr) {
    store_release(d.seen, static_cast<uint32_t*>(map_memory(kSeenSlots * sizeof(uint32_t))));
  }
  if (d.table == nullptr) store_release(d.table, map_table(kFirstSlots));
  return (d.table != nullptr && d.seen != nullptr) || lose(wire::DropReason::kMemory);
}

// Room at the end of the log; it counts once `used` is raised.
char* log_room(uint64_t bytes) {
  auto& d = g_definitions;
  if (d.last == nullptr || d.last->used + bytes > Block::kCapacity) {
    auto* block = static_cast<Block*>(map_memory(kBlockBytes));
    if (block == nullptr) {
      lose(wire::DropReason::kMemory);
      return nullptr;
    }
    (d.last != nullptr ? d.last->next : d.first) = block;
    d.last = block;
  }
  return d.last->records() + d.last->used;
}

// Copies a record to ring 0.
bool append_to_ring(const wire::RecordHeader* record, uint64_t bytes) {
  auto& chunk = g_definitions.chunk;
  if (chunk == nullptr || chunk->committed + bytes > wire::payload_bytes(*chunk)) {
    wire::DropReason reason;
    const uint64_t sequence = chunk == nullptr ? 0 : chunk->sequence + 1;
    auto* fresh = make_chunk(0, sequence, sequence, 0, wire::kChunkBytes, &reason);
    if (fresh == nullptr) {
      store(g_state.out_because, reason);
      return lose(reason);
    }
    if (chunk != nullptr) {
      seal_chunk(chunk);
      kernel::unmap(chunk, chunk->chunk_bytes);
    }
    chunk = fresh;
  }
  memcpy(payload(chunk) + chunk->committed, record, bytes);
  store_release(chunk->committed, chunk->committed + bytes);
  return true;
}

// Adds a record under the lock and returns the log's copy with its id, or nullptr.
wire::RecordHeader* add(const wire::RecordHeader* record) {
  auto& d = g_definitions;
  const uint64_t bytes = uint64_t{record->words} * 8;
  auto* kept = reinterpret_cast<wire::RecordHeader*>(log_room(bytes));
  if (kept == nullptr) return nullptr;
  memcpy(static_cast<void*>(kept), record, bytes);
  kept->id = d.next_id;
  if (!append_to_ring(kept, bytes)) return nullptr;
  d.last->used += bytes;
  ++d.next_id;
  return kept;
}

// A thread that forks holds the lock itself: a signal handler that takes a sample meanwhile, or the
// program's own fork handler, may define something.
bool enter() { return holds_definitions() || lock_definitions(); }
void leave() {
  if (!holds_definitions()) unlock_definitions();
}

// Where a text is, or the empty slot where it belongs. Without the lock, do not read that slot
// again: another text may have been stored in it meanwhile.
struct Place {
  uint64_t slot;
  const wire::StringRecord* entry;  // nullptr: the text is not there
};

Place place_of(Table& table, const Text& text) {
  const uint64_t mask = table.slots - 1;
  for (uint64_t slot = text.hash & mask;; slot = (slot + 1) & mask) {
    const wire::StringRecord* entry = load_acquire(table.entries()[slot]);
    const bool is_it = entry != nullptr && entry->hash == text.hash &&
                       entry->length == text.length &&
                       equal_text(entry->text(), text.data, text.length);
    if (entry == nullptr || is_it) return {slot, entry};
  }
}

bool is_full() { return g_definitions.strings >= g_definitions.table->slots / 4 * 3; }

// Under the lock: replaces the table by one of twice the size.
bool grow() {
  Table* const full = g_definitions.table;
  Table* const larger = map_table(full->slots * 2);
  if (larger == nullptr) return lose(wire::DropReason::kMemory);
  for (uint64_t i = 0; i < full->slots; ++i) {
    const wire::StringRecord* entry = full->entries()[i];
    if (entry == nullptr) continue;
    const uint64_t mask = larger->slots - 1;
    uint64_t slot = entry->hash & mask;
    while (larger->entries()[slot] != nullptr) slot = (slot + 1) & mask;
    larger->entries()[slot] = entry;
  }
  store_release(g_definitions.table, larger);
  return true;
}

const wire::StringRecord* add_string(const Text& text) {
  auto& d = g_definitions;
  Place place = place_of(*d.table, text);
  if (place.entry != nullptr) return place.entry;  // another thread was faster
  if (is_full()) {
    if (!grow()) return nullptr;
    place = place_of(*d.table, text);
  }
  const uint64_t bytes = (sizeof(wire::StringRecord) + text.length + 1 + 7) / 8 * 8;
  // Built in the log itself: texts may be long and the stack small.
  auto* record = reinterpret_cast<wire::StringRecord*>(log_room(bytes));
  if (record == nullptr) return nullptr;
  memset(static_cast<void*>(record), 0, bytes);
  record->header = {wire::RecordType::kString, 0, static_cast<uint16_t>(bytes / 8), d.next_id};
  record->hash = text.hash;
  record->length = text.length;
  memcpy(record->text(), text.data, text.length);
  if (!append_to_ring(&record->header, bytes)) return nullptr;
  d.last->used += bytes;
  ++d.next_id;
  ++d.strings;
  store_release(d.table->entries()[place.slot], record);
  return record;
}

}  // namespace

Text make_text(const char* text, size_t length) {
  if (text == nullptr) return {"", 0, hash_text("", 0)};
  if (length > wire::kMaxTextBytes) length = wire::kMaxTextBytes;
  return {text, length, hash_text(text, length)};
}

Text make_text(const char* text) {
  ShortText bytes;
  uint32_t short_length;
  if (text != nullptr && load_short(text, bytes, short_length)) {
    return {text, short_length, hash_short(bytes.low, bytes.high, short_length)};
  }
  return make_text(text, text != nullptr ? strnlen(text, wire::kMaxTextBytes) : 0);
}

const wire::StringRecord* find_string(const Text& text) {
  Table* const table = load_acquire(g_definitions.table);
  return table != nullptr ? place_of(*table, text).entry : nullptr;
}

uint32_t intern_text(const Text& text) {
  if (text.length == 0) return 0;
  if (const auto* known = find_string(text)) return known->header.id;
  if (!enter()) return 0;
  const wire::StringRecord* record = prepare_memory() ? add_string(text) : nullptr;
  leave();
  if (record == nullptr) return 0;
  return record->header.id;
}

uint32_t intern_text(const char* text) { return intern_text(make_text(text)); }

bool seen_before(const Text& text) {
  uint32_t* const seen = load_acquire(g_definitions.seen);
  if (seen == nullptr) return true;  // the very first text creates the tables
  // Two places for each text, so that two texts that share one do not evict each other forever.
  uint32_t& first = seen[text.hash % kSeenSlots];
  uint32_t& second = seen[(text.hash >> 16) % kSeenSlots];
  const auto mark = static_cast<uint32_t>(text.hash >> 32) | 1;
  if (load(first) == mark || load(second) == mark) {
    return __atomic_fetch_add(&g_definitions.marker_texts, 1, __ATOMIC_RELAXED) < kMostMarkerTexts;
  }
  store((text.hash & 1 << 30) != 0 || load(first) == 0 ? first : second, mark);
  return false;
}

namespace {

uint32_t define_locked(wire::RecordHeader* record) {
  const wire::RecordHeader* kept = prepare_memory() ? add(record) : nullptr;
  leave();
  return kept != nullptr ? kept->id : 0;
}

}  // namespace

uint32_t define(wire::RecordHeader* record) { return enter() ? define_locked(record) : 0; }

uint32_t try_define(wire::RecordHeader* record) {
  return holds_definitions() || try_lock_definitions() ? define_locked(record) : 0;
}

bool may_define(bool entered) {
  if (!entered) return lose(wire::DropReason::kReentrant);
  return ensure_spool() || lose(load(g_state.out_because));
}

// Resumes where a failed attempt stopped: what that attempt wrote is in the spool.
bool begin_definitions(const wire::RecordHeader* process) {
  if (!enter()) return false;
  auto& d = g_definitions;
  bool good = true;
  if (d.chunk == nullptr) {
    good = append_to_ring(process, uint64_t{process->words} * 8);
    d.copied = d.first;
    d.copied_bytes = 0;
  }
  while (good && d.copied != nullptr) {
    if (d.copied_bytes >= d.copied->used) {
      d.copied = d.copied->next;
      d.copied_bytes = 0;
      continue;
    }
    const auto* record =
        reinterpret_cast<const wire::RecordHeader*>(d.copied->records() + d.copied_bytes);
    good = append_to_ring(record, uint64_t{record->words} * 8);
    if (good) d.copied_bytes += uint64_t{record->words} * 8;
  }
  leave();
  return good;
}

bool definitions_have_begun() { return g_definitions.chunk != nullptr; }

namespace {

bool is_whole(const wire::RecordHeader* record, uint64_t room, uint32_t id) {
  const uint64_t bytes = uint64_t{record->words} * 8;
  if (bytes < sizeof *record || bytes > room || record->id != id) return false;
  if (record->type != wire::RecordType::kString) return true;
  const auto* string = reinterpret_cast<const wire::StringRecord*>(record);
  return bytes >= sizeof *string + string->length + 1 &&
         hash_text(string->text(), string->length) == string->hash;
}

// Truncates the log at the first record that is not whole, and rebuilds the table of strings.
void look_through_log() {
  auto& d = g_definitions;
  d.next_id = 1;
  d.strings = 0;
  d.table = nullptr;  // not unmapped: a signal may have interrupted a search in it
  if (!prepare_memory()) d.first = nullptr;
  d.last = d.first;
  for (Block* block = d.first; block != nullptr; block = block->next) {
    d.last = block;
    for (uint64_t at = 0; at < block->used;) {
      const auto* record = reinterpret_cast<const wire::RecordHeader*>(block->records() + at);
      if (!is_whole(record, block->used - at, d.next_id)) {
        block->used = at;
        block->next = nullptr;
        return;
      }
      // A string that finds no place is defined again when it next occurs.
      if (record->type == wire::RecordType::kString && (!is_full() || grow())) {
        const auto* string = reinterpret_cast<const wire::StringRecord*>(record);
        const Place place = place_of(*d.table, {string->text(), string->length, string->hash});
        d.table->entries()[place.slot] = string;
        ++d.strings;
      }
      ++d.next_id;
      at += uint64_t{record->words} * 8;
    }
  }
}

}  // namespace

void reset_definitions_after_fork(bool whole) {
  g_definitions.chunk = nullptr;  // not mapped in the child (MADV_DONTFORK)
  g_definitions.lock.reset();
  if (!whole && g_definitions.first != nullptr) look_through_log();
}

void note_alive() {
  if (is_new_child() || (!holds_definitions() && !try_lock_definitions())) return;
  if (g_definitions.chunk != nullptr) store(g_definitions.chunk->alive, ticks());
  leave();
}

wire::ChunkHeader* definitions_chunk() { return g_definitions.chunk; }

bool lock_definitions() {
  if (g_definitions.lock.acquire()) return true;
  count_drop(wire::DropSource::kDefinition, wire::DropReason::kBusy);
  return false;
}

bool try_lock_definitions() { return g_definitions.lock.try_acquire(); }

void unlock_definitions() { g_definitions.lock.release(); }

}  // namespace sonde::agent
