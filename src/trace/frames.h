// Python frames, as profilers name them: "torch/nn/modules/module.py(1773): _call_impl".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/op_tree.h"

namespace sonde::trace {

// Tells frames of the user's own code from those of Python, its standard library, installed
// packages and frameworks. A regular expression of the user's replaces the built-in rule.
class UserFrames {
 public:
  static Result<UserFrames> create(const Trace& trace, const std::string& pattern);
  bool contains(size_t api) const;  // a row of Trace::apis; frames of Python only

 private:
  UserFrames(const Trace& trace, NameFilter filter) : trace_(&trace), filter_(std::move(filter)) {}

  const Trace* trace_;
  NameFilter filter_;
  mutable std::vector<signed char> known_;  // by name: -1 = not looked at
};

// Built-in: not of "<...>", torch/, site-packages, Sonde and so on.
bool is_user_frame(std::string_view frame);

inline bool is_python(const Trace& trace, size_t api) {
  return trace.apis.kind[api] == ApiKind::kPython;
}

}  // namespace sonde::trace
