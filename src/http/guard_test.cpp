#include "http/guard.h"

#include <gtest/gtest.h>

#include <set>

#include "http/server.h"

namespace sonde::http {
namespace {

const Rules kRules = {"0123456789abcdef0123456789abcdef", "sonde_80", 100};

Head get(std::vector<std::pair<std::string, std::string>> more = {}) {
  Head head{"GET", {}, {{"Host", "127.0.0.1:8000"}, {"Cookie", "sonde_80=" + kRules.token}}};
  for (auto& header : more) head.headers.push_back(std::move(header));
  return head;
}

Head post(const char* length, const char* type) {
  Head head = get({{"Content-Length", length}, {"Content-Type", type}});
  head.method = "POST";
  return head;
}

int status(const Head& head) { return judge(head, kRules).status; }

TEST(Guard, ProgramsNeedNoCookie) {
  Rules open = {"", "sonde_80", 100, true};
  Head scrape{"GET", {}, {{"Host", "localhost:9"}}};
  EXPECT_EQ(judge(scrape, open).kind, Verdict::Kind::kServe);
  EXPECT_EQ(judge(scrape, kRules).status, 403);
  scrape.headers[0].second = "attacker.example";  // a name that was made to resolve to 127.0.0.1
  EXPECT_EQ(judge(scrape, open).status, 403);
  EXPECT_EQ(judge({"GET", {}, {{"Host", "localhost"}, {"Origin", "http://x"}}}, open).status, 403);
  // On another address the name is any, and the token decides.
  Rules far = {kRules.token, "sonde_80", 100, true, "10.0.0.7"};
  scrape.headers[0].second = "node7:8001";
  EXPECT_EQ(judge(scrape, far).status, 403);
  scrape.headers.emplace_back("Authorization", "Bearer " + kRules.token);
  EXPECT_EQ(judge(scrape, far).kind, Verdict::Kind::kServe);
  scrape.tokens = {kRules.token};  // would end in logs
  EXPECT_EQ(judge(scrape, far).status, 403);
}

TEST(Guard, KnowsNamesOfLoopback) {
  for (const char* host : {"127.0.0.1", "127.0.0.1:1", "localhost:65535", "[::1]:9000", "[::1]"}) {
    EXPECT_TRUE(is_loopback_host(host, "127.0.0.1")) << host;
  }
  for (const char* host :
       {"", "127.0.0.1.evil.org", "evil.org", "localhost.evil.org", "127.0.0.1:", "127.0.0.1:80x",
        "localhost:123456", "127.0.0.2", "0.0.0.0", "LOCALHOST@evil.org", "127.0.0.1:80:80",
        "127.0.0.1 evil.org", "::1", "localhost:+80"}) {
    EXPECT_FALSE(is_loopback_host(host, "127.0.0.1")) << host;
  }
}

TEST(Guard, KnowsTheAddressThatTheServerListensOn) {
  for (const char* host : {"127.0.0.12", "127.0.0.12:80", "127.0.0.1:80", "localhost"}) {
    EXPECT_TRUE(is_loopback_host(host, "127.0.0.12")) << host;
  }
  for (const char* host : {"127.0.0.2", "127.0.0.123", "127.0.0.12.evil.org", "127.0.0.12:"}) {
    EXPECT_FALSE(is_loopback_host(host, "127.0.0.12")) << host;
  }
  EXPECT_TRUE(is_loopback_host("[0:0:0:0:0:0:0:1]:80", "0:0:0:0:0:0:0:1"));
}

TEST(Guard, BindsToLoopbackOnly) {
  for (const char* address : {"127.0.0.1", "127.8.9.1", "::1"}) {
    EXPECT_TRUE(is_loopback_address(address)) << address;
  }
  for (const char* address : {"0.0.0.0", "::", "10.0.0.1", "localhost", "", "128.0.0.1", "::2"}) {
    EXPECT_FALSE(is_loopback_address(address)) << address;
  }
}

TEST(Guard, LetsInWhoHasTheToken) {
  EXPECT_EQ(judge(get(), kRules).kind, Verdict::Kind::kServe);
  Head script{"GET", {}, {{"host", "localhost:1"}, {"authorization", "Bearer " + kRules.token}}};
  EXPECT_EQ(judge(script, kRules).kind, Verdict::Kind::kServe);
  Head fresh{"GET", {kRules.token}, {{"Host", "[::1]:7"}}};
  EXPECT_EQ(judge(fresh, kRules).kind, Verdict::Kind::kGreet);
  Head many{"GET", {}, {{"Host", "localhost"}, {"Cookie", "a=b; sonde_80=" + kRules.token}}};
  EXPECT_EQ(judge(many, kRules).kind, Verdict::Kind::kServe);
}

TEST(Guard, RefusesWhoHasNotTheToken) {
  for (const std::string& cookie :
       {std::string("sonde_80="), "sonde_80=" + kRules.token.substr(1), "sonde_81=" + kRules.token,
        "sonde_80=" + kRules.token + "0", "x_sonde_80=" + kRules.token, kRules.token}) {
    EXPECT_EQ(status({"GET", {}, {{"Host", "localhost"}, {"Cookie", cookie}}}), 403) << cookie;
  }
  Head guess = get();
  guess.tokens = {"guess"};  // and the right cookie
  EXPECT_EQ(status(guess), 403);
  guess.tokens = {kRules.token, "guess"};
  EXPECT_EQ(status(guess), 403);
  EXPECT_FALSE(is_same_secret("", ""));
}

TEST(Guard, RefusesOtherSites) {
  EXPECT_EQ(status(get({{"Host", "localhost"}})), 403) << "two hosts";
  EXPECT_EQ(status({"GET", {kRules.token}, {}}), 403) << "no host";
  EXPECT_EQ(status({"GET", {kRules.token}, {{"Host", "evil.org"}}}), 403);
  for (const char* origin : {"http://evil.org", "null", "https://127.0.0.1:8000",
                             "http://127.0.0.1:8001", "http://localhost:8000", ""}) {
    EXPECT_EQ(status(get({{"Origin", origin}})), 403) << origin;
  }
  EXPECT_EQ(status(get({{"Origin", "http://127.0.0.1:8000"}})), 200);
  EXPECT_EQ(status(get({{"Sec-Fetch-Site", "cross-site"}})), 403);
  EXPECT_EQ(status(get({{"Sec-Fetch-Site", "same-site"}})), 403) << "another port of this machine";
  EXPECT_EQ(status(get({{"Sec-Fetch-Site", "same-origin"}})), 200);
}

TEST(Guard, KnowsHowLongABodyIs) {
  EXPECT_EQ(status(post("100", "application/json")), 200);
  EXPECT_EQ(status(post("100", "application/json; charset=utf-8")), 200);
  EXPECT_EQ(status(post("101", "application/json")), 413);
  EXPECT_EQ(status(post("99999999999999999999999", "application/json")), 400);
  EXPECT_EQ(status(post("-1", "application/json")), 400);
  EXPECT_EQ(status(post("", "application/json")), 400);
  EXPECT_EQ(status(post("10", "text/plain")), 415) << "what a form of another site can send";
  EXPECT_EQ(status(post("10", "application/jsonx")), 415);
  Head twice = post("10", "application/json");
  twice.headers.emplace_back("content-length", "11");
  EXPECT_EQ(status(twice), 400);
  Head chunked = post("10", "application/json");
  chunked.headers.emplace_back("Transfer-Encoding", "chunked");
  EXPECT_EQ(status(chunked), 411);
  EXPECT_EQ(status(get({{"Content-Length", "5"}})), 400);
  Head other = get();
  for (const char* method : {"PUT", "DELETE", "OPTIONS", "TRACE", "get"}) {
    other.method = method;
    EXPECT_EQ(status(other), 405) << method;
  }
}

TEST(Guard, TokensDiffer) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const auto token = new_token();
    ASSERT_TRUE(token.ok());
    EXPECT_EQ(token->size(), 32U);
    EXPECT_EQ(token->find_first_not_of("0123456789abcdef"), std::string::npos);
    seen.insert(*token);
  }
  EXPECT_EQ(seen.size(), 100U);
}

TEST(Guard, ServerIsForLoopback) {
  Options options;
  options.address = "0.0.0.0";
  options.token = kRules.token;
  options.handler = [](const Request&) { return Answer{}; };
  const auto made = make_server("none.so", options);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
  options.address = "127.0.0.1";
  const auto missing = make_server("/none/libsonde-http.so", options);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().to_line().find("libcpp-httplib"), std::string::npos);
  options.address = "::1";
  EXPECT_EQ(url_of(options, 90), "http://[::1]:90/?token=" + kRules.token);
}

}  // namespace
}  // namespace sonde::http
