// --kernel REGEX: which names are wanted. An ECMAScript regular expression that must be found
// somewhere in the name, as recorded or demangled. Matching takes time linear in the name and no
// deep recursion, because names of half a megabyte exist; back-references are not supported.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sonde::trace {

class NameFilter {
 public:
  NameFilter();  // wants every name
  NameFilter(NameFilter&&) noexcept;
  NameFilter& operator=(NameFilter&&) noexcept;
  ~NameFilter();

  static Result<NameFilter> compile(const std::string& pattern);

  bool wants_all() const { return expression_ == nullptr; }
  bool wants(std::string_view name) const;

 private:
  struct Expression;
  std::unique_ptr<Expression> expression_;
};

}  // namespace sonde::trace
