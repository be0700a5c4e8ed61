// The figures of the analyses against an independent computation: the SQL views of the store, on
// generated traces and on the real ones, and sums over the generated rows themselves.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "analysis/analysis_test_support.h"
#include "analysis/operations/stats.h"
#include "analysis/quantile.h"
#include "base/test_support.h"
#include "store/reader.h"
#include "store/writer.h"
#include "trace/window.h"

namespace sonde {
namespace {

using analysis::Lines;
using test::has;
using test::value_of;

struct TemporaryFile {
  test::TemporaryDirectory folder;
  std::string path() const { return folder / "trace.rpd"; }
};

// With as many digits as query() below.
Lines columns_of(const report::Table& table, const std::vector<std::string>& columns) {
  return analysis::lines_of(table, columns, 9);
}

Lines query(store::Reader& reader, const std::string& sql) {
  Lines lines;
  store::Statement rows = value_of(reader.database().prepare(sql));
  while (value_of(rows.step())) {
    std::string line;
    for (int c = 0; c < rows.column_count(); ++c) {
      const bool is_real = rows.column_type(c) == 2;  // SQLITE_FLOAT
      line += (c == 0 ? "" : "|") + (rows.is_null(c) ? "-"
                                     : is_real       ? fmt::format("{:.9g}", rows.real(c))
                                                     : std::string(rows.text(c)));
    }
    lines.push_back(line);
  }
  return lines;
}

trace::Trace loaded(store::Reader& reader, trace::Request request) {
  return value_of(trace::load(reader, request));
}

report::Table table_of(store::Reader& reader, const char* analysis) {
  const trace::Trace trace = loaded(reader, analysis::needs_of(analysis));
  return value_of(analysis::run_analysis(analysis, trace)).sections.at(0).table;
}

Lines sorted(Lines lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

// All analyses of this file equal the views.
void expect_equal_to_sql(const std::string& path) {
  SCOPED_TRACE(path);
  store::Reader reader = value_of(store::Reader::open(path));
  const std::string totals = "name, calls, total_ns, min_ns, max_ns, percentage";
  const std::vector<std::string> keys = {"name",   "calls",  "total_ns",
                                         "min_ns", "max_ns", "percentage"};
  EXPECT_EQ(columns_of(table_of(reader, "top"), keys),
            query(reader, "SELECT " + totals + " FROM sonde_top"));
  EXPECT_EQ(columns_of(table_of(reader, "ktop"), keys),
            query(reader, "SELECT " + totals + " FROM sonde_ktop"));
  EXPECT_EQ(columns_of(table_of(reader, "kernels"), keys),
            query(reader, "SELECT " + totals + " FROM sonde_ktop"));
  EXPECT_EQ(columns_of(table_of(reader, "busy"),
                       {"gpu_id", "ops", "busy_ns", "sum_ns", "span_ns", "busy", "rpd_busy"}),
            query(reader,
                  "SELECT gpu_id, ops, busy_ns, sum_ns, span_ns, busy, rpd_busy "
                  "FROM sonde_busy"));
  EXPECT_EQ(sorted(columns_of(table_of(reader, "api"), keys)),
            sorted(query(reader, "SELECT " + totals + " FROM sonde_api_top")));
  EXPECT_EQ(sorted(columns_of(table_of(reader, "copies"),
                              {"direction", "calls", "total_ns", "sized_calls", "moved_bytes"})),
            sorted(query(reader,
                         "SELECT type, count(*), sum(duration_ns), count(bytes), sum(bytes) "
                         "FROM sonde_copy GROUP BY type")));
}

struct GeneratedOp {
  int64_t start_ns, end_ns, gpu;
  std::string label;
};

// Overlapping, nested, equal and zero-long operations on several GPUs; kernels, graph kernels,
// copies with and without a size, barriers; calls in two domains.
std::vector<GeneratedOp> generate(const std::string& path, uint32_t seed) {
  std::mt19937 random(seed);
  store::Writer writer = value_of(store::Writer::open(path, store::Writer::Mode::kCreate));
  const char* types[] = {"KernelExecution",  "Task",       "CopyHostToDevice",
                         "CopyDeviceToHost", "FillBuffer", "Barrier"};
  const char* kernels[] = {"add(float*)", "mul<int>(int*)", "quote\" \\ and\nline"};
  std::vector<GeneratedOp> ops;
  for (int i = 0; i < 400; ++i) {
    const size_t type = random() % std::size(types);
    const std::string kernel = type < 2 ? kernels[random() % 3] : "";
    const int64_t start = 5'000'000'000'000'000 + static_cast<int64_t>(random() % 20000);
    const int64_t end = start + static_cast<int64_t>(random() % 7 == 0 ? 0 : random() % 900);
    const auto gpu = static_cast<int64_t>(random() % 3);
    const int repeats = random() % 10 == 0 ? 2 : 1;  // RPD's own view loses the second
    for (int r = 0; r < repeats; ++r) {
      const int64_t api = writer.api({7, 8, start - 100, start + 5, writer.string("clEnqueue"), 0,
                                      writer.string(random() % 2 == 0 ? "opencl" : "other"), 0});
      if (i % 50 == 0) {  // what the device drew over a marker is in neither
        writer.api({7, 8, start, end, writer.string("step"), writer.string("gpu_user_annotation"),
                    writer.string("torch"), 0});
      }
      if (i % 40 == 0) {  // markers go by their text, where they have one
        const int64_t text =
            i % 120 == 0 ? 0 : writer.ustring(i % 80 == 0 ? "forward" : "backward");
        writer.api(
            {7, 8, start, end, writer.string("UserMarker"), 0, writer.string("other"), text});
      }
      const int64_t id =
          writer.op({gpu, 0, 0, start, end, kernel.empty() ? 0 : writer.string(kernel),
                     writer.string(types[type])});
      store::OpDetailRow detail;
      detail.op_id = id;
      detail.api_id = api;
      if (type >= 2 && random() % 4 != 0) detail.bytes = int64_t{1} << (random() % 36);
      writer.op_detail(detail);
      writer.api_op(api, id);
      ops.push_back({start, end, gpu, kernel.empty() ? types[type] : kernel});
    }
  }
  EXPECT_TRUE(writer.finish().ok());
  return ops;
}

TEST(Figures, EqualTheSqlViewsOnGeneratedTraces) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    const TemporaryFile file;
    generate(file.path(), seed);
    expect_equal_to_sql(file.path());
  }
}

TEST(Figures, EqualTheSqlViewsOnRealTraces) {
  for (const char* name : {"matmul_result.rpd", "matmul_result_large.rpd", "mytrace.rpd.gz"}) {
    const std::string path = test::real_file(std::string("rpd/") + name);
    if (path.empty()) GTEST_SKIP() << name << " absent";
    expect_equal_to_sql(path);
  }
}

TEST(Figures, WindowsSideBySideAddUp) {
  const TemporaryFile file;
  const auto ops = generate(file.path(), 99);
  store::Reader reader = value_of(store::Reader::open(file.path()));
  const auto span = trace::span_of(reader);
  ASSERT_TRUE(span.ok() && span->has_value());
  std::map<std::string, int64_t> added;
  const std::optional<std::string> edges[] = {std::nullopt, "12.5%", "7us",
                                              "60%",        "-1us",  std::nullopt};
  for (size_t i = 0; i + 1 < std::size(edges); ++i) {
    const auto window = trace::resolve_window({edges[i], edges[i + 1]}, **span);
    ASSERT_TRUE(window.ok());
    trace::Request request = analysis::needs_of("top");
    request.window = *window;
    const trace::Trace trace = loaded(reader, request);
    for (size_t op = 0; op < trace.ops.size(); ++op) {
      EXPECT_GE(trace.ops.start_ns[op], window->extent->start_ns);
      EXPECT_LE(trace.ops.end_ns[op], window->extent->end_ns);
      added[trace.names[trace.label(op)]] += trace.op_ns(op);
    }
  }
  std::map<std::string, int64_t> whole;
  for (const GeneratedOp& op : ops) whole[op.label] += op.end_ns - op.start_ns;
  EXPECT_EQ(added, whole);
}

TEST(Figures, FiltersByGpuAndName) {
  const TemporaryFile file;
  const auto ops = generate(file.path(), 3);
  store::Reader reader = value_of(store::Reader::open(file.path()));
  const auto filter = trace::NameFilter::compile("^(add|Copy)");
  trace::Request request = analysis::needs_of("kernels");  // with details, by op id
  request.op_bytes = true;
  request.op_ids = true;
  request.gpu = 1;
  request.op_names = &*filter;
  const trace::Trace trace = loaded(reader, request);
  size_t expected = 0;
  for (const GeneratedOp& op : ops) {
    expected += op.gpu == 1 && (op.label.rfind("add", 0) == 0 || op.label.rfind("Copy", 0) == 0);
  }
  EXPECT_EQ(trace.ops.size(), expected);
  EXPECT_EQ(trace.ops.bytes.size(), expected);
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    const Lines bytes = query(reader, fmt::format("SELECT bytes FROM sonde_op_detail WHERE op_id = "
                                                  "{}",
                                                  trace.ops.id[op]));
    const int64_t known = trace.ops.bytes[op];
    EXPECT_EQ(bytes, Lines{known < 0 ? "-" : fmt::format("{}", known)});
  }
}

TEST(Figures, QuantilesEqualSorting) {
  std::mt19937 random(5);
  for (size_t size = 0; size < 60; ++size) {
    std::vector<int64_t> values(size);
    for (int64_t& value : values) value = random() % 50;
    std::vector<int64_t> in_order = values;
    std::sort(in_order.begin(), in_order.end());
    const auto reached = [&](int64_t limit) {
      return std::count_if(in_order.begin(), in_order.end(), [&](int64_t v) { return v <= limit; });
    };
    const int64_t p95 = analysis::quantile(values, 95);
    const int64_t median = analysis::median(values);
    if (size == 0) {
      EXPECT_EQ(p95, 0);
      EXPECT_EQ(median, 0);
      continue;
    }
    EXPECT_GE(reached(p95) * 100, static_cast<int64_t>(size) * 95);
    EXPECT_LT(reached(p95 - 1) * 100, static_cast<int64_t>(size) * 95);
    const int64_t upper = in_order[size / 2];
    const int64_t lower = in_order[(size - 1) / 2];
    EXPECT_EQ(median, (lower + upper) / 2);
  }
}

TEST(Figures, StatsFilesHaveEveryOperationOnce) {
  const TemporaryFile file;
  const auto ops = generate(file.path(), 4);
  store::Reader reader = value_of(store::Reader::open(file.path()));
  trace::Request request;
  request.ops = request.apis = request.nesting = true;
  const auto files = analysis::stats_files(loaded(reader, request));
  Lines suffixes;
  for (const auto& stats : files) suffixes.push_back(stats.suffix);
  EXPECT_EQ(suffixes,
            (Lines{".stats.csv", ".copy_stats.csv", ".opencl_stats.csv", ".other_stats.csv"}));
  int64_t calls = 0;
  for (const GeneratedOp& op : ops) calls += op.label == "Barrier" ? 1 : 0;
  EXPECT_TRUE(has(files[0].text, fmt::format("\"Barrier\",{},", calls)));
  EXPECT_TRUE(has(files[0].text, "\"quote\"\" \\ and\nline\","));
  EXPECT_EQ(files[0].text.rfind(
                "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n", 0),
            0u);
}

// A file with strings of equal text under two ids, as two sessions of RPD write it, an op that ends
// before it starts, and an op whose name is in no table.
TEST(Figures, OddFiles) {
  const TemporaryFile file;
  store::Writer writer = value_of(store::Writer::open(file.path(), store::Writer::Mode::kCreate));
  const int64_t kernel = writer.string("k");
  const int64_t type = writer.string("KernelExecution");
  writer.op({0, 0, 0, 100, 200, kernel, type});
  ASSERT_TRUE(writer.commit().ok());  // its own strings have their ids now
  ASSERT_TRUE(writer.database()
                  .exec("INSERT INTO rocpd_string (id, string) VALUES (4294967296, 'k')")
                  .ok());
  writer.op({0, 0, 0, 300, 400, 4294967296, type});
  writer.op({0, 0, 0, 500, 450, kernel, type});
  writer.op({0, 0, 0, 600, 650, 77777777777, type});
  ASSERT_TRUE(writer.database()
                  .exec("INSERT INTO sonde_drop VALUES ('opencl', 'the buffer was full', 1234)")
                  .ok());
  ASSERT_TRUE(writer.finish().ok());
  expect_equal_to_sql(file.path());
  store::Reader reader = value_of(store::Reader::open(file.path()));
  const trace::Trace trace = loaded(reader, analysis::needs_of("top"));
  const report::Report report = *analysis::run_analysis("top", trace);
  EXPECT_EQ(columns_of(report.sections[0].table, {"name", "calls", "total_ns"}),
            (Lines{"k|3|200", "<string 77777777777>|1|50"}));
  EXPECT_EQ(report.warnings, (Lines{"1,234 events of opencl were not recorded: the buffer was full",
                                    "1 operations end before they start and count as zero long"}));
}

}  // namespace
}  // namespace sonde
