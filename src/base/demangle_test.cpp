#include "base/demangle.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(Demangle, OnlyWhatIsMangled) {
  EXPECT_EQ(demangle("_Z3addPfS_"), "add(float*, float*)");
  EXPECT_EQ(demangle("_Z3addPf.kd"), "add(float*)");
  EXPECT_EQ(demangle("matmul"), "matmul");
  EXPECT_EQ(demangle("_Znot mangled"), "_Znot mangled");
  EXPECT_EQ(demangle(""), "");
}

}  // namespace
}  // namespace sonde
