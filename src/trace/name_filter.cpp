#include "trace/name_filter.h"

#include <regex>

#include "base/demangle.h"

namespace sonde::trace {

struct NameFilter::Expression {
  std::regex regex;
};

NameFilter::NameFilter() = default;
NameFilter::NameFilter(NameFilter&&) noexcept = default;
NameFilter& NameFilter::operator=(NameFilter&&) noexcept = default;
NameFilter::~NameFilter() = default;

namespace {

// libstdc++'s default matcher recurses once per character; this flag selects its breadth-first one.
#ifdef __GLIBCXX__
constexpr auto kSyntax = std::regex::ECMAScript | std::regex_constants::__polynomial;
#else
constexpr auto kSyntax = std::regex::ECMAScript;
#endif

const char* reason_of(std::regex_constants::error_type code) {
  using namespace std::regex_constants;
  if (code == error_brack) return "a [ is not closed";
  if (code == error_paren) return "parentheses do not match";
  if (code == error_brace || code == error_badbrace) return "a {count} is wrong";
  if (code == error_range) return "a range in [] is wrong";
  if (code == error_badrepeat) return "*, + or ? has nothing to repeat";
  if (code == error_escape) return "a \\ sequence is not known";
  if (code == error_ctype) return "a [:class:] is not known";
  if (code == error_backref || code == error_complexity) return "back-references are not supported";
  return "not a regular expression";
}

}  // namespace

Result<NameFilter> NameFilter::compile(const std::string& pattern) {
  constexpr size_t kLongest = 1000;  // the parser recurses for each bracket
  if (pattern.size() > kLongest) {
    return make_error(ErrorCode::kInvalidArgument, "the expression is longer than 1000 characters",
                      "--kernel");
  }
  NameFilter filter;
  try {
    filter.expression_ = std::make_unique<Expression>(Expression{std::regex(pattern, kSyntax)});
  } catch (const std::regex_error& error) {
    return make_error(ErrorCode::kInvalidArgument, reason_of(error.code()), "'" + pattern + "'",
                      "an ECMAScript regular expression; escape ( ) [ ] { } * + ? . with \\");
  }
  return filter;
}

bool NameFilter::wants(std::string_view name) const {
  if (expression_ == nullptr) return true;
  if (std::regex_search(name.begin(), name.end(), expression_->regex)) return true;
  const std::string demangled = demangle(name);
  return demangled != name && std::regex_search(demangled, expression_->regex);
}

}  // namespace sonde::trace
