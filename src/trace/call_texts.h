// What a Trace takes from a call beside its times: its kind, and of its text what analyses read:
// the label of a marker that RPD calls UserMarker, or arguments that were asked for. Both ways to a
// Trace (columns.h) ask here, so that a file says the same whether it is imported or not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/trace.h"

namespace sonde::trace {

// kind_of_api(), with one look at each combination of category, domain and name; rows of one kind
// come in runs. Names may be added to the list meanwhile.
class KindTable {
 public:
  explicit KindTable(const std::vector<std::string>& names) : names_(&names) {}
  // A call without a domain has that of its name.
  ApiKind kind(NameId category, NameId domain, NameId name);

 private:
  ApiKind of_category(NameId category);

  const std::vector<std::string>* names_;
  std::vector<ApiKind> by_category_;  // kOther: the category alone does not decide
  std::unordered_map<uint64_t, ApiKind> by_words_;
};

class CallTexts {
 public:
  // The trace is to have its columns `label` and `args` filled from here.
  CallTexts(const Request& request, Trace& trace);

  struct Use {
    bool label = false, args = false;
    bool any() const { return label || args; }
  };
  // Of a call whose name and domain are in the trace.
  Use use_of(size_t call, NameId category);

  // The text of a call for that use; `name_of` makes a name of it.
  template <typename NameOf>
  void keep(size_t call, Use use, std::string_view text, NameOf name_of) {
    if (text.empty()) return;
    if (use.label) trace_->apis.label[call] = name_of(text);
    if (!use.args) return;
    trace_->texts.emplace_back(text);
    trace_->apis.args[call] = static_cast<uint32_t>(trace_->texts.size() - 1);
  }

 private:
  const Request* request_;
  Trace* trace_;
  KindTable kinds_;
};

}  // namespace sonde::trace
