// ITT's domains, strings and counters: created here for every copy of the static part, so that a
// name is the same object in all of them. A program may create one again before each use.
#include "backends/itt/collector.h"

namespace sonde::itt {
namespace {

using markers::find_or_add_text;
using markers::object_of;
using markers::Text;
using markers::TextSet;

Domain* domain_create(const char* name) {
  if (name == nullptr) return nullptr;
  Text* text = find_or_add_text(g_state.domains, name, strlen(name));
  return object_of<Domain>(
      text, [text](Domain* domain) { *domain = {1, text->text, nullptr, 0, nullptr, nullptr}; });
}

StringHandle* string_handle_create(const char* name) {
  if (name == nullptr) return nullptr;
  Text* text = find_or_add_text(g_state.strings, name, strlen(name));
  return object_of<StringHandle>(text, [text](StringHandle* handle) {
    *handle = {text->text, nullptr, 0, nullptr, nullptr};
  });
}

// One object per domain, name and type.
Counter* counter_create_typed(const char* name, const char* domain, int type) {
  if (name == nullptr) return nullptr;
  const char type_key[2] = {static_cast<char>(1 + (type & 15)), '\0'};
  const Joined key(type_key, markers::text_or_empty(domain), "\n");
  const Joined whole(key.text(), name, "");
  Text* text = find_or_add_text(g_state.counters, whole.text(), strlen(whole.text()));
  const StringHandle* name_copy = string_handle_create(name);
  const StringHandle* domain_copy = domain != nullptr ? string_handle_create(domain) : nullptr;
  if (name_copy == nullptr) return nullptr;
  return object_of<Counter>(text, [&](Counter* counter) {
    const char* domain_text = domain_copy != nullptr ? domain_copy->text : nullptr;
    *counter = {name_copy->text, nullptr, domain_text, nullptr, type};
  });
}

Counter* counter_create(const char* name, const char* domain) {
  return counter_create_typed(name, domain, kU64);
}

}  // namespace

void adopt_handles(const Global* copy) {
  if (copy->version_build <= kLastBuildWithoutNull) return;
  const auto adopt = [](TextSet& texts, const char* name, void* object) {
    Text* text = name != nullptr ? find_or_add_text(texts, name, strlen(name)) : nullptr;
    void* none = nullptr;
    if (text != nullptr) {
      __atomic_compare_exchange_n(&text->object, &none, object, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_RELAXED);
    }
  };
  for (Domain* domain = copy->domains; domain != nullptr; domain = domain->next) {
    adopt(g_state.domains, domain->name, domain);
  }
  for (StringHandle* handle = copy->strings; handle != nullptr; handle = handle->next) {
    adopt(g_state.strings, handle->text, handle);
  }
}

FunctionTable handle_functions() {
  static const NamedFunction kFunctions[] = {
      SONDE_ITT(domain_create), SONDE_ITT(string_handle_create), SONDE_ITT(counter_create),
      SONDE_ITT(counter_create_typed)};
  return kFunctions;
}

}  // namespace sonde::itt
