#include "report/render.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/strings.h"
#include "report/layout.h"
#include "report/names.h"
#include "report/sort.h"
#include "report/unit.h"

namespace sonde::report {
namespace {

using namespace columns;

Report sample() {
  Report report;
  report.name = "top";
  report.subject = "a \"b\".rpd";
  Section section{.key = "top"};
  section.table.add_columns({name("name", "Name"), integer("calls", "Calls"),
                             time("total_ns", "Total"), bytes("moved_bytes", "Moved"),
                             percent("percent", "Share")});
  section.table.add_row({"void k<int>(int*)", int64_t{1234}, int64_t{157178063},
                         int64_t{20000000000}, 85.4609201610961});
  section.table.add_row({"a,\"b\"\n\xff", int64_t{2}, int64_t{-5}, std::monostate{},
                         std::numeric_limits<double>::quiet_NaN()});
  report.sections.push_back(section);
  return report;
}

std::string rendered(const Report& report, const char* format, size_t width = 0) {
  RenderOptions options;
  options.width = width;
  return find_renderer(format)->render(report, options);
}

TEST(Render, TextAlignsAndUsesUnits) {
  EXPECT_EQ(rendered(sample(), "text"),
            "Name     Calls  Total ms     Moved  Share %\n"
            "k        1,234       157  18.6 GiB     85.5\n"
            "a,\"b\" \xEF\xBF\xBD      2   >-0.001         -        -\n");
}

TEST(Render, ProseTakesMoreLinesWhereItDoesNotFit) {
  Section section;
  section.table.add_columns({columns::text("name", "Name"), columns::text("detail", "Detail"),
                             columns::integer("times", "Times")});
  section.table.add_row({std::string("hip"),
                         std::string("no AMD GPU: there is no /dev/kfd, so load the driver"),
                         int64_t{1}});
  section.table.add_row({std::string("cpu"), std::string("ready"), int64_t{20}});
  Report report;
  report.sections.push_back(section);
  EXPECT_EQ(rendered(report, "text", 44),
            "Name  Detail                           Times\n"
            "hip   no AMD GPU: there is no              1\n"
            "      /dev/kfd, so load the driver\n"
            "cpu   ready                               20\n");
  // Where the output has no width, a row is a line.
  EXPECT_NE(rendered(report, "text").find("there is no /dev/kfd, so load the driver"),
            std::string::npos);
}

TEST(Render, ExactTextHasWholeNumbers) {
  RenderOptions options;
  options.exact = true;
  const std::string text = find_renderer("text")->render(sample(), options);
  for (const char* const part :
       {"Total ns", "157178063", "20000000000", "85.4609201610961", "-5"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(Render, TimesThatAreComparedHaveTheSameUnit) {
  Section section;
  Table& table = section.table;
  table.add_columns({columns::name("name", "Name"), columns::time("a_ns", "A"),
                     columns::compared(columns::time("b_ns", "B")), columns::time("c_ns", "C")});
  table.add_row({std::string("k"), int64_t{1'290'000'000}, int64_t{125'000'000}, int64_t{5'000}});
  table.add_row({std::string("l"), int64_t{2'020'000'000}, int64_t{2'842'000'000}, int64_t{6'000}});
  Report report;
  report.sections.push_back(section);
  EXPECT_EQ(rendered(report, "text"),
            "Name   A s    B s  C us\n"
            "k     1.29  0.125  5.00\n"
            "l     2.02   2.84  6.00\n");
}

TEST(Render, ColumnsOfTimesHaveOneUnitAndThreeDigits) {
  EXPECT_EQ(unit_that_fits({}), TimeUnit::kMicrosecond);
  EXPECT_EQ(unit_that_fits({0, 0, 900}), TimeUnit::kNanosecond);
  EXPECT_EQ(unit_that_fits({5'000, 60'000, 4'160'000}), TimeUnit::kMicrosecond);
  EXPECT_EQ(unit_that_fits({5'000, 6'000, 4'160'000'000}), TimeUnit::kMillisecond);
  EXPECT_EQ(unit_that_fits({-4'160'000'000}), TimeUnit::kSecond);
  EXPECT_EQ(text_in(TimeUnit::kSecond, 4'162'000'000), "4.16");
  EXPECT_EQ(text_in(TimeUnit::kMicrosecond, 52'949), "52.9");
  EXPECT_EQ(text_in(TimeUnit::kMicrosecond, 99'960), "100");
  EXPECT_EQ(text_in(TimeUnit::kMillisecond, 4'160'700'000), "4,161");
  EXPECT_EQ(text_in(TimeUnit::kMillisecond, 52'949), "0.0529");
  EXPECT_EQ(text_in(TimeUnit::kMillisecond, 999), "<0.001");
  EXPECT_EQ(text_in(TimeUnit::kMillisecond, -1'500'000), "-1.50");
  EXPECT_EQ(text_in(TimeUnit::kMillisecond, 0), "0");
  EXPECT_EQ(text_in(TimeUnit::kNanosecond, 7), "7");
}

TEST(Render, RealNumbersHaveThreeDigits) {
  const std::pair<double, const char*> kTexts[] = {
      {12.928012, "12.9"}, {5300.0, "5,300"},   {1961.4, "1,961"},  {64.0, "64"},
      {63.97, "64.0"},     {0.987654, "0.988"}, {-1.5, "-1.50"},    {1.234e-9, "1.23e-09"},
      {0.0, "0"},          {-999.96, "-1,000"}, {2.5e15, "2.5e+15"}};
  for (const auto& [value, text] : kTexts) {
    EXPECT_EQ(text_of_real(value), text);
    EXPECT_EQ(text_of(value, columns::real("rate", "Rate")), text);
  }
  EXPECT_EQ(text_of(12.928012, columns::real("rate", "Rate"), true), "12.928012");
  EXPECT_EQ(text_of(12.928012, columns::id("value", "Value")), "12.928012");
}

TEST(Render, FactsThatAreSentencesGoOnBelow) {
  Report report;
  Section& section = report.sections.emplace_back();
  section.facts = {{"verdict", "Verdict", Kind::kText, "B takes 2.000 times as long as A, +100 ns"},
                   {"path", "A", Kind::kText, "/a/path/that/is/too/long/to/be/shown"}};
  EXPECT_EQ(rendered(report, "text", 32),
            "Verdict  B takes 2.000 times as\n"
            "         long as A, +100 ns\n"
            "A        /a/path/that/i..e/shown\n");
}

TEST(Render, SmallSharesAreNotNone) {
  Column share;
  share.kind = Kind::kPercent;
  EXPECT_EQ(text_of(Value(0.0), share), "0.0");
  EXPECT_EQ(text_of(Value(0.01), share), "<0.1");
  EXPECT_EQ(text_of(Value(-0.01), share), ">-0.1");
  EXPECT_EQ(text_of(Value(-0.06), share), "-0.1");
  EXPECT_EQ(text_of(Value(99.96), share), "100.0");
}

TEST(Render, NamesAreCutWithinTheirTemplateArgumentsFirst) {
  const std::vector<std::string> names = {
      "outer_kernel<float, very::long_argument<int, 4>, another_argument>::run"};
  const std::string cut = cut_names(names, 48).front();
  EXPECT_EQ(cut.size(), 48u);
  EXPECT_EQ(cut.substr(0, 13), "outer_kernel<");
  EXPECT_EQ(cut.substr(cut.size() - 6), ">::run");
}

TEST(Render, WhatDoesNotFitIsNamed) {
  const std::string text = rendered(sample(), "text", 40);
  EXPECT_NE(text.find("... no room for: Share"), std::string::npos) << text;
  EXPECT_EQ(rendered(sample(), "text", 80).find("no room"), std::string::npos);
}

TEST(Render, ColumnsThatLeaveFirstAreNotCut) {
  Report report;
  Table& table = report.sections.emplace_back().table;
  table.add_columns({text("name", "Name"), text("watches", "Watches"), text("detail", "Detail")});
  leave_first(table, {"watches"});
  table.columns.back().priority = 1;
  table.add_row({"hip", "what it watches, a long text", "where it was looked for, and what to do"});
  EXPECT_EQ(rendered(report, "text", 60),
            "Name  Detail\n"
            "hip   where it was looked for, and what to do\n"
            "... no room for: Watches\n");
}

TEST(Tables, OneIsChosenByItsKey) {
  Report report = sample();
  report.sections.push_back({"more", "", {}, {}, ""});
  report.sections[1].add_fact({"calls", "Calls", Kind::kInteger, int64_t{5}});
  report.sections[0].add_fact({"ops", "Ops", Kind::kInteger, int64_t{7}});
  Report facts = report;
  const auto others = choose_table(facts, "top_facts");
  ASSERT_TRUE(others.ok());
  EXPECT_EQ(*others, "top, more");
  EXPECT_EQ(rendered(facts, "csv"), "key,value\nops,7\n");
  Report first = report;
  ASSERT_TRUE(choose_table(first, "").ok());
  EXPECT_EQ(rendered(first, "csv"), rendered(sample(), "csv"));
  const auto unknown = choose_table(report, "colour");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().to_line().find("top_facts"), std::string::npos);
}

TEST(Render, TextFitsTheTerminal) {
  Report report = sample();
  report.sections[0].table.rows[0][0] = std::string(300, 'n');
  const std::string text = rendered(report, "text", 60);
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    EXPECT_LE(end - begin, 62u) << text.substr(begin, end - begin);  // U+FFFD has three bytes
    begin = end + 1;
  }
}

TEST(Render, RemarksAndNotesCarryNoControlSequences) {
  Report report = sample();
  report.sections[0].remarks.push_back("ends with gemm\x1b[8m");
  report.notes.push_back("of \x1b[1mfile");
  report.warnings.push_back("\x1b]0;title\a");
  const std::string text = rendered(report, "text", 80);
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_EQ(text.find('\a'), std::string::npos);
}

TEST(Render, CsvCellsAreNoFormulasAndNumbersStayNumbers) {
  Report report;
  Section section{"rows", "", {}, {}, ""};
  section.table.add_column(text("text", "Text"));
  for (const char* const text :
       {"=1+1", "+1+1", "-1-1", "@a", "\t=1", "\r=1", "-5", "+2.5e3", "a=1", "- b",
        "\xc2\x9b"
        "2J\x1b[2J"}) {
    section.table.add_row({std::string(text)});
  }
  section.table.add_row({int64_t{-5}});
  section.table.add_row({-2.5});
  report.sections.push_back(section);
  EXPECT_EQ(rendered(report, "csv"),
            "text\n'=1+1\n'+1+1\n'-1-1\n'@a\n'\t=1\n' =1\n-5\n+2.5e3\na=1\n'- b\n"
            "\xEF\xBF\xBD"
            "2J [2J\n-5\n-2.5\n");
}

TEST(Render, PartsTogetherAreTheWhole) {
  for (const char* const format : {"text", "csv", "json", "markdown", "html"}) {
    Report whole = sample();
    whole.sections[0].title.clear();
    Report part = whole;
    const auto rows = whole.sections[0].table.rows;
    std::string together;
    Part where;
    for (size_t i = 0; i < rows.size(); ++i) {
      part.sections[0].table.rows = {rows[i]};
      where.last = i + 1 == rows.size();
      together += find_renderer(format)->render_part(part, {}, where);
      where.first = false;
      ++where.rows_before;
    }
    if (std::string(format) == "text") {  // the first part decides the widths
      EXPECT_EQ(together.substr(0, together.find('\n')).find("Name"), 0u);
      continue;
    }
    EXPECT_EQ(together, rendered(whole, format)) << format;
  }
}

TEST(Render, CsvIsExact) {
  EXPECT_EQ(rendered(sample(), "csv"),
            "name,calls,total_ns,moved_bytes,percent\n"
            "void k<int>(int*),1234,157178063,20000000000,85.4609201610961\n"
            "\"a,\"\"b\"\"\n\xEF\xBF\xBD\",2,-5,,\n");
}

TEST(Render, JsonIsExactAndValidForAnyBytes) {
  const std::string json = rendered(sample(), "json");
  EXPECT_NE(json.find("\"total_ns\": 157178063, \"moved_bytes\": 20000000000"), std::string::npos);
  EXPECT_NE(json.find("\"a,\\\"b\\\"\\n\xEF\xBF\xBD\""), std::string::npos);
  EXPECT_NE(json.find("\"moved_bytes\": null, \"percent\": null"), std::string::npos);
}

TEST(Render, JsonSaysWhatIsMissing) {
  Report report = sample();
  EXPECT_EQ(rendered(report, "json").find("_missing"), std::string::npos);
  report.sections[0].table.rows.clear();
  report.sections[0].empty_text = "No \"kernels\".";
  EXPECT_NE(rendered(report, "json").find(R"("top": [],
  "top_missing": "No \"kernels\".")"),
            std::string::npos);
}

TEST(Render, MarkdownIsATableWhateverTheCellsHold) {
  Report report = sample();
  report.sections[0].table.rows[1][0] = std::string("a|b\n`d`");
  report.definition = "top: what it_is.\n";
  const std::string text = rendered(report, "markdown");
  EXPECT_NE(text.find("| Name | Calls | Total"), std::string::npos) << text;
  EXPECT_NE(text.find("| a\\|b \\`d\\` |"), std::string::npos) << text;
  size_t bars = std::string::npos;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty() || line.front() != '|') continue;
    size_t unescaped = 0;
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\\')
        ++i;
      else
        unescaped += line[i] == '|' ? 1 : 0;
    }
    if (bars == std::string::npos) bars = unescaped;
    EXPECT_EQ(unescaped, bars) << line;
  }
}

TEST(Render, HtmlIsSelfContainedAndEscaped) {
  Report report = sample();
  report.sections[0].table.rows[1][0] = std::string("<script>alert(\"1\")</script>&");
  report.warnings = {"<b>"};
  const std::string text = rendered(report, "html");
  EXPECT_EQ(text.find("<script"), std::string::npos);
  EXPECT_EQ(text.find("<b>"), std::string::npos);
  EXPECT_EQ(text.find("http"), std::string::npos);
  EXPECT_NE(text.find("&lt;script&gt;"), std::string::npos);
  EXPECT_NE(text.find("prefers-color-scheme:dark"), std::string::npos);
}

TEST(Render, LimitIsSaid) {
  Report report = sample();
  limit_table(report.sections[0].table, 1);
  EXPECT_NE(rendered(report, "text").find("... 1 more rows"), std::string::npos);
  EXPECT_NE(rendered(report, "json").find("\"top_rows_left_out\": 1"), std::string::npos);
}

TEST(Sort, ByAnyColumnEitherWay) {
  Report report = sample();
  Table& table = report.sections[0].table;
  ASSERT_TRUE(sort_table(table, "-calls").ok());
  EXPECT_EQ(std::get<int64_t>(table.rows[0][1]), 2);
  ASSERT_TRUE(sort_table(table, "total").ok());
  EXPECT_EQ(std::get<int64_t>(table.rows[0][1]), 1234);
  ASSERT_TRUE(sort_table(table, "Name").ok());
  EXPECT_EQ(std::get<int64_t>(table.rows[0][1]), 2);
  ASSERT_TRUE(sort_table(table, "-moved_bytes").ok());  // unknown values stay last
  EXPECT_EQ(std::get<int64_t>(table.rows[0][1]), 1234);
  const Status status = sort_table(table, "colour");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().to_line().find("moved_bytes"), std::string::npos);
}

}  // namespace
}  // namespace sonde::report
