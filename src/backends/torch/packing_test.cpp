#include "backends/torch/packing.h"

#include <gtest/gtest.h>

#include <string>

namespace sonde::torch {
namespace {

std::string bytes_of(const Packing& packing) {
  uint64_t words[1 + kPackedBytes / 8] = {};
  const uint64_t* end = packing.write(words);
  EXPECT_EQ(static_cast<size_t>(end - words), 1 + (packing.length() + 7) / 8);
  return {reinterpret_cast<const char*>(words + 1), words[0]};
}

TEST(Packing, ListsAreOddAndNumbersEven) {
  Packing packing;
  EXPECT_EQ(bytes_of(packing), "");
  packing.list(2);
  packing.number(300);
  packing.list(0);
  EXPECT_EQ(bytes_of(packing), "\x05\xd8\x04\x01");
}

TEST(Packing, WhatDoesNotFitCanBeTakenBack) {
  Packing packing;
  packing.list(1000);
  const size_t before = packing.length();
  while (!packing.full()) packing.number(~uint64_t{0} >> 1);
  EXPECT_LE(packing.length(), kPackedBytes);
  packing.rewind(before);
  EXPECT_FALSE(packing.full());
  EXPECT_EQ(packing.length(), before);
}

}  // namespace
}  // namespace sonde::torch
