#include "serve/ask.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <iterator>

#include "base/strings.h"

namespace sonde::serve {

Error wrong_ask(const std::string& what, const std::string& on) {
  return make_error(ErrorCode::kInvalidArgument, what, on);
}

http::Answer refusal(const Error& error) {
  const int status = error.code == ErrorCode::kInvalidArgument ? 400
                     : error.code == ErrorCode::kNotFound      ? 404
                                                               : 500;
  return {status, kJson, "{\"error\": " + json_quote(error.to_line()) + "}\n", {}};
}

Result<std::string> text_of(const http::Request& request, const char* name) {
  const auto [first, end] = request.query.equal_range(name);
  if (first == end || std::next(first) != end) return wrong_ask("is to be given once", name);
  return first->second;
}

Result<int64_t> number_of(const http::Request& request, const char* name) {
  SONDE_ASSIGN(const std::string text, text_of(request, name));
  const auto number = parse_int(text);
  if (!number || *number < 0) return wrong_ask("is not a whole number", name);
  return *number;
}

Result<std::vector<uint32_t>> numbers_of(const http::Request& request, const char* name,
                                         size_t most) {
  SONDE_ASSIGN(const std::string text, text_of(request, name));
  std::vector<uint32_t> numbers;
  for (const std::string_view word : split(text, ',')) {
    const auto number = parse_int(word);
    if (!number || *number < 0 || *number > int64_t{UINT32_MAX} || numbers.size() == most) {
      return wrong_ask(fmt::format("is not a list of at most {} whole numbers", most), name);
    }
    numbers.push_back(static_cast<uint32_t>(*number));
  }
  return numbers;
}

Result<std::vector<std::string>> texts_of(const http::Request& request, size_t most) {
  const Error error = wrong_ask(fmt::format("is not a list of at most {} texts", most), "body");
  simdjson::dom::parser parser;
  simdjson::dom::array list;
  if (parser.parse(request.body).get(list) != simdjson::SUCCESS || list.size() > most) return error;
  std::vector<std::string> texts;
  for (const simdjson::dom::element each : list) {
    std::string_view text;
    if (each.get(text) != simdjson::SUCCESS) return error;
    texts.emplace_back(text);
  }
  return texts;
}

}  // namespace sonde::serve
