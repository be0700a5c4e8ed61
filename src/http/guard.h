// Access control: the checks of a request's head before anything else is done with it. A page of
// another site can make a browser send requests here, by a name that resolves to 127.0.0.1 too; and
// on a shared machine every user can connect. So the Host must be a name of loopback or the address
// that the server listens on, the Origin our own, and the token known. Used by the server for each
// request.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sonde::http {

struct Head {
  std::string method;
  std::vector<std::string> tokens;  // values of ?token=
  std::vector<std::pair<std::string, std::string>> headers;
};

struct Verdict {
  enum class Kind {
    kServe,
    kGreet,  // the token came in the URL: set the cookie and go on to the page
    kRefuse
  };
  Kind kind = Kind::kRefuse;
  int status = 403;
  const char* why = "";  // a line for the client; never contains what the request said
};

struct Rules {
  std::string token;
  std::string cookie;  // its name
  size_t body_bytes = 0;
  bool for_programs = false;  // this and the address are those of the Options of server.h
  std::string address = "127.0.0.1";
};

Verdict judge(const Head& head, const Rules& rules);

// 127.0.0.1, localhost, [::1] or the server's address, with any port: through `ssh -L` the browser
// sees another one.
bool is_loopback_host(std::string_view host, const std::string& address);
// An address as URLs and the Host have it: [::1].
std::string host_of(const std::string& address);
// In numbers: 127.x.y.z or ::1.
bool is_loopback_address(const std::string& address);
// Takes the same time wherever they differ.
bool is_same_secret(std::string_view given, std::string_view known);
// 128 random bits in hexadecimal digits.
Result<std::string> new_token();
std::string cookie_name(int port);  // cookies are of all ports of a host

}  // namespace sonde::http
