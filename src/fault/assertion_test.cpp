// Messages in the form in which HIP's device code sends them to the host.
#include "fault/assertion.h"

#include <gtest/gtest.h>

namespace sonde::fault {
namespace {

// A zero-terminated text, padded to a multiple of eight bytes.
std::string packed(const std::string& text) {
  std::string bytes = text + '\0';
  bytes.resize((bytes.size() + 7) / 8 * 8);
  return bytes;
}

std::string message(uint64_t line) {
  std::string bytes =
      packed("%s:%u: %s: Device-side assertion `%s' failed.\n") + packed("scale.hip");
  bytes.append(reinterpret_cast<const char*>(&line), sizeof line);
  return bytes + packed("void scale(float *)") + packed("i < n");
}

TEST(Assertion, IsReadWhereverItLies) {
  const std::string memory = std::string(1001, 'x') + message(12) + std::string(99, '\0');
  EXPECT_EQ(assertion_in(memory), "scale.hip:12: void scale(float *): `i < n' failed");
}

TEST(Assertion, TheFormatAloneIsNone) {
  // As it is in a code object, followed by other constants, and at the end of memory.
  EXPECT_EQ(assertion_in(std::string("%s:%u: %s: Device-side assertion `%s' failed.\n\0", 47) +
                         std::string("scale.hip\0void scale(float *)\0i < n\0other.hip\0", 46)),
            "");
  for (size_t end = 0; end < message(12).size() - 2; ++end) {
    EXPECT_EQ(assertion_in(message(12).substr(0, end)), "") << end;
  }
  EXPECT_EQ(assertion_in(message(0)), "");
}

TEST(Assertion, AWholeOneBehindAHalfOneIsFound) {
  const std::string half = message(12).substr(0, 64);
  EXPECT_EQ(assertion_in(half + message(7)), "scale.hip:7: void scale(float *): `i < n' failed");
}

}  // namespace
}  // namespace sonde::fault
