// ITT counters and metadata.
//
// A counter is either an object that the program created or a pair of a domain and a name (_v3);
// its total is kept here, since the program reports increments. Metadata without a task is a fact
// about the run, the first time; later values (libomp reports each of its loops that way) and the
// metadata of tasks are marks.
#include <stdio.h>

#include "backends/itt/collector.h"

namespace sonde::itt {
namespace {

double as_double(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// The agent's id of "domain.name".
uint32_t counter_name(PointerTable::Entry& entry, const char* domain, const char* name) {
  uint32_t id = __atomic_load_n(&entry.interned, __ATOMIC_RELAXED);
  if (id == 0) {
    id = domain != nullptr && domain[0] != '\0' ? intern(Joined(domain, ".", name).text())
                                                : intern(name);
    __atomic_store_n(&entry.interned, id, __ATOMIC_RELAXED);
  }
  return id;
}

void step(PointerTable::Entry* entry, const char* domain, const char* name, bool real,
          int64_t delta) {
  if (entry == nullptr) return agent()->dropped("itt", 1);
  uint64_t old = __atomic_load_n(&entry->value, __ATOMIC_RELAXED);
  uint64_t now;
  do {
    now = old + static_cast<uint64_t>(delta);
    if (real) {
      const double sum = as_double(old) + static_cast<double>(delta);
      memcpy(&now, &sum, sizeof now);
    }
  } while (!__atomic_compare_exchange_n(&entry->value, &old, now, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
  const double value = real ? as_double(now) : static_cast<double>(static_cast<int64_t>(now));
  agent()->counter(counter_name(*entry, domain, name), value);
}

const char* name_of(const Counter* counter) { return markers::text_or_empty(counter->name); }
bool is_real(const Counter* counter) { return counter->type == kFloat || counter->type == kDouble; }

void counter_add(const Counter* counter, int64_t delta) {
  if (counter == nullptr) return;
  step(entry_of(g_state.counter_totals, counter, nullptr), counter->domain, name_of(counter),
       is_real(counter), delta);
}
void counter_inc(const Counter* counter) { counter_add(counter, 1); }
void counter_dec(const Counter* counter) { counter_add(counter, -1); }
void counter_inc_delta(const Counter* counter, unsigned long long delta) {
  counter_add(counter, static_cast<int64_t>(delta));
}
void counter_dec_delta(const Counter* counter, unsigned long long delta) {
  counter_add(counter, -static_cast<int64_t>(delta));
}

void counter_add_v3(const Domain* domain, const StringHandle* name, int64_t delta) {
  if (domain == nullptr || name == nullptr) return;
  step(entry_of(g_state.counter_totals, domain, name), domain->name, text_of(name, ""), false,
       delta);
}
void counter_inc_v3(const Domain* domain, const StringHandle* name) {
  counter_add_v3(domain, name, 1);
}
void counter_dec_v3(const Domain* domain, const StringHandle* name) {
  counter_add_v3(domain, name, -1);
}
void counter_inc_delta_v3(const Domain* domain, const StringHandle* name,
                          unsigned long long delta) {
  counter_add_v3(domain, name, static_cast<int64_t>(delta));
}
void counter_dec_delta_v3(const Domain* domain, const StringHandle* name,
                          unsigned long long delta) {
  counter_add_v3(domain, name, -static_cast<int64_t>(delta));
}

template <typename T>
T read(const void* data, size_t index) {
  T value;
  memcpy(&value, static_cast<const char*>(data) + index * sizeof(T), sizeof value);
  return value;
}

// An array element of any type: exact in `integer` or, for floating-point types, in `real`.
struct Value {
  bool is_real;
  bool is_signed;
  int64_t integer;
  double real;
};

Value value_of(int type, const void* data, size_t index) {
  switch (type) {
    case kS64:
      return {false, true, read<int64_t>(data, index), 0};
    case kU32:
      return {false, false, read<uint32_t>(data, index), 0};
    case kS32:
      return {false, true, read<int32_t>(data, index), 0};
    case kU16:
      return {false, false, read<uint16_t>(data, index), 0};
    case kS16:
      return {false, true, read<int16_t>(data, index), 0};
    case kFloat:
      return {true, true, 0, static_cast<double>(read<float>(data, index))};
    case kDouble:
      return {true, true, 0, read<double>(data, index)};
    default:
      return {false, false, static_cast<int64_t>(read<uint64_t>(data, index)), 0};
  }
}

void counter_set_value(const Counter* counter, const void* data) {
  if (counter == nullptr || data == nullptr) return;
  PointerTable::Entry* entry = entry_of(g_state.counter_totals, counter, nullptr);
  if (entry == nullptr) return agent()->dropped("itt", 1);
  const Value value = value_of(counter->type, data, 0);
  uint64_t bits = static_cast<uint64_t>(value.integer);
  if (value.is_real) memcpy(&bits, &value.real, sizeof bits);
  __atomic_store_n(&entry->value, bits, __ATOMIC_RELAXED);
  double shown = value.real;
  if (!value.is_real) {
    shown = value.is_signed ? static_cast<double>(value.integer) : static_cast<double>(bits);
  }
  agent()->counter(counter_name(*entry, counter->domain, name_of(counter)), shown);
}
void counter_set_value_ex(const Counter* counter, void*, unsigned long long, const void* data) {
  counter_set_value(counter, data);
}

// True for the first value of a key in a domain.
bool is_first(const Domain* domain, const StringHandle* key) {
  PointerTable::Entry* entry = entry_of(g_state.domain_ids, domain, key);
  return entry != nullptr && __atomic_exchange_n(&entry->value, 1, __ATOMIC_RELAXED) == 0;
}

void record_metadata(const Domain* domain, bool of_task, const StringHandle* key, const char* value,
                     size_t length) {
  const ErrnoKeeper keep;
  const char* name = text_of(key, "metadata");
  if (of_task || key == nullptr || !is_first(domain, key)) {
    const Joined text(name, strlen(name), "=", 1, value, length);
    agent()->mark(domain_id(domain), intern("metadata"), text.text());
    return;
  }
  const Joined text(value, length, "", 0, "", 0);
  const char* domain_name = markers::text_or_empty(domain->name);
  agent()->metadata(Joined(domain_name, ".", name).text(), text.text());
}

void add_values(const Domain* domain, bool of_task, const StringHandle* key, int type, size_t count,
                const void* data) {
  if (domain == nullptr) return;
  char text[512];
  size_t length = 0;
  text[0] = '\0';
  if (type <= kUnknown || type > kDouble) {  // a pointer: the value is its address
    length = static_cast<size_t>(snprintf(text, sizeof text, "%p", data));
    count = 0;
  }
  for (size_t i = 0; data != nullptr && i < count && length + 32 < sizeof text; ++i) {
    const Value value = value_of(type, data, i);
    const char* separator = i != 0 ? "," : "";
    char* at = text + length;
    const size_t room = sizeof text - length;
    const long long integer = value.integer;
    length +=
        static_cast<size_t>(value.is_real     ? snprintf(at, room, "%s%.9g", separator, value.real)
                            : value.is_signed ? snprintf(at, room, "%s%lld", separator, integer)
                                              : snprintf(at, room, "%s%llu", separator,
                                                         static_cast<unsigned long long>(integer)));
  }
  record_metadata(domain, of_task, key, text, length);
}

bool names_task(const Id& id) { return (id.d1 | id.d2 | id.d3) != 0; }
constexpr int kScopeTask = 4;

void metadata_add(const Domain* domain, Id id, const StringHandle* key, int type, size_t count,
                  const void* data) {
  add_values(domain, names_task(id), key, type, count, data);
}
void metadata_add_with_scope(const Domain* domain, int scope, const StringHandle* key, int type,
                             size_t count, const void* data) {
  add_values(domain, scope >= kScopeTask, key, type, count, data);
}

// Length 0 means that the text is zero-terminated.
void metadata_str_add(const Domain* domain, Id id, const StringHandle* key, const char* data,
                      size_t length) {
  if (domain == nullptr || data == nullptr) return;
  record_metadata(domain, names_task(id), key, data, length != 0 ? length : strlen(data));
}
void metadata_str_add_with_scope(const Domain* domain, int scope, const StringHandle* key,
                                 const char* data, size_t length) {
  if (domain == nullptr || data == nullptr) return;
  record_metadata(domain, scope >= kScopeTask, key, data, length != 0 ? length : strlen(data));
}

}  // namespace

FunctionTable value_functions() {
  static const NamedFunction kFunctions[] = {SONDE_ITT(counter_inc),
                                             SONDE_ITT(counter_dec),
                                             SONDE_ITT(counter_inc_delta),
                                             SONDE_ITT(counter_dec_delta),
                                             SONDE_ITT(counter_inc_v3),
                                             SONDE_ITT(counter_dec_v3),
                                             SONDE_ITT(counter_inc_delta_v3),
                                             SONDE_ITT(counter_dec_delta_v3),
                                             SONDE_ITT(counter_set_value),
                                             SONDE_ITT_AS(counter_set_value_v3, counter_set_value),
                                             SONDE_ITT(counter_set_value_ex),
                                             SONDE_ITT(metadata_add),
                                             SONDE_ITT(metadata_add_with_scope),
                                             SONDE_ITT(metadata_str_add),
                                             SONDE_ITT(metadata_str_add_with_scope)};
  return kFunctions;
}

}  // namespace sonde::itt
