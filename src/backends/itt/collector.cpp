// The ITT collector: fills each copy of the static part with this backend's functions.
#include "backends/itt/collector.h"

namespace sonde::itt {

State g_state;

uint32_t domain_id(const Domain* domain) {
  if (domain == nullptr || domain->name == nullptr) return g_state.connection.domain;
  PointerTable::Entry* entry = entry_of(g_state.domain_ids, domain, nullptr);
  if (entry == nullptr) return intern(domain->name);
  uint32_t id = __atomic_load_n(&entry->interned, __ATOMIC_RELAXED);
  if (id == 0) {
    id = intern(domain->name);
    __atomic_store_n(&entry->interned, id, __ATOMIC_RELAXED);
  }
  return id;
}

bool begin_keyed_range(const RangeKey& key, uint32_t domain, uint32_t category, const char* text) {
  const uint64_t range = agent()->range_start(domain, category, text);
  if (range == 0) return true;  // not recording: there is nothing to end
  if (put_range(g_state.ranges, key, range)) return true;
  agent()->range_stop(range);
  return false;
}

void end_keyed_range(const RangeKey& key) {
  const uint64_t range = take_range(g_state.ranges, key);
  if (range != 0) agent()->range_stop(range);
}

Joined::Joined(const char* a, size_t a_length, const char* b, size_t b_length, const char* c,
               size_t c_length) {
  Room room = make_room(a_length + b_length + c_length);
  const auto add = [&](const char* part, size_t length) {
    if (length > room.bytes) length = room.bytes;
    memcpy(room.to, part, length);
    room.to += length;
    room.bytes -= length;
  };
  add(a, a_length);
  add(b, b_length);
  add(c, c_length);
  *room.to = '\0';
}

namespace {

void* find_function(const char* name) {
  const FunctionTable all[] = {handle_functions(), task_functions(), value_functions(),
                               control_functions()};
  for (const FunctionTable& table : all) {
    for (const NamedFunction& each : table) {
      if (strcmp(each.name, name) == 0) return each.function;
    }
  }
  return nullptr;
}

// Functions that this backend does not implement get the copy's own default.
template <typename Entry, typename NullOf>
void fill(Entry* entry, int groups, NullOf null_of) {
  for (; entry->name != nullptr; ++entry) {
    if (entry->pointer == nullptr) continue;
    void* function = (entry->group & groups) != 0 ? find_function(entry->name) : nullptr;
    if (function == nullptr) function = null_of(*entry);
    __atomic_store_n(entry->pointer, function, __ATOMIC_RELEASE);
  }
}

void fill_copy(const Global* copy, int groups) {
  if (copy->version_build <= kLastBuildWithoutNull) {
    fill(static_cast<FunctionOld*>(copy->functions), groups,
         [](const FunctionOld&) -> void* { return nullptr; });
  } else {
    fill(static_cast<Function*>(copy->functions), groups,
         [](const Function& entry) { return entry.null_func; });
  }
}

}  // namespace
}  // namespace sonde::itt

// The copy holds its own lock. Without an agent, no functions are set, so all get their defaults.
extern "C" __attribute__((visibility("default"))) void __itt_api_init(sonde::itt::Global* copy,
                                                                      int groups) {
  using namespace sonde::itt;
  if (copy == nullptr || memcmp(copy->magic, kMagic, sizeof kMagic) != 0 ||
      copy->functions == nullptr) {
    return;
  }
  const bool recorded = sonde::markers::connect(g_state.connection, "itt") != nullptr;
  if (recorded) adopt_handles(copy);
  fill_copy(copy, recorded ? groups : 0);
}

// Called before the copies in a process that is attached to are filled (rocm/late).
extern "C" __attribute__((visibility("default"))) void sonde_itt_attach(
    const struct sonde_agent* agent) {
  sonde::markers::connect_to(sonde::itt::g_state.connection, agent, "itt");
}
