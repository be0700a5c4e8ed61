// The parameters of an ask of the page, checked, and refusals. Private to src/serve.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/server.h"

namespace sonde::serve {

constexpr const char* kJson = "application/json";

Error wrong_ask(const std::string& what, const std::string& on);
http::Answer refusal(const Error& error);

// The one value of a parameter.
Result<std::string> text_of(const http::Request& request, const char* name);
Result<int64_t> number_of(const http::Request& request, const char* name);
Result<std::vector<uint32_t>> numbers_of(const http::Request& request, const char* name,
                                         size_t most);
// The body: a list of at most `most` texts in JSON.
Result<std::vector<std::string>> texts_of(const http::Request& request, size_t most);

}  // namespace sonde::serve
