// Compressed inputs: whole, appended to each other, cut, and damaged.
#include "importers/input/source.h"

#include <gtest/gtest.h>

#ifdef SONDE_ZSTD
#include <zstd.h>
#endif

#include "base/gzip_test_support.h"
#include "importers/sink/sink_test_support.h"

namespace sonde::importers {
namespace {

using test::gzip;

// Larger than what a Source reads at once, and hard to pack.
std::string some_text() {
  std::string text;
  uint64_t state = 1;
  while (text.size() < 2'000'000) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    text += std::to_string(state) + "\n";
  }
  return text;
}

struct ReadBack {
  std::string text, broken;
};

ReadBack read_back(const std::string& bytes) {
  const test::TemporaryDirectory directory;
  write_bytes(directory / "t", bytes);
  Source source = test::value_of(Source::open(directory / "t"));
  EXPECT_TRUE(source.compressed());
  const std::string text = test::value_of(source.read_all());
  return {text, source.broken()};
}

void check(const std::string& text, const std::string& packed) {
  const ReadBack whole = read_back(packed);
  EXPECT_TRUE(whole.text == text);
  EXPECT_EQ(whole.broken, "");
  const ReadBack twice = read_back(packed + packed);
  EXPECT_TRUE(twice.text == text + text);
  EXPECT_EQ(twice.broken, "");
  for (const size_t size : {packed.size() - 1, packed.size() / 2}) {
    const ReadBack cut = read_back(packed.substr(0, size));
    EXPECT_EQ(cut.broken, "the compressed file is cut off");
    EXPECT_GT(cut.text.size(), text.size() / 4);
    EXPECT_TRUE(text.substr(0, cut.text.size()) == cut.text);
  }
  std::string damaged = packed;
  for (size_t i = 0; i < 64; ++i) damaged[damaged.size() / 2 + i] = static_cast<char>(0xFF);
  EXPECT_NE(read_back(damaged).broken, "");
}

TEST(Source, Gzip) {
  const std::string text = some_text();
  check(text, gzip(text, 1));
}

TEST(Source, Zstd) {
#ifdef SONDE_ZSTD
  const std::string text = some_text();
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);  // as the program zstd does
  const size_t size =
      ZSTD_compress2(context, packed.data(), packed.size(), text.data(), text.size());
  ZSTD_freeCCtx(context);
  ASSERT_EQ(ZSTD_isError(size), 0u);
  packed.resize(size);
  check(text, packed);
#else
  GTEST_SKIP() << "built without libzstd";
#endif
}

}  // namespace
}  // namespace sonde::importers
