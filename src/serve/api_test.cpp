// The API on a trace that the test writes: what it answers, and what it refuses.
#include "serve/api.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "base/test_support.h"
#include "store/writer.h"
#include "timeline/tile_test_support.h"

namespace sonde::serve {
namespace {

using test::has;
using test::value_of;

constexpr int64_t kBegin = 7'000'000'000;

// Two GPUs with 300 kernels each, a call before each, and a name that wants to be run.
void write_trace(const std::string& path) {
  auto writer = value_of(store::Writer::open(path, store::Writer::Mode::kCreate));
  for (int i = 0; i < 600; ++i) {
    const int64_t start = kBegin + 1000 * i;
    const int64_t api = writer.api(
        {7, 8 + i % 2, start, start + 100, writer.string("launch"), 0, writer.string("hip"), 0});
    const int64_t op = writer.op({i % 2, 0, 0, start + 200, start + 900,
                                  writer.string(i == 0 ? "<img src=x onerror=\"a()\">" : "kernel"),
                                  writer.string("KernelExecution")});
    writer.api_op(api, op);
  }
  ASSERT_TRUE(writer.finish().ok());
}

class ServeApi : public testing::Test {
 protected:
  void SetUp() override {
    write_trace(path_);
    api_.emplace(value_of(Api::open({{path_, ""}})));
    // A busy machine may take longer than the API waits for a small trace.
    while (ask("tracks", {{"trace", "0"}}).status == 503) {
    }
  }

  using Query = std::multimap<std::string, std::string>;
  http::Answer ask(const std::string& path, Query query = {}) const {
    return api_->answer({"GET", "/api/" + path, std::move(query), {}});
  }

  test::TemporaryDirectory folder_;
  const std::string path_ = folder_ / "a trace.rpd";
  std::optional<Api> api_;
};

TEST_F(ServeApi, SaysWhatThereIs) {
  const http::Answer traces = ask("traces");
  EXPECT_EQ(traces.status, 200);
  EXPECT_EQ(traces.type, "application/json");
  EXPECT_TRUE(has(traces.body,
                  "\"start_ns\": 0, \"end_ns\": 599900, \"ops\": 600, \"apis\": 600, "
                  "\"counted\": false"));
  const http::Answer tracks = ask("tracks", {{"trace", "0"}});
  EXPECT_TRUE(
      has(tracks.body,
          "{\"kind\": \"gpu\", \"owner\": 0, \"number\": 0, \"first_lane\": 0, \"lanes\": 1, "
          "\"events\": 300, \"lane_events\": [300], \"device\": \"\", \"name\": \"\", "
          "\"process\": \"\"},\n"
          "{\"kind\": \"queue\", \"owner\": 0, \"number\": 0, \"first_lane\": 1, \"lanes\": 1, "
          "\"events\": 300, \"lane_events\": [300], \"device\": \"\", \"name\": \"\", "
          "\"process\": \"\"}"));
  EXPECT_TRUE(has(tracks.body, "{\"kind\": \"thread\", \"owner\": 7, \"number\": 9, "));
}

TEST_F(ServeApi, LeadsFromATileToTheEventAndItsName) {
  const http::Answer tile =
      ask("tiles", {{"trace", "0"}, {"lanes", "1,0"}, {"level", "12"}, {"tile", "0"}});
  ASSERT_EQ(tile.status, 200);
  const auto lanes = timeline::TileReader(tile.body).lanes();
  ASSERT_EQ(lanes.size(), 2U);
  ASSERT_EQ(lanes[0].row.size(), 300U);
  EXPECT_EQ(lanes[0].start_ns[0], 200);
  const auto name = std::to_string(lanes[0].name[0]);
  EXPECT_EQ(ask("names", {{"trace", "0"}, {"ids", name}}).body,
            "{\"" + name + "\": \"<img src=x onerror=\\\"a()\\\">\"}\n");
  EXPECT_EQ(
      ask("event", {{"trace", "0"}, {"table", "op"}, {"row", std::to_string(lanes[0].row[1])}})
          .body,
      "{\"name\": \"kernel\", \"start_ns\": 2200, \"duration_ns\": 700, \"table\": \"op\", \"row\": 2, "
      "\"lane\": 1, \"type\": \"KernelExecution\", \"gpu\": 0, \"queue\": 0, \"call\": {\"name\": "
      "\"launch\", \"start_ns\": 2000, \"duration_ns\": 100, \"table\": \"api\", \"row\": 2, "
      "\"lane\": 4}}\n");
  EXPECT_TRUE(has(ask("event", {{"trace", "0"}, {"table", "api"}, {"row", "3"}}).body,
                  "\"domain\": \"hip\", \"launched\": 1, \"operations\": [{\"name\": \"kernel\", "
                  "\"start_ns\": 3200, \"duration_ns\": 700, \"table\": \"op\", \"row\": 3, "
                  "\"lane\": 3}]}"));
}

TEST_F(ServeApi, AnswersOfTheVersionThatIsAskedFor) {
  for (const char* path : {"tracks", "counters"}) {
    EXPECT_EQ(ask(path, {{"trace", "0"}, {"v", "1"}}).status, 200) << path;
    EXPECT_EQ(ask(path, {{"trace", "0"}, {"v", "2"}}).status, 409) << path;
    EXPECT_EQ(ask(path, {{"trace", "0"}, {"v", "x"}}).status, 400) << path;
  }
}

TEST_F(ServeApi, FindsNeighboursAndNames) {
  const auto next = [&](Query query) {
    query.insert({{"trace", "0"}, {"lane", "1"}, {"time", "200"}});
    return ask("next", std::move(query)).body;
  };
  EXPECT_TRUE(has(next({{"back", "0"}}), "\"start_ns\": 2200, "));
  EXPECT_EQ(next({{"back", "1"}}), "null\n");
  EXPECT_TRUE(has(next({{"back", "0"}, {"text", "KERN"}}), "\"start_ns\": 1200, "));
  EXPECT_EQ(next({{"back", "0"}, {"text", "onerror"}}), "null\n");
  const http::Answer hits = ask(
      "search", {{"trace", "0"}, {"text", "launch"}, {"from", "0"}, {"to", "2000"}, {"bins", "4"}});
  EXPECT_EQ(hits.body,
            "{\"events\": 600, \"names\": 1, \"first\": [{\"name\": \"launch\", \"events\": 600}], "
            "\"lanes\": [{\"lane\": 4, \"bins\": [0]},\n{\"lane\": 5, \"bins\": [2]}]}\n");
}

TEST_F(ServeApi, SaysWhereAFindingIsSeen) {
  const http::Answer findings = ask("findings", {{"trace", "0"}});
  ASSERT_EQ(findings.status, 200) << findings.body;
  // Each GPU works for 700 ns of 2000.
  EXPECT_TRUE(has(findings.body, "\"finding\": \"launch-bound\""));
  EXPECT_TRUE(has(findings.body, "\"from_ns\": 900, \"to_ns\": 2200, \"gpu\": 0}"));
}

TEST_F(ServeApi, MakesPanelsOfASelection) {
  const http::Answer panel =
      ask("panel", {{"trace", "0"}, {"analysis", "busy"}, {"from", "1000ns"}, {"to", "2000ns"}});
  EXPECT_EQ(panel.status, 200) << panel.body;
  EXPECT_TRUE(has(panel.body, "\"busy_ns\": 700"));
  const http::Answer cut = ask("panel", {{"trace", "0"}, {"analysis", "top"}, {"limit", "1"}});
  EXPECT_TRUE(has(cut.body, "kernel"));
  EXPECT_FALSE(has(cut.body, "img"));
}

TEST_F(ServeApi, AsksInSql) {
  const auto sql = [&](const std::string& text) {
    return ask("sql", {{"trace", "0"}, {"sql", text}});
  };
  EXPECT_EQ(
      sql("SELECT gpu_id AS g, count(*) FROM v_op GROUP BY 1").body,
      "{\"columns\": [\"g\", \"count(*)\"], \"cut\": false, \"rows\": [[0, 300],\n[1, 300]]}\n");
  for (const char* refused :
       {"DELETE FROM rocpd_op", "PRAGMA user_version", "SELECT nothing", ""}) {
    const http::Answer answer = sql(refused);
    EXPECT_EQ(answer.status, 400) << answer.body;
    EXPECT_EQ(answer.body.rfind("{\"error\": \"", 0), 0U);
  }
  EXPECT_TRUE(has(sql("SELECT count(*) FROM rocpd_op").body, "[[600]]"));
}

TEST_F(ServeApi, RefusesWhatItDoesNotKnow) {
  struct Case {
    int status;
    const char* path;
    Query query;
  };
  const std::vector<Case> cases = {
      {404, "", {}},
      {404, "../traces", {}},
      {404, "traces/", {}},
      {400, "tracks", {}},
      {404, "tracks", {{"trace", "1"}}},
      {400, "tracks", {{"trace", "/etc/passwd"}}},
      {400, "tracks", {{"trace", "-1"}}},
      {400, "tracks", {{"trace", "0"}, {"trace", "0"}}},
      {400, "tiles", {{"trace", "0"}, {"lanes", ""}, {"level", "1"}, {"tile", "0"}}},
      {404, "tiles", {{"trace", "0"}, {"lanes", "99"}, {"level", "1"}, {"tile", "0"}}},
      {400, "tiles", {{"trace", "0"}, {"lanes", "4294967296"}, {"level", "1"}, {"tile", "0"}}},
      {400, "tiles", {{"trace", "0"}, {"lanes", "0"}, {"level", "41"}, {"tile", "0"}}},
      {400,
       "tiles",
       {{"trace", "0"}, {"lanes", "0"}, {"level", "9"}, {"tile", "9223372036854775807"}}},
      {404, "names", {{"trace", "0"}, {"ids", "999999"}}},
      {404, "event", {{"trace", "0"}, {"table", "op"}, {"row", "600"}}},
      {400, "event", {{"trace", "0"}, {"table", "rocpd_op"}, {"row", "0"}}},
      {400, "next", {{"trace", "0"}, {"lane", "1"}, {"time", "0"}, {"back", "2"}}},
      {404, "next", {{"trace", "0"}, {"lane", "9"}, {"time", "0"}, {"back", "0"}}},
      {400,
       "next",
       {{"trace", "0"}, {"lane", "1"}, {"time", "9223372036854775807"}, {"back", "0"}}},
      {400, "search", {{"trace", "0"}, {"text", "x"}, {"from", "5"}, {"to", "5"}, {"bins", "9"}}},
      {400, "findings", {}},
      {400, "panel", {{"trace", "0"}}},
      {400, "panel", {{"trace", "0"}, {"analysis", "nothing"}}},
      {400, "panel", {{"trace", "0"}, {"analysis", "top"}, {"from", "soon"}}},
      {400, "panel", {{"trace", "0"}, {"analysis", "top"}, {"gpu", "x"}}},
      {400, "panel", {{"trace", "0"}, {"analysis", "top"}, {"output", "/tmp/x"}}},
      {400, "panel", {{"trace", "0"}, {"analysis", "top"}, {"kernel", "("}}},
      {400, "panel", {{"trace", "0"}, {"analysis", "top"}, {"sort", "nothing"}}},
      {400, "panel", {{"trace", "0"}, {"analysis", "top"}, {"gpu", "0"}, {"gpu", "1"}}},
  };
  for (const Case& each : cases) {
    const http::Answer answer = ask(each.path, each.query);
    EXPECT_EQ(answer.status, each.status) << each.path << " " << answer.body;
    EXPECT_EQ(answer.body.rfind("{\"error\": \"", 0), 0U) << answer.body;
  }
  EXPECT_EQ(api_->answer({"POST", "/api/traces", {}, "{}"}).status, 400);
}

TEST_F(ServeApi, AnswersSeveralAtOnce) {
  const std::string expected = ask("panel", {{"trace", "0"}, {"analysis", "top"}}).body;
  std::atomic<int> made = 0, told_to_wait = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&] {
      const http::Answer answer = ask("panel", {{"trace", "0"}, {"analysis", "top"}});
      if (answer.status == 503) {
        ++told_to_wait;
      } else {
        ++(answer.body == expected ? made : wrong);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(made, 4);
  EXPECT_EQ(made + told_to_wait, 12);
  EXPECT_EQ(ask("panel", {{"trace", "0"}, {"analysis", "top"}}).status, 200);
}

TEST(ServeApiOpen, NamesTheFileThatCannotBeRead) {
  const auto api = Api::open({{"/none/trace.rpd", ""}});
  ASSERT_FALSE(api.ok());
  EXPECT_TRUE(has(api.error().to_line(), "/none/trace.rpd"));
}

}  // namespace
}  // namespace sonde::serve
