#include "export/output/protobuf.h"

#include <gtest/gtest.h>

#include <string>

namespace sonde::exporting {
namespace {

using namespace std::string_literals;

TEST(ProtoBuffer, WritesTheWireFormat) {
  ProtoBuffer out;
  out.varint(1, 150);
  out.bytes(2, "testing");
  EXPECT_EQ(out.view(), "\x08\x96\x01\x12\x07testing"s);
  out.clear();
  out.fixed64(1, 0x0102030405060708);
  EXPECT_EQ(out.view(), "\x09\x08\x07\x06\x05\x04\x03\x02\x01"s);
  out.clear();
  out.real(3, 1.0);
  EXPECT_EQ(out.view(), "\x19\0\0\0\0\0\0\xf0\x3f"s);
  out.clear();
  out.varint(3001, 5);
  EXPECT_EQ(out.view(), "\xc8\xbb\x01\x05"s);
}

TEST(ProtoBuffer, NegativeNumbersTakeTenBytes) {
  ProtoBuffer out;
  out.varint(1, static_cast<uint64_t>(int64_t{-1}));
  EXPECT_EQ(out.view(), "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s);
}

TEST(ProtoBuffer, NestedLengthsGrow) {
  for (const size_t size : {0, 1, 124, 125, 126, 127, 128, 16382, 16383, 16384, 100000}) {
    ProtoBuffer out(16), expected, inner;
    const std::string text(size, 'x');
    const size_t outer_body = out.begin(1);
    const size_t inner_body = out.begin(2);
    out.raw(text);
    out.end(inner_body);
    out.end(outer_body);
    inner.bytes(2, text);
    expected.bytes(1, inner.view());
    EXPECT_EQ(out.view(), expected.view()) << size;
  }
}

}  // namespace
}  // namespace sonde::exporting
