#include "http/guard.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <strings.h>
#include <sys/random.h>

#include <cerrno>
#include <optional>

#include "base/strings.h"

namespace sonde::http {
namespace {

std::vector<std::string_view> values_of(const Head& head, const char* name) {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : head.headers) {
    if (::strcasecmp(key.c_str(), name) == 0) values.push_back(value);
  }
  return values;
}

Verdict refuse(int status, const char* why) { return {Verdict::Kind::kRefuse, status, why}; }

std::optional<Verdict> judge_origin(const Head& head, const std::string& address) {
  const auto hosts = values_of(head, "Host");
  if (hosts.size() != 1 || (is_loopback_address(address) && !is_loopback_host(hosts[0], address))) {
    return refuse(403, "the Host is not a name of this machine's loopback");
  }
  for (const std::string_view origin : values_of(head, "Origin")) {
    if (origin != "http://" + std::string(hosts[0])) return refuse(403, "the Origin is another");
  }
  return {};
}

// What follows the head must be known and small, or the next request would be read from it.
std::optional<Verdict> judge_body(const Head& head, size_t most) {
  if (!values_of(head, "Transfer-Encoding").empty()) {
    return refuse(411, "a body is sent with its Content-Length");
  }
  const auto lengths = values_of(head, "Content-Length");
  if (lengths.size() > 1) return refuse(400, "more than one Content-Length");
  size_t length = 0;
  for (const std::string_view text : lengths) {
    const bool digits =
        !text.empty() && text.size() < 16 && text.find_first_not_of("0123456789") == text.npos;
    if (!digits) return refuse(400, "Content-Length is not a number");
    length = static_cast<size_t>(*parse_int(text));
  }
  if (length > most) return refuse(413, "the body is too long");
  if (head.method != "POST") {
    return length == 0 ? std::nullopt : std::optional(refuse(400, "a body without POST"));
  }
  const auto types = values_of(head, "Content-Type");
  const bool json =
      types.size() == 1 && trim(types[0].substr(0, types[0].find(';'))) == "application/json";
  if (!json) return refuse(415, "a body is application/json");
  if (lengths.empty()) return refuse(411, "a body is sent with its Content-Length");
  return {};
}

bool has_cookie(const Head& head, const Rules& rules) {
  for (const std::string_view line : values_of(head, "Cookie")) {
    for (const std::string_view part : split(line, ';')) {
      const std::string_view pair = trim(part);
      const size_t equals = pair.find('=');
      if (equals != pair.npos && pair.substr(0, equals) == rules.cookie &&
          is_same_secret(pair.substr(equals + 1), rules.token)) {
        return true;
      }
    }
  }
  constexpr std::string_view kBearer = "Bearer ";
  for (const std::string_view line : values_of(head, "Authorization")) {
    if (line.substr(0, kBearer.size()) == kBearer &&
        is_same_secret(line.substr(kBearer.size()), rules.token)) {
      return true;
    }
  }
  return false;
}

}  // namespace

Verdict judge(const Head& head, const Rules& rules) {
  if (const auto refused = judge_origin(head, rules.address)) return *refused;
  if (head.method != "GET" && head.method != "HEAD" && head.method != "POST") {
    return refuse(405, "only GET, HEAD and POST");
  }
  if (const auto refused = judge_body(head, rules.body_bytes)) return *refused;
  if (!head.tokens.empty() && rules.for_programs) {
    return refuse(403, "a token is sent as Authorization: Bearer");
  }
  if (!head.tokens.empty()) {  // also from a page elsewhere that holds the URL
    const bool known = head.tokens.size() == 1 && head.method != "POST" &&
                       is_same_secret(head.tokens[0], rules.token);
    if (!known) return refuse(403, "the token is not this server's; take the URL that it printed");
    return {Verdict::Kind::kGreet, 200, ""};
  }
  // Newer browsers say which page made the request; "none" is the address bar.
  for (const std::string_view site : values_of(head, "Sec-Fetch-Site")) {
    if (site != "same-origin" && site != "none") return refuse(403, "asked by another site");
  }
  if (rules.for_programs && rules.token.empty()) return {Verdict::Kind::kServe, 200, ""};
  if (!has_cookie(head, rules)) {
    return refuse(403, "no token; open the URL that the server printed");
  }
  return {Verdict::Kind::kServe, 200, ""};
}

bool is_loopback_host(std::string_view host, const std::string& address) {
  const std::string own = host_of(address);
  for (const std::string_view name : {std::string_view("127.0.0.1"), std::string_view("localhost"),
                                      std::string_view("[::1]"), std::string_view(own)}) {
    if (host.substr(0, name.size()) != name) continue;
    const std::string_view rest = host.substr(name.size());
    const bool is_port = rest.size() >= 2 && rest.size() <= 6 && rest[0] == ':' &&
                         rest.find_first_not_of("0123456789", 1) == rest.npos;
    if (rest.empty() || is_port) return true;  // 127.0.0.12 begins with 127.0.0.1
  }
  return false;
}

bool is_loopback_address(const std::string& address) {
  in_addr four{};
  if (::inet_pton(AF_INET, address.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  in6_addr six{};
  return ::inet_pton(AF_INET6, address.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

bool is_same_secret(std::string_view given, std::string_view known) {
  // The length is no secret; what is in it is.
  if (given.size() != known.size() || known.empty()) return false;
  volatile unsigned char different = 0;
  for (size_t i = 0; i < known.size(); ++i) {
    different = different | static_cast<unsigned char>(given[i] ^ known[i]);
  }
  return different == 0;
}

Result<std::string> new_token() {
  uint8_t bytes[16];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
    return errno_error("no random numbers", "token", errno);
  }
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string host_of(const std::string& address) {
  return address.find(':') == address.npos ? address : "[" + address + "]";
}

std::string cookie_name(int port) { return fmt::format("sonde_{}", port); }

}  // namespace sonde::http
