// Notes beside a trace: what is kept, and what is not overwritten.
#include "serve/notes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/test_support.h"

namespace sonde::serve {
namespace {

using test::has;

class Notes : public testing::Test {
 protected:
  std::string version() const {
    const std::string body = read_notes(trace_).body;
    const size_t at = body.find("\"version\": \"") + 12;
    return body.substr(at, body.find('"', at) - at);
  }
  http::Answer write(const std::string& notes, const std::string& version) const {
    return write_notes(trace_, "{\"version\": \"" + version + "\", \"notes\": " + notes + "}");
  }
  std::string file() const {
    std::ifstream in(path_);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  test::TemporaryDirectory folder_;
  const std::string trace_ = folder_ / "a.rpd", path_ = trace_ + ".sonde-notes.json";
};

constexpr const char* kOne =
    R"([{"from_ns": 5, "to_ns": 9, "text": "<b>slow</b> \u00e9", "track": "GPU 0"}])";

TEST_F(Notes, AreKeptAndReadAgain) {
  EXPECT_TRUE(has(read_notes(trace_).body, "\"notes\": []"));
  EXPECT_FALSE(std::filesystem::exists(path_));  // reading writes nothing
  const http::Answer written = write(kOne, version());
  ASSERT_EQ(written.status, 200) << written.body;
  EXPECT_EQ(read_notes(trace_).body, written.body);
  EXPECT_TRUE(has(written.body, "\"text\": \"<b>slow</b> \xc3\xa9\", \"track\": \"GPU 0\"}"));
  EXPECT_EQ(write("[]", version()).status, 200);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Notes, OfSomebodyElseAreNotOverwritten) {
  const std::string before = version();
  ASSERT_EQ(write(kOne, before).status, 200);
  const std::string kept = file();
  EXPECT_EQ(write("[]", before).status, 409);
  EXPECT_EQ(file(), kept);
  for (const char* other :
       {"not json", "{\"notes\": 3}", "[]", "{\"notes\": [{\"text\": \"x\"}]}"}) {
    std::ofstream(path_, std::ios::trunc) << other;
    EXPECT_EQ(read_notes(trace_).status, 500) << other;
    EXPECT_EQ(write(kOne, before).status, 500) << other;
    EXPECT_EQ(file(), other);
  }
}

TEST_F(Notes, ThatAreNoneAreRefused) {
  const std::string at = version();
  const std::string long_text(2001, 'x');
  for (const std::string& notes :
       {std::string("3"), std::string("[3]"),
        std::string(R"([{"from_ns": 5, "to_ns": 4, "text": "x"}])"),
        std::string(R"([{"from_ns": "5", "to_ns": 9, "text": "x"}])"),
        std::string(R"([{"from_ns": 5, "to_ns": 9, "text": ""}])"),
        R"([{"from_ns": 5, "to_ns": 9, "text": ")" + long_text + R"("}])"}) {
    EXPECT_EQ(write(notes, at).status, 400) << notes;
  }
  EXPECT_EQ(write_notes(trace_, "").status, 400);
  EXPECT_EQ(write_notes(trace_, R"({"notes": []})").status, 400);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Notes, AFolderThatTakesNoneSaysSo) {
  if (::geteuid() == 0) {  // whom no mode stops; a folder that is none does
    std::filesystem::create_directory(path_);
    EXPECT_EQ(write(kOne, "cbf29ce484222325").status, 500);
    return;
  }
  ::chmod(folder_.path().c_str(), 0500);
  const http::Answer answer = write(kOne, version());
  EXPECT_EQ(answer.status, 500);
  EXPECT_TRUE(has(answer.body, "beside the trace"));
}

}  // namespace
}  // namespace sonde::serve
