// --kernel REGEX: which names are wanted. A POSIX extended regular expression, with \d \w \s \b,
// that must be found somewhere in the name, as recorded or demangled. libc's matcher, not
// std::regex: names of half a megabyte exist, and std::regex recurses for each character or takes
// quadratic time.
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

  static Result<NameFilter> compile(const std::string& pattern,
                                    const std::string& option = "--kernel");

  bool wants_all() const { return expression_ == nullptr; }
  bool wants(std::string_view name) const;

 private:
  struct Expression;
  std::unique_ptr<Expression> expression_;
};

}  // namespace sonde::trace
