// The full screen without a terminal: every size, hostile names, and incremental updates.
#include "watch/view.h"

#include <gtest/gtest.h>

#include <string>

#include "base/strings.h"

namespace sonde::watch {
namespace {

Snapshot busy_machine(int gpus, int processes) {
  Snapshot snapshot;
  for (int i = 0; i < gpus; ++i) {
    Gpu gpu;
    gpu.number = i;
    gpu.address = "0000:c" + std::to_string(i) + ":00.0";
    gpu.vendor = "AMD";
    gpu.name = "A GPU\x1b[2J of a long name \xff\xe4\xb8\xad";
    gpu.state = i % 5 == 3 ? GpuState::kAsleep : GpuState::kAwake;
    gpu.busy_percent = 10.0 * i + 300;  // out of range
    gpu.vram_used_bytes = int64_t{1} << 62;
    gpu.vram_total_bytes = i == 1 ? 0 : 1;
    gpu.power_w = 1e9;
    gpu.throttles = {{"power limit", 50.0}, {"hot", std::nullopt}};
    snapshot.gpus.push_back(gpu);
    snapshot.alerts.push_back({Severity::kWarning, i, "hot", std::string(300, 'x')});
  }
  for (int i = 0; i < processes; ++i) {
    Process process;
    process.pid = 1000 + i;
    process.command = "line\nand \x1b]0;title\a tab\t" + std::string(400, 'y');
    process.user = "somebody-with-a-long-name";
    process.gpus.resize(static_cast<size_t>(i % 9));
    snapshot.processes.push_back(process);
  }
  return snapshot;
}

void expect_clean(const std::string& sent) {
  for (size_t i = 0; i < sent.size(); ++i) {
    if (sent[i] == '\x1b') {
      ASSERT_LT(i + 1, sent.size());
      ASSERT_EQ(sent[i + 1], '[');
      continue;
    }
    ASSERT_TRUE(static_cast<unsigned char>(sent[i]) >= 0x20 && sent[i] != 0x7f) << int{sent[i]};
  }
  EXPECT_EQ(valid_utf8(sent), sent);
}

TEST(View, AsksForARecordingOfWhatIsMarked) {
  View view(true);
  view.press("r");
  EXPECT_EQ(view.take_wish(), std::nullopt);  // no process is selected
  view.take(busy_machine(1, 3));
  view.press("down");
  view.press("r");
  const auto wish = view.take_wish();
  ASSERT_TRUE(wish.has_value());
  EXPECT_GE(*wish, 1000);
  EXPECT_LE(*wish, 1002);
  EXPECT_EQ(view.take_wish(), std::nullopt);
}

LiveKernels some_kernels(int64_t pid) {
  LiveKernels live;
  live.pid = pid;
  live.source = "recorded for this screen";
  live.span_s = 10;
  live.kernels = {{"_Z3addiPi", 40, 2'000'000'000}, {"CopyDeviceToHost", 10, 500'000'000}};
  live.kernels.resize(50, {"evil\x1b[2J\n" + std::string(300, 'z'), 1, 1});
  live.all = {"", 98, 2'500'000'048};
  return live;
}

TEST(View, ShowsTheKernelsOfWhatIsMarked) {
  View view(true);
  view.press("s");
  EXPECT_EQ(view.take_kernels_wish(), std::nullopt);  // there is no process
  view.take(busy_machine(1, 3));
  view.press("end");
  view.press("s");
  const auto wish = view.take_kernels_wish();
  ASSERT_TRUE(wish.has_value());
  EXPECT_EQ(view.take_kernels_wish(), std::nullopt);
  view.show(some_kernels(*wish));
  const Cells cells = view.draw(80, 24);
  std::string text;
  for (int row = 0; row < 24; ++row) text += cells.row_text(row) + "\n";
  EXPECT_NE(text.find("10 s: 25.0 % of the time, 10/s, recorded for this screen"), text.npos)
      << text;
  EXPECT_NE(text.find("    20.0         4     50000.0    2000.00  add\n"), text.npos) << text;
  view.press("home");  // another process
  view.press("s");
  EXPECT_NE(view.take_kernels_wish(), wish);
  view.press("end");
  view.press("s");
  EXPECT_EQ(view.take_kernels_wish(), 0);  // stop showing them
}

TEST(View, PowerIsNotCutInTheMiddleOfANumber) {
  Snapshot machine = busy_machine(1, 1);
  machine.gpus[0].power_w = 1040;
  machine.gpus[0].power_cap_w = 1200;
  View view(true);
  view.take(machine);
  const Cells cells = view.draw(80, 24);
  EXPECT_NE(cells.row_text(3).find("power 1040 of 1200 W"), std::string::npos) << cells.row_text(3);
}

TEST(View, PowerIsOfNoCapWhereNoneIsKnown) {
  Snapshot machine = busy_machine(1, 1);
  machine.gpus[0].power_w = 45;
  View view(true);
  view.take(machine);
  const std::string row = view.draw(80, 24).row_text(3);
  EXPECT_NE(row.find("power 45 W"), std::string::npos) << row;
  EXPECT_EQ(row.find("500"), std::string::npos) << row;
}

TEST(View, TellsOfTheGpuThatIsPlottedWhatHasNoColumn) {
  Snapshot machine = busy_machine(1, 1);
  Gpu& gpu = machine.gpus[0];
  gpu.edge_c = 41.4;
  gpu.mclk_mhz = 1600;
  gpu.ecc_corrected = 8;
  gpu.ecc_uncorrected = 2;
  gpu.block_errors = {{"gfx", 1, 0, 0}, {"umc", 7, 2, 0}};
  gpu.compute_partition = "CPX";
  gpu.memory_partition = "NPS4";
  gpu.partitions = {{0, 12.4}, {1, std::nullopt}};
  gpu.pcie_lanes = 16;
  gpu.pcie_gts = 32;
  gpu.xgmi_read_bytes_s = 2048;
  gpu.xgmi_written_bytes_s = 0;
  View view(true);
  view.take(machine);
  EXPECT_EQ(view.draw(80, 24).row_text(4),
            " edge 41 C  memory clock 1600 MHz  ECC 2 uncorrected 8 corrected (umc 2)");
  const Cells cells = view.draw(200, 60);
  EXPECT_NE(cells.row_text(4).find("CPX NPS4 busy 12 - %  PCIe x16 32 GT/s  XGMI 2.00 KiB/s read "),
            std::string::npos)
      << cells.row_text(4);
  view.press("h");  // no plots, no details
  EXPECT_EQ(view.draw(80, 24).row_text(4).find("edge"), std::string::npos);
}

TEST(View, EverySizeAndKey) {
  for (const bool utf8 : {false, true}) {
    View view(utf8);
    view.take(busy_machine(8, 30));
    view.take(busy_machine(9, 40));
    const char* const keys[] = {"tab", "left", "down", "end", "s",       "o", "o",    "o",     "R",
                                "h",   "a",    "p",    "?",   "x",       "f", "y",    "enter", "p",
                                "h",   "a",    "up",   "+",   "page-up", " ", "home", "f6"};
    Cells before(0, 0);
    for (int i = 0; i < 260; ++i) {
      const int columns = i * 7 % 213, rows = i * 5 % 61;
      const Cells now = view.draw(columns, rows);
      ASSERT_EQ(now.columns(), columns);
      ASSERT_EQ(now.rows(), rows);
      expect_clean(difference(&before, now, utf8));
      before = now;
      if (i % 40 == 20) view.show(some_kernels(1000));
      if (i % 40 == 0) view.show(std::nullopt);
      ASSERT_TRUE(view.press(keys[static_cast<size_t>(i) % std::size(keys)]));
    }
  }
}

TEST(View, LessThanBefore) {
  View view(true);
  view.take(busy_machine(8, 30));
  for (int i = 0; i < 7; ++i) view.press("tab");
  for (int i = 0; i < 29; ++i) view.press("down");
  view.take(busy_machine(0, 0));
  const Cells cells = view.draw(80, 24);
  EXPECT_NE(cells.row_text(2).find("no GPU found"), std::string::npos);
  for (const char* key : {"tab", "left", "up", "down", "end"}) view.press(key);
  view.draw(80, 24);
  EXPECT_FALSE(view.press("q"));
}

TEST(Cells, OnlyWhatDiffersIsSent) {
  Cells before(10, 2), now(10, 2);
  EXPECT_EQ(difference(&before, now, true), "");
  now.put(1, 3, "ab");
  EXPECT_EQ(difference(&before, now, true), "\x1b[2;4H\x1b[0mab\x1b[0m");
  before = now;
  now.put(0, 8, "xyz", Style::kBad);  // past the edge
  now.put(1, 4, "B", Style::kWarn);
  EXPECT_EQ(difference(&before, now, true), "\x1b[1;9H\x1b[0;1;31mxy\x1b[2;5H\x1b[0;33mB\x1b[0m");
  EXPECT_EQ(difference(&before, now, false).find(";3"), std::string::npos);
  EXPECT_EQ(now.row_text(0), "        xy");
  const Cells wider(11, 2);
  EXPECT_NE(difference(&now, wider, true).find("\x1b[2J"), std::string::npos);
}

TEST(Cells, WhatTakesNoCellOrTwoIsAQuestionMark) {
  Cells cells(20, 1);
  cells.put(0, 0, "a\x1b\n\xc3\xa9\xe4\xb8\xad\xcc\x81\xf0\x9f\x98\x80\xff.");
  EXPECT_EQ(cells.row_text(0), "a??\xc3\xa9????.");
}

}  // namespace
}  // namespace sonde::watch
