// Sending to a server, on cpp-httplib 0.11.
#include <httplib.h>

#include "http/server.h"

namespace sonde::http {
namespace {

constexpr int kWaitSeconds = 10;

// Calls `ask` with a client of the URL's host, and the URL's path.
template <typename Ask>
Result<std::string> with_client(const std::string& url, const std::string& token, const Ask& ask) {
  const size_t host = url.find("://");
  const size_t slash = host == url.npos ? url.npos : url.find('/', host + 3);
  const std::string path = slash == url.npos ? "/" : url.substr(slash);
  httplib::Client client(url.substr(0, slash));
  if (!client.is_valid()) return make_error(ErrorCode::kInvalidArgument, "is not a URL", url);
  client.set_connection_timeout(kWaitSeconds);
  client.set_read_timeout(kWaitSeconds);
  client.set_write_timeout(kWaitSeconds);
  httplib::Headers headers;
  if (!token.empty()) headers.emplace("Authorization", "Bearer " + token);
  const httplib::Result answer = ask(client, path, headers);
  if (!answer) {
    const bool nobody = answer.error() == httplib::Error::Connection;
    return make_error(
        ErrorCode::kIo,
        "cannot be reached: " + (nobody ? "no server answers" : httplib::to_string(answer.error())),
        url);
  }
  if (answer->status >= 200 && answer->status < 300) return answer->body;
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
  const auto answer = sonde::http::with_client(
      url, token,
      [&](httplib::Client& client, const std::string& path, const httplib::Headers& headers) {
        return client.Post(path, headers, body, type);
      });
  sent = answer ? sonde::ok_status() : sonde::Status(answer.error());
}

extern "C" __attribute__((visibility("default"))) void sonde_http_get(
    const std::string& url, const std::string& token, sonde::Result<std::string>& got) {
  got = sonde::http::with_client(
      url, token,
      [](httplib::Client& client, const std::string& path, const httplib::Headers& headers) {
        return client.Get(path, headers);
      });
}
