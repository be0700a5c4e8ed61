#include "backends/nvtx/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace sonde::nvtx {
namespace {

TEST(Utf8, EncodesEveryWidth) {
  const wchar_t wide[] = {L'a',  0xE9,  0x20AC, 0x1F600,  0x7F, 0x80,
                          0x7FF, 0x800, 0xFFFF, 0x10FFFF, 0};
  const std::string expected =
      "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF"
      "\xF4\x8F\xBF\xBF";
  EXPECT_EQ(utf8_length(wide), expected.size());
  EXPECT_EQ(Utf8(wide).text(), expected);
}

TEST(Utf8, ReplacesWhatIsNoCharacter) {
  const wchar_t wide[] = {0xD800, 0xDFFF, 0x110000, static_cast<wchar_t>(-1), 0};
  EXPECT_EQ(std::string(Utf8(wide).text()), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Utf8, TakesNullAsEmpty) { EXPECT_STREQ(Utf8(nullptr).text(), ""); }

TEST(Utf8, KeepsTextOfAnyLength) {
  for (const size_t length : {0u, 1u, 254u, 255u, 256u, 257u, 1000000u}) {
    const std::wstring wide(length, 0xE9);
    EXPECT_EQ(std::string(Utf8(wide.c_str()).text()).size(), 2 * length);
    const std::wstring ascii(length, L'x');
    EXPECT_EQ(std::string(Utf8(ascii.c_str()).text()), std::string(length, 'x'));
  }
}

TEST(Utf8, CutsBetweenCharacters) {
  const wchar_t wide[] = {0x20AC, 0x20AC, 0};
  char out[8];
  EXPECT_EQ(utf8_encode(wide, out, 7), 6u);
  EXPECT_EQ(utf8_encode(wide, out, 6), 3u);
  EXPECT_STREQ(out, "\xE2\x82\xAC");
  EXPECT_EQ(utf8_encode(wide, out, 1), 0u);
  EXPECT_STREQ(out, "");
}

}  // namespace
}  // namespace sonde::nvtx
