#include "export/output/output_name.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/test_support.h"

namespace sonde::exporting {
namespace {

class OutputName : public testing::Test {
 protected:
  std::string file(const std::string& name) { return folder_ / name; }
  void touch(const std::string& name) { std::ofstream(file(name)) << "x"; }
  // "format: name" of what was chosen, or the error.
  std::string choose(const std::string& input, const std::optional<std::string>& format,
                     std::optional<std::string> output) {
    if (output) output = file(*output);
    const auto chosen = choose_output(file(input), format, output);
    if (!chosen) return chosen.error().message;
    return chosen->exporter->name + ": " + std::filesystem::path(chosen->path).filename().string();
  }

  test::TemporaryDirectory folder_;
};

TEST_F(OutputName, NameOrExtensionChoosesTheFormat) {
  EXPECT_EQ(choose("a.rpd", {}, {}), "perfetto: a.pftrace");
  EXPECT_EQ(choose("a.rpd.gz", "chrome", {}), "chrome: a.json");
  EXPECT_EQ(choose("a.rpd", {}, "b.json"), "chrome: b.json");
  EXPECT_EQ(choose("a.rpd", {}, "b.json.gz"), "chrome: b.json.gz");
  EXPECT_EQ(choose("a.rpd", {}, "b.perfetto-trace"), "perfetto: b.perfetto-trace");
  EXPECT_EQ(choose("a.rpd", "chrome", "b.txt"), "chrome: b.txt");
  EXPECT_EQ(choose("a.rpd", {}, "b.speedscope.json"), "speedscope: b.speedscope.json");
  EXPECT_EQ(choose("a.rpd", {}, "b.gpu.folded"), "folded-gpu: b.gpu.folded");
  EXPECT_EQ(choose("a.sqlite", "perfetto", {}), "perfetto: a.sqlite.pftrace");
}

TEST_F(OutputName, StreamsKeepTheirNames) {
  const auto named = [&](const char* format, const char* output) {
    const auto chosen = choose_output(file("a.rpd"), format, output);
    return chosen ? chosen->path + (chosen->is_stream ? " stream" : "") : chosen.error().message;
  };
  EXPECT_EQ(named("chrome", "-"), "- stream");
  EXPECT_EQ(named("chrome", "/dev/null"), "/dev/null stream");
  EXPECT_EQ(named("rocpd", "-"), "the format rocpd cannot be written into a stream");
  EXPECT_EQ(named("otf2", "/dev/null"), "the format otf2 cannot be written into a stream");
}

TEST_F(OutputName, SaysWhatIsWrong) {
  EXPECT_EQ(choose("a.rpd", "dot", {}), "unknown format 'dot'");
  EXPECT_EQ(choose("a.rpd", {}, "b.txt"), "the name does not say which format");
}

TEST_F(OutputName, NeverAnExistingFile) {
  touch("a.pftrace");
  EXPECT_EQ(choose("a.rpd", {}, {}), "perfetto: a-2.pftrace");
  touch("a-2.pftrace");
  EXPECT_EQ(choose("a.rpd", {}, {}), "perfetto: a-3.pftrace");
  touch("b.json.gz");
  EXPECT_EQ(choose("a.rpd", {}, "b.json.gz"), "chrome: b-2.json.gz");
  touch("c.txt");
  EXPECT_EQ(choose("a.rpd", "chrome", "c.txt"), "chrome: c-2.txt");
  std::filesystem::create_symlink("nowhere", folder_ / "d.json");
  EXPECT_EQ(choose("a.rpd", {}, "d.json"), "chrome: d-2.json");
}

}  // namespace
}  // namespace sonde::exporting
