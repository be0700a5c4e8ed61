// The tables are those of CPython for this function, whose def is on line 10, with the lines that
// its own co_lines() tells; python_test.py compares whole programs under every version.
//   def f(x):
//     y = x + 1
//     return y
#include "store/python_lines.h"

#include <gtest/gtest.h>

namespace sonde::store {

using namespace std::string_view_literals;

TEST(PythonLinesTest, EveryVersionsTable) {
  EXPECT_EQ(python_line(0x308, "\x00\x01\x08\x01"sv, 10, 0), 11);
  EXPECT_EQ(python_line(0x309, "\x00\x01\x08\x01"sv, 10, 7), 11);
  EXPECT_EQ(python_line(0x309, "\x00\x01\x08\x01"sv, 10, 8), 12);
  EXPECT_EQ(python_line(0x30a, "\x08\x01\x04\x01"sv, 10, 6), 11);
  EXPECT_EQ(python_line(0x30a, "\x08\x01\x04\x01"sv, 10, 10), 12);
  EXPECT_EQ(python_line(0x30a, "\x02\x80\x04\x01"sv, 10, 0), 0);
  // RESUME of the def's line, then one line further, and one more.
  constexpr auto kTable = "\x80\x00\xd8\x06\x07\x88\x21\x81\x65\x80\x21\xd8\x09\x0a\x80\x28"sv;
  EXPECT_EQ(python_line(0x30b, kTable, 10, 0), 10);
  EXPECT_EQ(python_line(0x30b, kTable, 10, 2), 11);
  EXPECT_EQ(python_line(0x30b, kTable, 10, 14), 12);
}

TEST(PythonLinesTest, DamagedTablesEnd) {
  EXPECT_EQ(python_line(0x30b, "", 10, 4), 10);
  for (const uint32_t version : {0x308u, 0x30au, 0x30bu, 0x30du}) {
    for (int first = 0; first < 256; ++first) {
      const char bytes[] = {static_cast<char>(first), '\x7f', '\xff'};
      for (size_t size = 1; size <= 3; ++size) {
        python_line(version, {bytes, size}, 10, 1 << 20);
      }
    }
  }
}

TEST(PythonLinesTest, WhoseCode) {
  for (const char* file :
       {"/opt/jobs/train.py", "<string>", "/jobs/ann/lib/sonde_study/train.py"}) {
    EXPECT_FALSE(is_python_library(file)) << file;
  }
  for (const char* file :
       {"/usr/lib/python3.11/threading.py", "<frozen importlib._bootstrap>",
        "/usr/lib/python3/dist-packages/torch/nn/modules/module.py",
        "/opt/venv/lib/python3.12/site-packages/numpy/core.py",
        "/opt/sonde/lib/sonde/start/sitecustomize.py", "/jobs/ann/build/lib/sonde/torch/hook.py"}) {
    EXPECT_TRUE(is_python_library(file)) << file;
  }
}

}  // namespace sonde::store
