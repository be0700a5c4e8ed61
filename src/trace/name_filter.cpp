#include "trace/name_filter.h"

#include <regex.h>

#include "base/demangle.h"

namespace sonde::trace {

struct NameFilter::Expression {
  regex_t compiled{};
  bool valid = false;
  ~Expression() {
    if (valid) ::regfree(&compiled);
  }

  bool found_in(std::string_view text) const {
    regmatch_t range{};
    range.rm_eo = static_cast<regoff_t>(text.size());
    return ::regexec(&compiled, text.data(), 1, &range, REG_STARTEND) == 0;
  }
};

NameFilter::NameFilter() = default;
NameFilter::NameFilter(NameFilter&&) noexcept = default;
NameFilter& NameFilter::operator=(NameFilter&&) noexcept = default;
NameFilter::~NameFilter() = default;

namespace {

// \d as most people write it; back-references, which take exponential time, are left out.
Result<std::string> to_posix(const std::string& pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '\\' || i + 1 == pattern.size()) {
      out += pattern[i];
      continue;
    }
    const char next = pattern[++i];
    if (next >= '1' && next <= '9') {
      return make_error(ErrorCode::kInvalidArgument, "back-references are not supported");
    }
    if (next == 'd') {
      out += "[0-9]";
    } else {
      out += '\\';
      out += next;
    }
  }
  return out;
}

Error with_context(Error error, const std::string& option, const std::string& pattern) {
  error.context = option + " '" + pattern + "'";
  error.hint =
      "an extended regular expression; write \\( \\[ \\* \\+ \\? \\. for the character itself";
  return error;
}

}  // namespace

Result<NameFilter> NameFilter::compile(const std::string& pattern, const std::string& option) {
  constexpr size_t kLongest = 1000;  // the parser recurses for each bracket
  if (pattern.size() > kLongest) {
    return make_error(ErrorCode::kInvalidArgument, "the expression is longer than 1000 characters",
                      option);
  }
  auto posix = to_posix(pattern);
  if (!posix) return with_context(posix.error(), option, pattern);
  NameFilter filter;
  filter.expression_ = std::make_unique<Expression>();
  Expression& expression = *filter.expression_;
  const int code = ::regcomp(&expression.compiled, posix->c_str(), REG_EXTENDED | REG_NOSUB);
  if (code != 0) {
    char reason[100] = "";
    ::regerror(code, &expression.compiled, reason, sizeof reason);
    return with_context(make_error(ErrorCode::kInvalidArgument, reason), option, pattern);
  }
  expression.valid = true;
  return filter;
}

bool NameFilter::wants(std::string_view name) const {
  if (expression_ == nullptr) return true;
  if (expression_->found_in(name)) return true;
  const std::string demangled = demangle(name);
  return demangled != name && expression_->found_in(demangled);
}

}  // namespace sonde::trace
