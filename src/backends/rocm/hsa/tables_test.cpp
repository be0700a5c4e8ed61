// The layouts of the API tables, checked against the offsets in each release.
#include "backends/rocm/hsa/tables.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace sonde::hsa {
namespace {

// A release's AMD table: its size, and the offsets of some functions.
struct Release {
  const char* name;
  uint32_t bytes, async_copy, on_engine, intercept_create, intercept_register, copy_rect;
};
constexpr Release kReleases[] = {
    {"4.0", 360, 136, 0, 296, 304, 320},          {"4.2", 368, 136, 0, 296, 304, 320},
    {"4.3", 392, 136, 0, 296, 304, 320},          {"4.5 to 5.4", 400, 136, 0, 296, 304, 320},
    {"5.5", 424, 136, 0, 296, 304, 320},          {"5.6", 456, 136, 144, 312, 320, 336},
    {"6.0", 552, 136, 144, 312, 320, 336},        {"6.1", 560, 136, 144, 312, 320, 336},
    {"6.2", 576, 136, 144, 312, 320, 336},        {"7.0", 608, 136, 144, 312, 320, 336},
    {"a later one", 640, 136, 144, 312, 320, 336}};

// Tables in which each slot contains its own offset, plus 10000 in the AMD table.
struct Tables {
  std::vector<uint64_t> core, amd;
  ApiTable table{};

  explicit Tables(uint32_t bytes, uint32_t core_bytes = kCoreBytes)
      : core(kCoreBytes / 8), amd(bytes / 8) {
    for (size_t i = 0; i < core.size(); ++i) core[i] = i * 8;
    for (size_t i = 0; i < amd.size(); ++i) amd[i] = 10000 + i * 8;
    const TableVersion of_core = {2, core_bytes, 0, 0}, of_amd = {1, bytes, 0, 0};
    std::memcpy(core.data(), &of_core, sizeof of_core);
    std::memcpy(amd.data(), &of_amd, sizeof of_amd);
    table.core = reinterpret_cast<char*>(core.data());
    table.amd = reinterpret_cast<char*>(amd.data());
  }
};

template <typename Function>
uint64_t where(Function* function) {
  return reinterpret_cast<uint64_t>(function);
}

TEST(Tables, FunctionsAreFoundInEveryRelease) {
  for (const Release& release : kReleases) {
    SCOPED_TRACE(release.name);
    Tables tables(release.bytes);
    Functions functions;
    ASSERT_TRUE(read_tables(tables.table, &functions));
    EXPECT_EQ(where(functions.queue_create), 72u);
    EXPECT_EQ(where(functions.executable_freeze), 704u);
    EXPECT_EQ(where(functions.memory_async_copy), 10000u + release.async_copy);
    EXPECT_EQ(where(functions.agents_allow_access),
              10152u + release.intercept_create - kReleases[0].intercept_create);
    EXPECT_EQ(where(functions.queue_intercept_create), 10000u + release.intercept_create);
    EXPECT_EQ(where(functions.queue_intercept_register), 10000u + release.intercept_register);
    EXPECT_EQ(where(functions.memory_async_copy_rect), 10000u + release.copy_rect);
    EXPECT_EQ(where(functions.memory_async_copy_on_engine),
              release.on_engine != 0 ? 10000u + release.on_engine : 0u);
    // Tables that end before a later function do not have it.
    EXPECT_EQ(where(functions.svm_attributes_set),
              release.bytes > 368 ? 10048u + release.copy_rect : 0u);
    EXPECT_EQ(where(functions.ipc_memory_create),
              10240u + release.intercept_create - kReleases[0].intercept_create);
    EXPECT_EQ(where(functions.portable_export_dmabuf), release.bytes >= 456 ? 10440u : 0u);
    EXPECT_EQ(where(functions.vmem_map), release.bytes >= 552 ? 10488u : 0u);
    EXPECT_EQ(where(functions.vmem_unmap), release.bytes >= 552 ? 10496u : 0u);
  }
}

TEST(Tables, OnlyTheHooksAreWritten) {
  for (const Release& release : kReleases) {
    SCOPED_TRACE(release.name);
    Tables tables(release.bytes);
    const auto before = tables.amd;
    Functions hooks = {};
    hooks.memory_async_copy_rect = reinterpret_cast<decltype(hooks.memory_async_copy_rect)>(1);
    hooks.memory_async_copy_on_engine =
        reinterpret_cast<decltype(hooks.memory_async_copy_on_engine)>(2);
    write_tables(tables.table, hooks);
    for (uint32_t i = 16; i < release.bytes; i += 8) {
      uint64_t wanted = before[i / 8];
      if (i == release.copy_rect) wanted = 1;
      if (release.on_engine != 0 && i == release.on_engine) wanted = 2;
      EXPECT_EQ(tables.amd[i / 8], wanted) << i;
    }
  }
}

TEST(Tables, AnUnknownLayoutIsLeftAlone) {
  for (const uint32_t bytes : {16u, 352u, 408u, 432u, 464u, 500u, 544u}) {
    Tables tables(bytes);
    const auto before = tables.amd;
    Functions functions, hooks = {};
    EXPECT_FALSE(read_tables(tables.table, &functions)) << bytes;
    hooks.memory_async_copy = reinterpret_cast<decltype(hooks.memory_async_copy)>(1);
    write_tables(tables.table, hooks);
    EXPECT_EQ(tables.amd, before) << bytes;
  }
  Tables small_core(400, 1008);
  Functions functions;
  EXPECT_FALSE(read_tables(small_core.table, &functions));
}

}  // namespace
}  // namespace sonde::hsa
