// Sending to a server, on cpp-httplib 0.11.
#include <httplib.h>

#include "http/server.h"

namespace sonde::http {
namespace {

constexpr int kWaitSeconds = 10;

Status post_to(const std::string& url, const std::string& type, const std::string& token,
               const std::string& body) {
  const size_t host = url.find("://");
  const size_t slash = host == url.npos ? url.npos : url.find('/', host + 3);
  const std::string path = slash == url.npos ? "/" : url.substr(slash);
  httplib::Client client(url.substr(0, slash));
  if (!client.is_valid()) return make_error(ErrorCode::kInvalidArgument, "is no URL", url);
  client.set_connection_timeout(kWaitSeconds);
  client.set_read_timeout(kWaitSeconds);
  client.set_write_timeout(kWaitSeconds);
  httplib::Headers headers;
  if (!token.empty()) headers.emplace("Authorization", "Bearer " + token);
  const auto answer = client.Post(path, headers, body, type);
  if (!answer) {
    return make_error(ErrorCode::kIo, "cannot be reached: " + httplib::to_string(answer.error()),
                      url);
  }
  if (answer->status >= 200 && answer->status < 300) return ok_status();
  return make_error(ErrorCode::kIo, "refuses it with status " + std::to_string(answer->status),
                    url);
}

}  // namespace
}  // namespace sonde::http

extern "C" __attribute__((visibility("default"))) void sonde_http_post(const std::string& url,
                                                                       const std::string& type,
                                                                       const std::string& token,
                                                                       const std::string& body,
                                                                       sonde::Status& sent) {
  sent = sonde::http::post_to(url, type, token, body);
}
