#include "trace/call_texts.h"

#include "store/api_domain.h"

namespace sonde::trace {

ApiKind KindTable::of_category(NameId category) {
  while (by_category_.size() <= category) {
    by_category_.push_back(kind_of_api((*names_)[by_category_.size()], {}, {}));
  }
  return by_category_[category];
}

ApiKind KindTable::kind(NameId category, NameId domain, NameId name) {
  const std::string& text = (*names_)[name];
  const ApiKind decided = of_category(category);
  if (decided != ApiKind::kOther && text != "UserMarker") return decided;
  uint64_t key = category;
  key = key * 0x9E3779B97F4A7C15u + domain;
  key = key * 0x9E3779B97F4A7C15u + name;
  const auto [entry, is_new] = by_words_.try_emplace(key, ApiKind::kOther);
  if (is_new) {
    const std::string& known = (*names_)[domain];
    entry->second =
        kind_of_api((*names_)[category], known.empty() ? store::domain_of_api(text) : known, text);
  }
  return entry->second;
}

CallTexts::CallTexts(const Request& request, Trace& trace)
    : request_(&request), trace_(&trace), kinds_(trace.names) {
  trace.texts.assign(1, std::string());
}

CallTexts::Use CallTexts::use_of(size_t call, NameId category) {
  const Apis& apis = trace_->apis;
  const std::string& name = trace_->names[apis.name[call]];
  const bool asked =
      request_->args_of != 0 &&
      request_->wants_args(kinds_.kind(category, apis.domain[call], apis.name[call]), name);
  return {name == "UserMarker", asked};
}

}  // namespace sonde::trace
