#include <dlfcn.h>
#include <fmt/format.h>

#include "http/guard.h"
#include "http/server.h"

namespace sonde::http {

namespace {

// A function of the library, which stays loaded.
template <typename Function>
Result<Function*> entry(const std::string& library, const char* name) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return make_error(ErrorCode::kUnsupported, why == nullptr ? "cannot be loaded" : why, library,
                      "it is built where libcpp-httplib-dev is installed, and needs that version's "
                      "libcpp-httplib0.11 or libcpp-httplib0.18 to run");
  }
  auto* found = reinterpret_cast<Function*>(::dlsym(handle, name));
  if (found != nullptr) return found;
  return make_error(ErrorCode::kBadData, "is of another version of sonde", library,
                    "install sonde again");
}

}  // namespace

Result<std::unique_ptr<Server>> make_server(const std::string& library, Options options) {
  const bool has_token = options.token.size() >= 32;
  if (!is_loopback_address(options.address) && !(options.for_programs && has_token)) {
    return make_error(ErrorCode::kInvalidArgument, "not a loopback address", options.address,
                      options.for_programs
                          ? "another address needs --token-file"
                          : "the server is for this machine; from another machine use ssh -L");
  }
  SONDE_CHECK((has_token || (options.for_programs && options.token.empty())) &&
              options.handler != nullptr);
  SONDE_ASSIGN(MakeServer* const make, entry<MakeServer>(library, kMakeServer));
  Result<std::unique_ptr<Server>> made = make_error(ErrorCode::kInternal, "made no server");
  make(std::move(options), made);
  return made;
}

Status post(const std::string& library, const std::string& url, const std::string& type,
            const std::string& token, const std::string& body) {
  SONDE_ASSIGN(Post* const send, entry<Post>(library, kPost));
  Status sent = ok_status();
  send(url, type, token, body, sent);
  return sent;
}

Result<std::string> get(const std::string& library, const std::string& url,
                        const std::string& token) {
  SONDE_ASSIGN(Get* const fetch, entry<Get>(library, kGet));
  Result<std::string> got = make_error(ErrorCode::kInternal, "got no answer", url);
  fetch(url, token, got);
  return got;
}

std::string url_of(const Options& options, int port) {
  return fmt::format("http://{}:{}/?token={}", host_of(options.address), port, options.token);
}

}  // namespace sonde::http
