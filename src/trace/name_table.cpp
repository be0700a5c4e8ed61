#include "trace/name_table.h"

#include "base/numbered.h"

namespace sonde::trace {

void NameTable::select(uint64_t high) {
  current_ = &direct_[high];  // references into an unordered_map stay valid
  current_high_ = high;
}

uint32_t NameTable::add(int64_t string_id, uint64_t high, uint32_t low) {
  const auto next = static_cast<uint32_t>(ids_.size());
  if (low < kDirect) {
    select(high);
    if (low >= current_->size()) current_->resize(low + 1 + low / 2, 0);
    (*current_)[low] = next + 1;
    ids_.push_back(string_id);
    return next;
  }
  const auto [entry, is_new] = others_.try_emplace(string_id, next);
  if (is_new) ids_.push_back(string_id);
  return entry->second;
}

Result<NameTable::Texts> NameTable::resolve(store::Database& database) const {
  Texts texts;
  TextNumbering names(texts.names);
  texts.empty_name = names.index("");
  SONDE_ASSIGN(auto lookup, database.prepare("SELECT string FROM v_string WHERE id = ?1"));
  for (const int64_t id : ids_) {
    if (id == kNoString) {
      texts.remap.push_back(texts.empty_name);
      continue;
    }
    lookup.bind(1, id);
    SONDE_ASSIGN(const bool found, lookup.step());
    texts.remap.push_back(
        names.index(found ? std::string(lookup.text(0)) : "<string " + std::to_string(id) + ">"));
    lookup.reset();
  }
  return texts;
}

}  // namespace sonde::trace
