// Hostile and unusual Chrome JSON. Real traces are compared with exact figures in tests/importers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <tuple>

#include "base/gzip_test_support.h"
#include "importers/input/json_windows.h"
#include "importers/sink/sink_test_support.h"

namespace sonde::importers {

Importer kineto_importer();

namespace {

ImportedText import_json(std::string_view json, const std::string& name = "trace.json") {
  return import_text(kineto_importer(), json, name);
}

std::string event(const std::string& name, const std::string& more) {
  return R"({"ph":"X","cat":"cpu_op","name":")" + name + R"(","pid":7,"tid":8,"ts":1,"dur":2)" +
         more + "}";
}

std::string document(const std::string& events) { return "{\"traceEvents\":[" + events + "]}"; }

uint64_t total(const std::vector<Tally::Entry>& entries) {
  return std::accumulate(entries.begin(), entries.end(), uint64_t{0},
                         [](uint64_t sum, const Tally::Entry& entry) { return sum + entry.count; });
}

TEST(Kineto, KeepsNamesOfEveryKind) {
  const std::string long_name(10'000, 'x');
  const auto made = import_json(document(event(R"(say \"hi\"\n\\ \u00e9 {[,)", "") + "," +
                                         event(long_name, "") + "," + event("", "")));
  ASSERT_TRUE(made.status.ok());
  ASSERT_EQ(made.sink.apis.size(), 3u);
  EXPECT_EQ(made.sink.apis[0].name, "say \"hi\"\n\\ \xc3\xa9 {[,");
  EXPECT_EQ(made.sink.apis[1].name, long_name);
  EXPECT_EQ(made.sink.apis[2].name, "");
  EXPECT_EQ(total(made.tally.skipped()) + total(made.tally.repaired()), 0u);
}

TEST(Kineto, RepairsTextsAndCountsThem) {
  const auto made = import_json(document(event("good", "") + "," + event("bad \xff utf8", "") +
                                         "," + event("line\nbreak", "")));
  ASSERT_EQ(made.sink.apis.size(), 3u);
  EXPECT_EQ(made.sink.apis[1].name, "bad \xef\xbf\xbd utf8");
  EXPECT_EQ(made.sink.apis[2].name, "line break");
  EXPECT_EQ(total(made.tally.repaired()), 2u);
  EXPECT_NE(made.tally.warnings()[0].find("trace.json, byte "), std::string::npos);
}

TEST(Kineto, OneBrokenEventCostsNoOther) {
  const auto made = import_json(document(event("a", "") + R"(,{"ph":"X","name" 3},17,"text",)" +
                                         event("b", "") + R"(,{"ph":"X"},)" + event("c", "")));
  ASSERT_EQ(made.sink.apis.size(), 3u);
  EXPECT_EQ(made.sink.apis[2].name, "c");
  EXPECT_EQ(total(made.tally.skipped()), 4u);  // broken, two that are not events, one without ts
}

TEST(Kineto, NumbersThatAreNone) {
  const auto made =
      import_json(document(event("nan", R"(,"args":{"a":NaN,"b":"NaN","c":[-Infinity,1]})") + "," +
                           R"({"ph":"X","name":"t","pid":1,"tid":1,"ts":NaN,"dur":1})"));
  ASSERT_EQ(made.sink.apis.size(), 1u);
  EXPECT_EQ(made.sink.apis[0].args, R"({"a":null,"b":"NaN","c":[null,1]})");
  EXPECT_EQ(total(made.tally.skipped()), 1u);
  EXPECT_EQ(total(made.tally.repaired()), 2u);
}

TEST(Kineto, TimesKeepEveryNanosecond) {
  const auto made = import_json(
      document(R"({"ph":"X","name":"far","pid":1,"tid":1,"ts":4503599627370497.001,"dur":0.001},)"
               R"({"ph":"X","name":"text","pid":"1","tid":"2","ts":"1.5","dur":"0"},)"
               R"({"ph":"X","name":"back","pid":1,"tid":1,"ts":5,"dur":-2},)"
               R"({"ph":"X","name":"huge","pid":1,"tid":1,"ts":1e30,"dur":1})"));
  ASSERT_EQ(made.sink.apis.size(), 3u);
  EXPECT_EQ(made.sink.apis[0].row.start_ns, 4503599627370497001);
  EXPECT_EQ(made.sink.apis[0].row.end_ns, 4503599627370497002);
  EXPECT_EQ(made.sink.apis[1].row.start_ns, 1500);
  EXPECT_EQ(made.sink.apis[1].pid, 1);
  EXPECT_EQ(made.sink.apis[1].row.tid, 2);
  EXPECT_EQ(made.sink.apis[2].row.end_ns, 3000);
  EXPECT_EQ(total(made.tally.skipped()), 1u);
  EXPECT_EQ(total(made.tally.repaired()), 2u);  // the negative duration, and the time of "huge"
}

TEST(Kineto, AKeyTwiceTakesTheLast) {
  const auto made = import_json(document(event("first", R"(,"name":"last")")));
  EXPECT_EQ(made.sink.apis.at(0).name, "last");
  EXPECT_EQ(total(made.tally.repaired()), 1u);
}

TEST(Kineto, ATruncatedFileKeepsTheGoodPart) {
  const std::string whole = document(event("a", "") + "," + event("b", "") + "," + event("c", ""));
  for (size_t size = whole.find("\"c\""); size < whole.size() - 3; ++size) {
    const auto made = import_json(whole.substr(0, size));
    ASSERT_TRUE(made.status.ok()) << size;
    ASSERT_EQ(made.sink.apis.size(), 2u) << size;
    EXPECT_EQ(total(made.tally.skipped()), 1u) << size;
  }
  const auto no_end = import_json(whole.substr(0, whole.size() - 1));
  EXPECT_EQ(no_end.sink.apis.size(), 3u);
  EXPECT_EQ(total(no_end.tally.repaired()), 1u);
}

TEST(Kineto, ATruncatedGzipKeepsTheGoodPart) {
  std::string events;
  for (int i = 0; i < 5000; ++i) {
    events += event("name" + std::to_string(i * 7919), "") + (i < 4999 ? "," : "");
  }
  const std::string packed = test::gzip(document(events));
  EXPECT_EQ(import_json(packed).sink.apis.size(), 5000u);

  const auto cut = import_json(packed.substr(0, packed.size() / 2));
  ASSERT_TRUE(cut.status.ok());
  EXPECT_GT(cut.sink.apis.size(), 1000u);
  EXPECT_LT(cut.sink.apis.size(), 5000u);
  EXPECT_GE(total(cut.tally.repaired()), 1u);
}

TEST(Kineto, LinksByCorrelationInWhicheverOrder) {
  const auto call = [](const std::string& name, int id, const std::string& more) {
    return R"({"ph":"X","cat":"cuda_runtime","name":")" + name +
           R"(","pid":7,"tid":8,"ts":1,"dur":1,"args":{"correlation":)" + std::to_string(id) +
           more + "}}";
  };
  const auto kernel = [](const std::string& name, const std::string& args) {
    return R"({"ph":"X","cat":"kernel","name":")" + name +
           R"(","pid":2,"tid":0,"ts":5,"dur":1,"args":{"device":2,"stream":3,)" + args + "}}";
  };
  const auto made = import_json(document(
      kernel("early",
             R"("correlation":1,"grid":[4,2,1],"block":[64,1,1],"kind":"Dispatch Kernel")") +
      "," + call("hipLaunchKernel", 1, "") + "," +
      call("hipExtModuleLaunchKernel", 2,
           R"(,"grid":[256,2,1],"block":[64,1,1],"shared memory":9)") +
      "," + kernel("bare", R"("correlation":2)") + "," + kernel("graph1", R"("correlation":1)") +
      "," + kernel("before", R"("correlation":99,"grid":[4,1,1],"block":[64,1,1])")));
  const auto& early = made.sink.find_op("early");
  EXPECT_EQ(early.launch.api, 1);
  EXPECT_EQ(early.launch.grid[0], 256);  // groups times their size
  EXPECT_EQ(early.row.gpu, 2);
  EXPECT_EQ(early.row.queue, 3);
  const auto& bare = made.sink.find_op("bare");
  EXPECT_EQ(bare.launch.api, 2);
  EXPECT_EQ(bare.launch.grid[0], 256);  // work items already
  EXPECT_EQ(bare.launch.group_segment_bytes, 9);
  EXPECT_EQ(made.sink.find_op("graph1").launch.api, 1);
  const auto& before = made.sink.find_op("before");
  EXPECT_TRUE(before.launched);
  EXPECT_EQ(before.launch.api, 0);
  EXPECT_EQ(before.launch.grid[0], -1);  // groups or work items: nobody says
  EXPECT_EQ(before.launch.group[0], 64);
  ASSERT_EQ(made.tally.remarks().size(), 1u);
  EXPECT_EQ(made.tally.remarks()[0].substr(0, 6), "1 of 4");
}

TEST(Kineto, GridsOfHipHccModuleLaunchKernelAreWorkItems) {
  const auto made = import_json(document(
      R"({"ph":"X","cat":"cuda_runtime","name":"hipHccModuleLaunchKernel","pid":7,"tid":8,"ts":1,)"
      R"("dur":1,"args":{"correlation":1,"grid":[256,2,1],"block":[64,1,1]}},)"
      R"({"ph":"X","cat":"kernel","name":"k","pid":2,"tid":0,"ts":5,"dur":1,)"
      R"("args":{"device":2,"stream":3,"correlation":1}})"));
  EXPECT_EQ(made.sink.find_op("k").launch.grid[0], 256);
}

TEST(Kineto, OnlyTheCategoryMakesAnOperation) {
  const auto made = import_json(document(event("triton", R"(,"args":{"stream":7,"device":0})")));
  EXPECT_EQ(made.sink.apis.size(), 1u);
  EXPECT_EQ(made.sink.ops.size(), 0u);
}

TEST(Kineto, BeginAndEndMakeARange) {
  const auto made = import_json(
      R"([{"ph":"B","name":"out","pid":1,"tid":1,"ts":1,"args":{"a":1}},)"
      R"({"ph":"B","name":"in","pid":1,"tid":1,"ts":2},{"ph":"B","name":"else","pid":1,"tid":2,"ts":2},)"
      R"({"ph":"E","pid":1,"tid":1,"ts":3},{"ph":"E","pid":1,"tid":1,"ts":4,"args":{"b":2}},)"
      R"({"ph":"E","pid":1,"tid":1,"ts":5},{"ph":"b","cat":"x","id":"0x1","name":"far","pid":1,"tid":1,"ts":1},)"
      R"({"ph":"e","cat":"x","id":"0x1","name":"far","pid":1,"tid":9,"ts":9})");  // no ]: legal
  ASSERT_TRUE(made.status.ok());
  EXPECT_EQ(made.sink.find_api("in").row.end_ns, 3000);
  EXPECT_EQ(made.sink.find_api("out").row.end_ns, 4000);
  EXPECT_EQ(made.sink.find_api("out").args, R"({"a":1,"b":2})");
  EXPECT_EQ(made.sink.find_api("far").row.end_ns, 9000);
  EXPECT_EQ(made.sink.find_api("else").row.end_ns, 9000);
  EXPECT_EQ(made.sink.unfinished_apis.size(), 1u);
  EXPECT_EQ(total(made.tally.skipped()), 1u);
}

// Ids count in the file, in a process ("local"), or in a scope.
TEST(Kineto, AsyncRangesOfDifferentIdsMayOverlap) {
  const std::tuple<int, int, const char*> ranges[] = {
      // the pids of begin and end
      {1, 1, R"("id2":{"local":"0x1"})"},  {1, 1, R"("id2":{"local":"0x2"})"},
      {2, 2, R"("id2":{"local":"0x1"})"},  {1, 2, R"("id2":{"global":"0x1"})"},
      {1, 1, R"("id":"0x1","scope":"s")"}, {1, 1, R"("id":"0x2")"}};
  std::string begins, ends;
  int number = 0;
  for (const auto& [begin_pid, end_pid, id] : ranges) {
    const std::string common = fmt::format(R"("cat":"c","name":"{}","tid":1,{})", number, id);
    begins += fmt::format(R"({{"ph":"b",{},"pid":{},"ts":{}}},)", common, begin_pid, number);
    ends += fmt::format(R"(,{{"ph":"e",{},"pid":{},"ts":{}}})", common, end_pid, 100 + number);
    ++number;
  }
  const auto made = import_json(document(begins + ends.substr(1)));
  ASSERT_EQ(made.sink.apis.size(), std::size(ranges));
  for (int i = 0; i < number; ++i) {
    const Api& row = made.sink.find_api(std::to_string(i)).row;
    EXPECT_EQ(row.start_ns, i * 1000) << i;
    EXPECT_EQ(row.end_ns, (100 + i) * 1000) << i;
  }
}

TEST(Kineto, CountersFlowsAndNames) {
  const auto made = import_json(document(
      R"({"ph":"C","name":"mem","pid":7,"ts":1,"args":{"used":1.5,"free":2,"note":"x"}},)"
      R"({"ph":"s","cat":"fwdbwd","name":"fb","id":3,"pid":7,"tid":8,"ts":1},)"
      R"({"ph":"s","cat":"ac2g","name":"ac2g","id":3,"pid":7,"tid":8,"ts":1},)"
      R"({"ph":"M","name":"thread_name","pid":7,"tid":8,"args":{"name":"main"}},)"
      R"({"ph":"M","name":"process_name","pid":7,"tid":0,"args":{"name":"python3"}},)" +
      event("x", "") + R"(,{"ph":"X","name":"span","pid":"Spans","tid":"T","ts":1,"dur":1})"));
  ASSERT_EQ(made.sink.counters.size(), 2u);
  EXPECT_EQ(made.sink.text(made.sink.counters[0].name), "mem used");
  EXPECT_EQ(made.sink.counters[0].value, 1.5);
  ASSERT_EQ(made.sink.flows.size(), 1u);
  EXPECT_EQ(made.sink.flows[0].id, "3");
  EXPECT_EQ((made.sink.threads.at({made.sink.apis[0].row.process, 8})), "main");
  EXPECT_LT(made.sink.find_api("span").pid, 0);
}

TEST(Kineto, PythonFramesOfThreadZeroGetThreadsOfTheirOwn) {
  const auto frame = [](int id, const std::string& parent, int ts, int dur) {
    return R"({"ph":"X","cat":"python_function","name":"f","pid":0,"tid":0,"ts":)" +
           std::to_string(ts) + R"(,"dur":)" + std::to_string(dur) + R"(,"args":{"Python id":)" +
           std::to_string(id) + R"(,"Python parent id":)" + parent + "}}";
  };
  const auto made = import_json(document(frame(1, "null", 0, 10) + "," + frame(2, "1", 1, 3) + "," +
                                         frame(3, "null", 2, 10) + "," + frame(4, "3", 3, 1) + "," +
                                         frame(5, "null", 20, 1)));
  ASSERT_EQ(made.sink.apis.size(), 5u);
  std::map<int64_t, int> frames;
  for (const auto& api : made.sink.apis) ++frames[api.row.tid];
  EXPECT_EQ(frames, (std::map<int64_t, int>{{-1, 3}, {-2, 2}}));
}

TEST(Kineto, WhatIsNoTraceIsAnError) {
  for (const char* text : {"", "{}", "{\"a\":1}", "null", "\"traceEvents\"", "<html>"}) {
    EXPECT_FALSE(import_json(text).status.ok()) << text;
  }
  EXPECT_TRUE(import_json("[]").status.ok());
  EXPECT_TRUE(import_json("{\"traceEvents\":[]}").status.ok());
}

// However small the windows are, the events are the same.
TEST(JsonWindows, CutsBetweenEvents) {
  std::string events;
  for (int i = 0; i < 200; ++i) {
    events += std::string(i == 0 ? "" : ",\n ") + R"({"ph":"X","n":")" +
              std::string(static_cast<size_t>(i), '\\') +
              std::string(static_cast<size_t>(i), '\\') + R"(}]\"{","args":{"a":[{},{"b":"]"}]}})";
  }
  const std::string json = R"({"a":{"traceEvents":[1]},"s":"traceEvents","traceEvents": [)" +
                           events + R"( ], "base":3})";
  const test::TemporaryDirectory directory;
  write_bytes(directory / "t", json);
  for (const size_t window_bytes : {1u, 63u, 64u, 65u, 1000u, 4096u, 1u << 20}) {
    Source source = test::value_of(Source::open(directory / "t"));
    JsonWindows windows(source, are_trace_events, window_bytes);
    std::string seen;
    for (;;) {
      const JsonWindow window = test::value_of(windows.next());
      if (window.size == 0) break;
      const std::string_view text = window.text();
      ASSERT_EQ(text.front(), '[');
      ASSERT_EQ(text.back(), ']');
      EXPECT_EQ(json.substr(window.file_offset, text.size() - 2), text.substr(1, text.size() - 2));
      seen += (seen.empty() ? "" : ",\n ") + std::string(text.substr(1, text.size() - 2));
    }
    EXPECT_EQ(seen, events) << window_bytes;
    EXPECT_EQ(windows.frame(),
              R"({"a":{"traceEvents":[1]},"s":"traceEvents","traceEvents": [], "base":3})");
    EXPECT_TRUE(windows.complete());
  }
}

// At every place of a block, and across its end.
TEST(JsonScan, FindsWordsForNoNumbers) {
  for (size_t size = 0; size < 80; ++size) {
    const std::string text(size, 'N');  // hits of the quick look that are none
    EXPECT_FALSE(has_word_for_no_number(text));
    for (size_t at = 0; at <= size; ++at) {
      for (const std::string word : {"NaN", "Infinity"}) {
        EXPECT_TRUE(has_word_for_no_number(text.substr(0, at) + word + text.substr(at))) << at;
        EXPECT_FALSE(
            has_word_for_no_number(std::string(at, ' ') + word.substr(0, word.size() - 1)));
      }
    }
  }
  EXPECT_FALSE(has_word_for_no_number(R"({"Input Dims": [[1, 2], "Inf", "NA", "N N"]})"));
}

}  // namespace
}  // namespace sonde::importers
