#include "store/op_class.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "store/database.h"
#include "wire/records.h"

namespace sonde::store {
namespace {

TEST(OpClass, OfEveryTypeTheRecorderWrites) {
  const OpClass expected[] = {OpClass::kOther,  OpClass::kKernel, OpClass::kCopy, OpClass::kCopy,
                              OpClass::kCopy,   OpClass::kCopy,   OpClass::kFill, OpClass::kCopy,
                              OpClass::kCopy,   OpClass::kOther,  OpClass::kCopy, OpClass::kOther,
                              OpClass::kUnknown};
  ASSERT_EQ(std::size(expected), std::size(wire::kOpTypeNames));
  for (size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(class_of_type(wire::kOpTypeNames[i]), expected[i]) << wire::kOpTypeNames[i];
  }
}

TEST(OpClass, AnUnknownTypeIsAKernelIfItHasAName) {
  EXPECT_EQ(class_of_op(class_of_type("Task"), true), OpClass::kKernel);
  EXPECT_EQ(class_of_op(class_of_type("Task"), false), OpClass::kUnknown);
  EXPECT_EQ(class_of_op(class_of_type("Other"), true), OpClass::kOther);
}

TEST(OpClass, SqlSaysTheSame) {
  const test::TemporaryDirectory directory;
  auto opened = Database::open(directory / "any.db", Database::Mode::kCreate);
  ASSERT_TRUE(opened.ok()) << opened.error().to_line();
  Database database = std::move(opened).value();
  auto row = test::value_of(database.prepare(
      "SELECT coalesce(" + is_kernel_sql() + ", 0), coalesce(" + moves_memory_sql() +
      ", 0) FROM (SELECT ?1 AS string) t, (SELECT ?2 AS string) n"));
  const auto check = [&](const char* type, std::string_view name, OpClass op) {
    type == nullptr ? row.bind_null(1) : row.bind(1, std::string_view(type));
    row.bind(2, name);
    ASSERT_TRUE(row.step().value());
    EXPECT_EQ(row.integer(0) != 0, op == OpClass::kKernel) << type << " '" << name << "'";
    EXPECT_EQ(row.integer(1) != 0, moves_memory(op)) << type << " '" << name << "'";
    row.reset();
  };
  for (const std::string_view name : {"", "gemm"}) {
    for (const char* type : wire::kOpTypeNames) {
      check(type, name, class_of_op(class_of_type(type), !name.empty()));
    }
    check("Marker", name, OpClass::kOther);
    check("", name, class_of_op(OpClass::kUnknown, !name.empty()));
    check(nullptr, name, class_of_op(OpClass::kUnknown, !name.empty()));
  }
}

}  // namespace
}  // namespace sonde::store
