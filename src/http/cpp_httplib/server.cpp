// The server on cpp-httplib, 0.11 to 0.18. The library parses requests and writes answers;
// connections, bounds and checks are ours, and nothing is compressed, since the browser is on this
// machine.
#include "http/server.h"

#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/time.h"
#include "http/cpp_httplib/bounded_queue.h"
#include "http/cpp_httplib/limited_stream.h"
#include "http/guard.h"

namespace sonde::http {
namespace {

constexpr int64_t kLookNs = 200'000'000;
constexpr const char* kText = "text/plain; charset=utf-8";

// No script but the page's own files, nothing from elsewhere, and no frame around it.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

// The browser goes on by itself. It is our page that asks then, so that the cookie is sent; after a
// redirect it would not be where the URL was on a page of another site. With an icon of its own, so
// that the browser does not ask for one meanwhile.
constexpr const char* kGreeting =
    "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<link rel=\"icon\" href=\"data:,\"><meta http-equiv=\"refresh\" content=\"0; url=/\"><title>Sonde</title></head>"
    "<body><a href=\"/\">Go on</a></body></html>\n";

class HttplibServer : public Server, private httplib::Server {
 public:
  explicit HttplibServer(http::Options options) : options_(std::move(options)) {
    using httplib::Headers;
    set_tcp_nodelay(true);
    set_payload_max_length(options_.body_bytes);
    // The default lets other processes share the port.
    set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    set_idle_interval(0, kLookNs / 1000);
    set_default_headers(Headers{{"Content-Security-Policy", kPolicy},
                                {"X-Content-Type-Options", "nosniff"},
                                {"Referrer-Policy", "no-referrer"},
                                {"Cross-Origin-Opener-Policy", "same-origin"},
                                {"Cross-Origin-Resource-Policy", "same-origin"}});
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      return before(request, response);
    });
    set_exception_handler([](const httplib::Request&, httplib::Response& response,
                             const std::exception_ptr&) { plain(response, 500, "failed"); });
    // Bodies are read by the library before this is called.
    Post("[\\s\\S]*", [this](const httplib::Request& request, httplib::Response& response) {
      answer(request, response);
    });
    new_task_queue = [this] {
      queue_ = new BoundedQueue(options_.threads, options_.waiting, [this] { look(); });
      return queue_;  // the library's to delete
    };
  }

  Status bind() {
    errno = 0;
    const int wanted = options_.port;
    if (wanted == 0) {
      port_ = bind_to_any_port(options_.address);
    } else if (bind_to_port(options_.address, wanted)) {
      port_ = wanted;
    }
    if (port_ <= 0) {
      Error error =
          errno_error("cannot listen", options_.address + ":" + std::to_string(wanted), errno);
      error.hint = "another program may listen there; --port 0 takes a port that is free";
      return error;
    }
    rules_ = {.token = options_.token,
              .cookie = cookie_name(port_),
              .body_bytes = options_.body_bytes,
              .for_programs = options_.for_programs,
              .address = options_.address};
    return ok_status();
  }

  int port() const override { return port_; }
  void stop() noexcept override { stopping_ = true; }

  Status serve() override {
    last_ns_ = monotonic_now_ns();
    accepting_ = std::this_thread::get_id();
    const bool ended = listen_after_bind();
    if (ended || stopping_) return ok_status();
    return make_error(ErrorCode::kIo, "no more connections are accepted",
                      options_.address + ":" + std::to_string(port_));
  }

 private:
  static void plain(httplib::Response& response, int status, const char* line) {
    response.status = status;
    response.set_content(std::string(line) + "\n", kText);
    response.set_header("Cache-Control", "no-store");
  }

  static Head head_of(const httplib::Request& request) {
    Head head{request.method, {}, {request.headers.begin(), request.headers.end()}};
    const auto tokens = request.params.equal_range("token");
    for (auto at = tokens.first; at != tokens.second; ++at) head.tokens.push_back(at->second);
    return head;
  }

  void look() {
    const bool idle =
        options_.idle_ns > 0 && running_ == 0 && monotonic_now_ns() - last_ns_ >= options_.idle_ns;
    if (idle) stopping_ = true;
    if (stopping_) httplib::Server::stop();
  }

  // Everything but POST ends here; those who are not let in end here too, with the connection,
  // since a body may follow.
  HandlerResponse before(const httplib::Request& request, httplib::Response& response) {
    const Verdict verdict = judge(head_of(request), rules_);
    if (verdict.kind == Verdict::Kind::kRefuse) {
      plain(response, verdict.status, verdict.why);
      response.set_header("Connection", "close");
      return HandlerResponse::Handled;
    }
    last_ns_ = monotonic_now_ns();
    if (verdict.kind == Verdict::Kind::kGreet) {
      response.status = 200;
      response.set_content(kGreeting, "text/html; charset=utf-8");
      response.set_header("Cache-Control", "no-store");
      response.set_header(
          "Set-Cookie", rules_.cookie + "=" + rules_.token + "; HttpOnly; SameSite=Strict; Path=/");
      return HandlerResponse::Handled;
    }
    if (request.method == "POST") return HandlerResponse::Unhandled;
    answer(request, response);
    return HandlerResponse::Handled;
  }

  void answer(const httplib::Request& request, httplib::Response& response) {
    ++running_;
    Answer answer;
    try {
      answer = options_.handler({request.method == "POST" ? "POST" : "GET",
                                 request.path,
                                 {request.params.begin(), request.params.end()},
                                 request.body});
    } catch (const std::exception&) {
      answer = {500, kText, "failed\n", {}};
    }
    --running_;
    last_ns_ = monotonic_now_ns();
    response.status = answer.status;
    response.set_header("Cache-Control", answer.tag.empty() ? "no-store" : "no-cache");
    if (!answer.tag.empty()) {
      response.set_header("ETag", answer.tag);
      if (request.get_header_value("If-None-Match") == answer.tag) {
        response.status = 304;
        return;
      }
    }
    response.set_content(answer.body, answer.type);
  }

  // A connection, from its first request to its last.
  bool process_and_close_socket(socket_t socket) override {
    LimitedStream stream(socket, options_);
    if (std::this_thread::get_id() == accepting_) {
      stream.refuse(503, "Too many connections");
    } else {
      for (size_t i = 0; i < options_.requests && next_request(stream); ++i) {
        if (!one_request(stream, i + 1 == options_.requests)) break;
      }
      stream.linger();
    }
    ::close(socket);
    return true;
  }

  // Waits; a connection that is quiet makes room for one that waits.
  bool next_request(LimitedStream& stream) {
    const int64_t until_ns = monotonic_now_ns() + options_.quiet_ns;
    while (!stopping_) {
      if (stream.has_more(kLookNs)) return true;
      if (stream.is_gone() || monotonic_now_ns() >= until_ns || queue_->has_waiting()) return false;
    }
    return false;
  }

  // Whether the connection may go on.
  bool one_request(LimitedStream& stream, bool last) {
    switch (stream.take_head()) {
      case LimitedStream::Arrived::kGone:
        return false;
      case LimitedStream::Arrived::kLate:
        stream.refuse(408, "The request took too long");
        return false;
      case LimitedStream::Arrived::kTooLong:
        stream.refuse(431, "The head of the request is too long");
        return false;
      case LimitedStream::Arrived::kWhole:
        break;
    }
    bool closed = false;
    bool let_in = false;  // stays so if the library could not read the request
    const auto prepare = [&](httplib::Request& request) {
      let_in = judge(head_of(request), rules_).kind != Verdict::Kind::kRefuse;
      request.headers.erase("Accept-Encoding");
      request.headers.erase("Expect");  // a body this small is not waited for
    };
    const bool served = process(stream, last, closed, prepare);
    return served && let_in && !closed && !last;
  }

  // Later versions are told the addresses, which earlier ones ask the stream for.
  bool process(LimitedStream& stream, bool last, bool& closed,
               const std::function<void(httplib::Request&)>& prepare) {
#if SONDE_HTTPLIB_MINOR < 18
    return process_request(stream, last, closed, prepare);
#else
    const std::string& address = options_.address;
    return process_request(stream, address, 0, address, port_, last, closed, prepare);
#endif
  }

  const http::Options options_;
  Rules rules_;
  int port_ = 0;
  BoundedQueue* queue_ = nullptr;
  std::thread::id accepting_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> running_ = 0;
  std::atomic<int64_t> last_ns_ = 0;
};

}  // namespace
}  // namespace sonde::http

extern "C" __attribute__((visibility("default"))) void sonde_http_make_server(
    sonde::http::Options&& options, sonde::Result<std::unique_ptr<sonde::http::Server>>& made) {
  auto server = std::make_unique<sonde::http::HttplibServer>(std::move(options));
  if (const sonde::Status bound = server->bind(); !bound) {
    made = bound.error();
    return;
  }
  made = std::unique_ptr<sonde::http::Server>(std::move(server));
}
