// The server as a client sees it that does what it wants, over a socket of loopback.
#include "http/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <thread>

#include "base/time.h"
#include "base/unique_fd.h"
#include "http/guard.h"

namespace sonde::http {
namespace {

#ifdef SONDE_HTTP_LIBRARY
constexpr const char* kLibrary = SONDE_HTTP_LIBRARY;
#else
constexpr const char* kLibrary = "";
#endif
constexpr const char* kToken = "0123456789abcdef0123456789abcdef";
constexpr int64_t kSecond = 1'000'000'000;

struct Got {
  int status = 0;  // 0: closed without an answer
  std::string head, body;
};

class Client {
 public:
  explicit Client(int port, int buffer = 0, const char* to = "127.0.0.1")
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (buffer > 0) ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    const timeval patience = {20, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    ::inet_pton(AF_INET, to, &address.sin_addr);
    connected_ = ::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }

  bool connected() const { return connected_; }

  void send(const std::string& text) {
    for (size_t sent = 0; sent < text.size();) {
      const ssize_t took = ::send(fd_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (took <= 0) return;
      sent += static_cast<size_t>(took);
    }
  }

  // One answer; what follows it stays for the next.
  Got read(bool has_body = true) {
    Got got;
    size_t end;
    while ((end = text_.find("\r\n\r\n")) == text_.npos) {
      if (!more()) return got;
    }
    got.head = text_.substr(0, end + 2);
    text_.erase(0, end + 4);
    got.status = std::stoi(got.head.substr(9, 3));
    const size_t at = got.head.find("Content-Length: ");
    const size_t length = at == got.head.npos ? 0 : std::stoul(got.head.substr(at + 16));
    while (has_body && text_.size() < length) {
      if (!more()) break;
    }
    got.body = text_.substr(0, has_body ? length : 0);
    text_.erase(0, got.body.size());
    return got;
  }

  bool is_closed() { return text_.empty() && !more(); }

  Got ask(const std::string& text) {
    send(text);
    return read();
  }

 private:
  bool more() {
    char bytes[65536];
    const ssize_t got = ::recv(fd_.get(), bytes, sizeof bytes, 0);
    if (got > 0) text_.append(bytes, static_cast<size_t>(got));
    return got > 0;
  }

  UniqueFd fd_;
  std::string text_;
  bool connected_ = false;
};

class HttpServer : public testing::Test {
 protected:
  void SetUp() override {
    if (kLibrary[0] == '\0') GTEST_SKIP() << "no libcpp-httplib-dev";
    options_.token = kToken;
    options_.handler = [](const Request& request) {
      if (request.path == "/throw") throw std::runtime_error("secret");
      if (request.path == "/big") return Answer{200, "text/plain", std::string(64 << 20, 'x'), {}};
      if (request.path == "/tagged") return Answer{200, "text/plain", "same", "\"1\""};
      std::string text = request.method + " " + request.path;
      for (const auto& [key, value] : request.query) text += " " + key + "=" + value;
      return Answer{request.path == "/none" ? 404 : 200, "text/plain", text + request.body, {}};
    };
  }

  void start() {
    auto made = make_server(kLibrary, options_);
    ASSERT_TRUE(made.ok()) << made.error().to_line();
    server_ = std::move(*made);
    thread_ = std::thread([this] { ended_ = server_->serve().ok(); });
  }

  void TearDown() override {
    if (server_) server_->stop();
    if (thread_.joinable()) thread_.join();
    EXPECT_TRUE(ended_ || server_ == nullptr);
  }

  int port() const { return server_->port(); }

  // A request with the token, of which `more` are lines of the head.
  std::string request(const std::string& what, const std::string& more = {}) const {
    return what + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port()) +
           "\r\nCookie: " + cookie_name(port()) + "=" + kToken + "\r\n" + more + "\r\n";
  }
  Got ask(const std::string& text) const { return Client(port()).ask(text); }

  Options options_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
  bool ended_ = false;
};

TEST_F(HttpServer, GreetsWithACookieAndServesWhoHasIt) {
  start();
  const std::string host = "Host: localhost:9\r\n";
  const Got greeted = ask(std::string("GET /?token=") + kToken + " HTTP/1.1\r\n" + host + "\r\n");
  EXPECT_EQ(greeted.status, 200);
  const std::string cookie = cookie_name(port()) + "=" + kToken;
  EXPECT_NE(greeted.head.find("Set-Cookie: " + cookie + "; HttpOnly; SameSite=Strict; Path=/\r\n"),
            std::string::npos)
      << greeted.head;
  const Got got = ask("GET /a%20b?x=%31&y HTTP/1.1\r\n" + host + "Cookie: " + cookie + "\r\n\r\n");
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.body, "GET /a b x=1 y=");
}

TEST_F(HttpServer, SaysHowThePageIsKeptApart) {
  start();
  for (const char* path : {"/", "/none"}) {
    const Got got = ask(request(std::string("GET ") + path));
    for (const char* line :
         {"Content-Security-Policy: default-src 'none'; script-src 'self'",
          "X-Content-Type-Options: nosniff\r\n", "Referrer-Policy: no-referrer\r\n",
          "Cross-Origin-Opener-Policy: same-origin\r\n", "Cache-Control: no-store\r\n",
          "Cross-Origin-Resource-Policy: same-origin\r\n"}) {
      EXPECT_NE(got.head.find(line), std::string::npos) << path << " " << line << got.head;
    }
    EXPECT_EQ(got.head.find("unsafe"), std::string::npos);
    EXPECT_EQ(got.head.find("Access-Control"), std::string::npos);
  }
}

TEST_F(HttpServer, RefusesWhoIsNotLetIn) {
  start();
  const std::string known = cookie_name(port()) + "=" + kToken;
  const auto with = [&](const std::string& lines) {
    return ask("GET / HTTP/1.1\r\n" + lines + "\r\n").status;
  };
  EXPECT_EQ(with("Host: localhost\r\n"), 403);
  EXPECT_EQ(with("Host: evil.org\r\nCookie: " + known + "\r\n"), 403);
  EXPECT_EQ(with("Host: localhost\r\nOrigin: http://evil.org\r\nCookie: " + known + "\r\n"), 403);
  EXPECT_EQ(with("Cookie: " + known + "\r\n"), 403);
  EXPECT_EQ(with("Host: localhost\r\nCookie: " + known + "\r\n"), 200);
  EXPECT_EQ(ask("GET /?token=0 HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 403);
}

TEST_F(HttpServer, AnswersUnderTheAddressThatItListensOn) {
  options_.address = "127.0.0.2";
  start();
  const auto with = [&](const std::string& host) {
    return Client(port(), 0, "127.0.0.2")
        .ask("GET / HTTP/1.1\r\nHost: " + host + "\r\nCookie: " + cookie_name(port()) + "=" +
             kToken + "\r\n\r\n")
        .status;
  };
  EXPECT_EQ(with("127.0.0.2:" + std::to_string(port())), 200);
  EXPECT_EQ(with("127.0.0.3"), 403);
}

TEST_F(HttpServer, ReadsNoRequestOutOfARefusedBody) {
  start();
  const std::string hidden = request("GET /hidden");
  Client client(port());
  client.send(
      "POST / HTTP/1.1\r\nHost: evil.org\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      std::to_string(hidden.size()) + "\r\n\r\n" + hidden);
  EXPECT_EQ(client.read().status, 403);
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpServer, PathsAreText) {
  start();
  for (const char* path : {"/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%5c..%5cetc",
                           "//etc/passwd", "/etc/passwd%00.html"}) {
    const Got got = Client(port()).ask(request(std::string("GET ") + path));
    EXPECT_TRUE(got.status == 200 || got.status == 400) << path;
    EXPECT_EQ(got.body.find("root:"), std::string::npos) << path;
  }
  const Got whole = ask(request("GET http://evil.org/etc/passwd"));
  EXPECT_EQ(whole.body.find("root:"), std::string::npos);
}

TEST_F(HttpServer, HasABoundOnARequest) {
  start();
  const std::string json = "Content-Type: application/json\r\nContent-Length: ";
  EXPECT_EQ(ask(request("POST /p", json + "65536\r\n") + std::string(65536, 'b')).body.size(),
            65536U + 7);
  EXPECT_EQ(ask(request("POST /p", json + "65537\r\n") + std::string(65537, 'b')).status, 413);
  EXPECT_EQ(ask(request("GET /", "X: " + std::string(7000, 'x') + "\r\n")).status, 200);
  EXPECT_EQ(ask(request("GET /", "X: " + std::string(20000, 'x') + "\r\n")).status, 431);
  EXPECT_EQ(ask(std::string(1 << 20, 'G')).status, 431);
  std::string lines;
  for (int i = 0; i < 62; ++i) lines += "X: y\r\n";  // and Host and Cookie
  EXPECT_EQ(ask(request("GET /", lines)).status, 200);
  EXPECT_EQ(ask(request("GET /", lines + "X: y\r\n")).status, 431);
  std::string ranges = "Range: bytes=";
  for (int i = 0; i < 1900; ++i) ranges += "0-1,";
  EXPECT_NE(ask(request("GET /", ranges + "2-3\r\n")).status, 0);
  EXPECT_EQ(ask(request("GET /", "Transfer-Encoding: chunked\r\n") + "5\r\nabcde\r\n").status, 411);
  for (const char* nonsense :
       {"\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\x16\x03\x01\r\n\r\n"}) {
    EXPECT_GE(ask(nonsense).status, 400) << nonsense;
  }
  EXPECT_EQ(ask(request("GET /after")).status, 200);
}

TEST_F(HttpServer, KeepsAConnectionForManyRequests) {
  options_.requests = 5;
  start();
  Client client(port());
  client.send(request("GET /1") + request("GET /2"));  // at once
  EXPECT_EQ(client.read().body, "GET /1");
  EXPECT_EQ(client.read().body, "GET /2");
  client.send(request("HEAD /3"));
  const Got head = client.read(false);
  EXPECT_EQ(head.status, 200);
  EXPECT_NE(head.head.find("Content-Length: 6\r\n"), std::string::npos) << head.head;
  EXPECT_EQ(
      client
          .ask(request("POST /4", "Content-Type: application/json\r\nContent-Length: 2\r\n") + "{}")
          .body,
      "POST /4{}");
  EXPECT_EQ(client.ask(request("GET /5")).body, "GET /5");
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpServer, EndsARequestThatTakesTooLong) {
  options_.read_ns = kSecond / 2;
  options_.quiet_ns = kSecond / 2;
  start();
  const int64_t begin_ns = monotonic_now_ns();
  Client slow(port()), body(port()), quiet(port());
  body.send(request("POST /", "Content-Type: application/json\r\nContent-Length: 9\r\n") + "{");
  for (const char c : std::string("GET / HT")) {  // a byte now and then is not progress
    slow.send(std::string(1, c));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(slow.read().status, 408);
  EXPECT_EQ(body.read().status, 400);
  EXPECT_TRUE(quiet.is_closed());
  EXPECT_LT(monotonic_now_ns() - begin_ns, 10 * kSecond);
  EXPECT_EQ(ask(request("GET /")).status, 200);
}

TEST_F(HttpServer, LetsGoOfAReaderThatDoesNotRead) {
  options_.threads = 1;
  options_.write_ns = kSecond / 2;
  start();
  Client slow(port(), 4096);
  slow.send(request("GET /big"));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(ask(request("GET /")).status, 200) << "the one thread is free again";
}

TEST_F(HttpServer, HasABoundOnConnections) {
  options_.threads = 2;
  options_.waiting = 2;
  options_.read_ns = 3 * kSecond;
  start();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 4; ++i) {  // two are served, two wait
    clients.push_back(std::make_unique<Client>(port()));
    clients.back()->send("G");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(Client(port()).read().status, 503);
  clients.clear();
  int status = 503;  // until the server has seen that they are gone
  for (int i = 0; status == 503 && i < 200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    status = ask(request("GET /")).status;
  }
  EXPECT_EQ(status, 200);
}

TEST_F(HttpServer, KeepsWhatHasATagAndHidesWhatFailed) {
  start();
  const Got first = ask(request("GET /tagged", "Accept-Encoding: gzip, br\r\n"));
  EXPECT_EQ(first.body, "same");
  EXPECT_EQ(first.head.find("Content-Encoding"), std::string::npos);
  EXPECT_NE(first.head.find("ETag: \"1\"\r\n"), std::string::npos);
  EXPECT_EQ(ask(request("GET /tagged", "If-None-Match: \"1\"\r\n")).status, 304);
  const Got failed = ask(request("GET /throw"));
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ((failed.head + failed.body).find("secret"), std::string::npos);
}

TEST_F(HttpServer, EndsWhenIdle) {
  options_.idle_ns = kSecond / 2;
  start();
  EXPECT_EQ(ask("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 403);
  thread_.join();
  EXPECT_TRUE(ended_);
  EXPECT_FALSE(Client(port()).connected());
}

TEST_F(HttpServer, StopsWithConnectionsOpen) {
  start();
  Client quiet(port());
  EXPECT_EQ(quiet.ask(request("GET /")).status, 200);
  const int64_t begin_ns = monotonic_now_ns();
  server_->stop();
  thread_.join();
  EXPECT_TRUE(ended_);
  EXPECT_LT(monotonic_now_ns() - begin_ns, 4 * kSecond);
}

TEST_F(HttpServer, SaysThatAPortIsTaken) {
  start();
  Options second = options_;
  second.port = port();
  const auto made = make_server(kLibrary, second);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().to_line().find("--port"), std::string::npos);
}

}  // namespace
}  // namespace sonde::http
