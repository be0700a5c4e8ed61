// A small HTTP server for one user's browser on this machine (`sonde serve`), or for programs that
// collect metrics (`sonde exporter`). It binds loopback only, answers only requests with its token,
// and bounds what a request may cost: the bytes and lines of its head, its body, the time that it
// takes to arrive and to be taken, how many connections there are. What it answers is a function of
// the caller.
//
// The server itself stands on cpp-httplib, which brings OpenSSL; so it is a library apart
// (libsonde-http.so) that is loaded where a server is wanted, and no other command pays for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"

namespace sonde::http {

struct Request {
  std::string method;  // GET (also where HEAD was asked) or POST
  std::string path;    // decoded, begins with a slash; text, never the name of a file
  std::multimap<std::string, std::string> query;
  std::string body;
};

struct Answer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::string tag;  // ETag, with its quotes; "" = the answer is not to be kept
};

using Handler = std::function<Answer(const Request& request)>;

struct Options {
  std::string address = "127.0.0.1";  // of loopback, in numbers
  int port = 0;                       // 0: one that is free
  std::string token;                  // new_token()
  // For programs: without a token everybody on this machine is answered; with one, which they send
  // as "Authorization: Bearer", the address may be any.
  bool for_programs = false;
  Handler handler;      // called by several threads at once
  int64_t idle_ns = 0;  // serve() returns after this time without a request; 0: never
  size_t threads = 8;   // connections that are served at a time
  size_t waiting = 16;  // and that wait for that; more are told so and closed
  size_t head_bytes = 16 << 10;
  size_t head_lines = 64;
  size_t body_bytes = 64 << 10;
  size_t requests = 1000;             // of one connection
  int64_t read_ns = 5'000'000'000;    // from the first byte of a request to its last
  int64_t quiet_ns = 5'000'000'000;   // between two requests of a connection
  int64_t write_ns = 30'000'000'000;  // until an answer is taken
};

class Server {
 public:
  virtual ~Server() = default;
  virtual int port() const = 0;
  // Answers until stop() or the idle time; then ends what is running, and returns.
  virtual Status serve() = 0;
  // Only sets a flag: for any thread and for signal handlers. serve() looks every 200 ms.
  virtual void stop() noexcept = 0;
};

// Binds the port. `library` is the path of libsonde-http.so, which stays loaded.
Result<std::unique_ptr<Server>> make_server(const std::string& library, Options options);

// What a browser is given: http://127.0.0.1:PORT/?token=TOKEN
std::string url_of(const Options& options, int port);

// Sends `body` by POST to an http:// or https:// URL and waits for the answer, at most some
// seconds. An answer that is not a success (2xx) is an error, and so is none.
Status post(const std::string& library, const std::string& url, const std::string& type,
            const std::string& token, const std::string& body);

// What a server answers with success; bounds as for post().
Result<std::string> get(const std::string& library, const std::string& url,
                        const std::string& token);

using Get = void(const std::string& url, const std::string& token, Result<std::string>& got);
constexpr const char* kGet = "sonde_http_get";
using Post = void(const std::string& url, const std::string& type, const std::string& token,
                  const std::string& body, Status& sent);
constexpr const char* kPost = "sonde_http_post";

// The entry of the library. Makes a server in `made`; the caller owns it.
using MakeServer = void(Options&& options, Result<std::unique_ptr<Server>>& made);
constexpr const char* kMakeServer = "sonde_http_make_server";

}  // namespace sonde::http
