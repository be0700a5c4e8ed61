#include "driver/fd_table.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace softgpu {
namespace {

TEST(FdTable, RemembersKindAndGpu) {
  static FdTable table;
  EXPECT_EQ(table.find(5).kind, DeviceFile::kNone);
  EXPECT_TRUE(table.set(5, {DeviceFile::kRender, 7}));
  table.copy(5, 900'000);
  EXPECT_EQ(table.find(900'000).kind, DeviceFile::kRender);
  EXPECT_EQ(table.find(900'000).gpu, 7);
  table.clear(5);
  EXPECT_EQ(table.find(5).kind, DeviceFile::kNone);
  EXPECT_EQ(table.find(-1).kind, DeviceFile::kNone);
  EXPECT_FALSE(table.set(FdTable::kMost, {DeviceFile::kKfd}));
  EXPECT_TRUE(table.set(FdTable::kMost, {}));
}

// Python's subprocess closes descriptors in a child of vfork(), in its parent's memory.
TEST(FdTable, AChildOfVforkChangesNothing) {
  static FdTable table;
  table.set(5, {DeviceFile::kKfd});
  const pid_t child = vfork();
  if (child == 0) {
    table.clear(5);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(table.find(5).kind, DeviceFile::kKfd);
}

TEST(FdTable, AChildOfForkStartsEmptyAndOwnsItsTable) {
  static FdTable table;
  table.set(5, {DeviceFile::kKfd});
  const pid_t child = fork();
  if (child == 0) {
    table.become_child();
    const bool empty = table.find(5).kind == DeviceFile::kNone;
    table.set(6, {DeviceFile::kKfd});
    _exit(empty && table.find(6).kind == DeviceFile::kKfd ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(table.find(5).kind, DeviceFile::kKfd);
}

}  // namespace
}  // namespace softgpu
