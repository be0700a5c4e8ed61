// Alerts, what processes belong to, rates from two gpu_metrics tables, and cards that come back.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/test_support.h"
#include "watch/amd_gpus.h"
#include "watch/amd_rates.h"
#include "watch/belongs.h"
#include "watch/judge.h"
#include "watch/tables.h"

namespace sonde::watch {
namespace {

Gpu gpu(int64_t number, const char* address) {
  Gpu made;
  made.number = number;
  made.address = address;
  made.vendor = "AMD";
  made.device_id = "0x740c";
  made.busy_percent = 50;
  made.power_w = 200;
  made.power_cap_w = 500;
  return made;
}

const Alert* find(const Snapshot& snapshot, const std::string& what, int64_t number) {
  for (const Alert& alert : snapshot.alerts) {
    if (alert.what == what && alert.gpu == number) return &alert;
  }
  return nullptr;
}

TEST(Judge, DiesOfACardShareASensor) {
  Snapshot snapshot;
  // The runtimes' order differs from the bus order.
  snapshot.gpus = {gpu(0, "0000:d1:00.0"), gpu(1, "0000:c1:00.0"), gpu(2, "0000:d6:00.0"),
                   gpu(3, "0000:c6:00.0")};
  for (const int second : {2, 3}) {
    snapshot.gpus[second].power_w = 0;
    snapshot.gpus[second].power_cap_w = 0;
  }
  judge(snapshot);
  EXPECT_EQ(snapshot.gpus[0].power_of, std::nullopt);
  EXPECT_EQ(snapshot.gpus[2].power_of, 0);
  EXPECT_EQ(snapshot.gpus[3].power_of, 1);
  EXPECT_EQ(power_sensor(snapshot, snapshot.gpus[3]).number, 1);
}

TEST(Judge, CardsWithoutASensorAreNotDiesOfAnother) {
  Snapshot snapshot;
  snapshot.gpus = {gpu(0, "0000:01:00.0"), gpu(1, "0000:02:00.0"), gpu(2, "0000:03:00.0")};
  snapshot.gpus[1].device_id = "0x1681";  // an APU in the same machine
  snapshot.gpus[1].power_cap_w = std::nullopt;
  snapshot.gpus[2].power_w = snapshot.gpus[2].power_cap_w = 0;
  snapshot.gpus[0].serial = "a";
  snapshot.gpus[2].serial = "b";
  judge(snapshot);
  EXPECT_EQ(snapshot.gpus[1].power_of, std::nullopt);
  EXPECT_EQ(snapshot.gpus[2].power_of, std::nullopt);
}

TEST(Judge, BusyAtLowPowerIsLittleWork) {
  Snapshot snapshot;
  snapshot.gpus = {gpu(0, "0000:01:00.0"), gpu(1, "0000:02:00.0"), gpu(2, "0000:03:00.0")};
  snapshot.gpus[0].busy_percent = 100;
  snapshot.gpus[0].power_w = 120;
  snapshot.gpus[1].busy_percent = 100;
  snapshot.gpus[1].power_w = 450;
  snapshot.gpus[2].busy_percent = 10;
  snapshot.gpus[2].power_w = 100;
  judge(snapshot);
  ASSERT_NE(find(snapshot, "little work", 0), nullptr);
  EXPECT_NE(find(snapshot, "little work", 0)->why.find("100 % busy at 120 of 500 W"),
            std::string::npos);
  EXPECT_EQ(find(snapshot, "little work", 1), nullptr);
  EXPECT_EQ(find(snapshot, "little work", 2), nullptr);
}

TEST(Judge, TroubleIsNamed) {
  Snapshot snapshot;
  snapshot.gpus = {gpu(0, "0000:01:00.0"), gpu(1, "0000:02:00.0"), gpu(2, "0000:03:00.0")};
  Gpu& hot = snapshot.gpus[0];
  hot.junction_c = 106;
  hot.junction_limit_c = 110;
  hot.memory_c = 80;
  hot.memory_limit_c = 94;
  hot.ecc_uncorrected = 2;
  hot.vram_used_bytes = 99;
  hot.vram_total_bytes = 100;
  hot.throttles = {{"power limit", 62.0}, {"hot", 1.0}};
  snapshot.gpus[1].state = GpuState::kGone;
  snapshot.gpus[2].throttles = {{"power limit", 2.0}};
  judge(snapshot);
  for (const char* what : {"hot", "ecc", "full", "throttled"}) {
    EXPECT_NE(find(snapshot, what, 0), nullptr) << what;
  }
  EXPECT_EQ(find(snapshot, "throttled", 0)->why, "power limit 62 %, hot 1 %");
  EXPECT_NE(find(snapshot, "gone", 1), nullptr);
  EXPECT_EQ(find(snapshot, "throttled", 2), nullptr);
  EXPECT_EQ(snapshot.alerts.size(), 5u);
}

TEST(Judge, AnIdleGpuOfAWorkingJob) {
  Snapshot snapshot;
  snapshot.gpus = {gpu(0, "0000:01:00.0"), gpu(1, "0000:02:00.0"), gpu(2, "0000:03:00.0")};
  snapshot.gpus[1].busy_percent = 0;
  snapshot.gpus[2].busy_percent = 0;
  Process first, second, other;
  first.pid = 10;
  first.job = second.job = "slurm:7";
  first.gpus.resize(1);
  second.pid = 11;
  second.gpus.resize(1);
  second.gpus[0].gpu = 1;
  other.pid = 12;  // all its GPUs are idle: it may be waiting
  other.gpus.resize(1);
  other.gpus[0].gpu = 2;
  snapshot.processes = {first, second, other};
  judge(snapshot);
  ASSERT_NE(find(snapshot, "idle", 1), nullptr);
  EXPECT_EQ(find(snapshot, "idle", 1)->why, "job slurm:7 holds it and works on 1 of its 2 GPUs");
  EXPECT_EQ(find(snapshot, "idle", 0), nullptr);
  EXPECT_EQ(find(snapshot, "idle", 2), nullptr);
}

TEST(Belongs, Slurm) {
  const Belongs old = belongs_of("9:freezer:/slurm/uid_1000/job_12345/step_0/task_3\n", "");
  EXPECT_EQ(old.job, "slurm:12345");
  EXPECT_EQ(old.step, "0");
  const Belongs v2 = belongs_of("0::/system.slice/slurmstepd.scope/job_77/step_batch/user/task_0\n",
                                std::string_view("SLURM_PROCID=5\0SLURM_JOB_ID=1\0", 30));
  EXPECT_EQ(v2.job, "slurm:77");
  EXPECT_EQ(v2.step, "batch");
  EXPECT_EQ(v2.rank, "5");
  EXPECT_EQ(belongs_of("0::/user.slice/job_offer/x\n", "").job, "");
}

TEST(Belongs, OtherJobsAndRanks) {
  const std::string environ = std::string("A=1") + '\0' + "PBS_JOBID=9.head" + '\0' +
                              "XPMI_RANK=4" + '\0' + "OMPI_COMM_WORLD_RANK=2";
  const Belongs found = belongs_of("0::/\n", environ);
  EXPECT_EQ(found.job, "pbs:9.head");
  EXPECT_EQ(found.rank, "2");
  EXPECT_EQ(belongs_of("", "RANK=3").rank, "");
  EXPECT_EQ(belongs_of("", std::string("RANK=3") + '\0' + "WORLD_SIZE=8").rank, "3");
}

TEST(Belongs, Containers) {
  const std::string id(64, 'a');
  EXPECT_EQ(belongs_of("0::/system.slice/docker-" + id + ".scope\n", "").container,
            "docker:aaaaaaaaaaaa");
  EXPECT_EQ(belongs_of("4:memory:/docker/" + id + "\n", "").container, "docker:aaaaaaaaaaaa");
  EXPECT_EQ(belongs_of("0::/user.slice/libpod-" + id + ".scope/container\n", "").container,
            "podman:aaaaaaaaaaaa");
  EXPECT_EQ(belongs_of("0::/kubepods/besteffort/pod12-34/" + id + "\n", "").container,
            "k8s:aaaaaaaaaaaa");
  EXPECT_EQ(belongs_of("0::/lxc/web/init\n", "").container, "lxc:web");
  EXPECT_EQ(belongs_of("0::/system.slice/docker-proxy.service\n", "").container, "");
  EXPECT_EQ(belongs_of("0::/user.slice/user-1000.slice\n", "").container, "");
}

// A table of version 1.6 with the counters that rates need; offsets from its published layout.
std::string table(uint32_t ticks, uint32_t power_limit, uint64_t read_kb) {
  std::string bytes(1664, '\xff');
  const auto put = [&](size_t at, auto value) { std::memcpy(&bytes[at], &value, sizeof value); };
  put(0, uint16_t{1664});
  put(2, uint8_t{1});
  put(3, uint8_t{6});
  put(32, ticks);
  put(40, power_limit);
  put(128, read_kb);
  return bytes;
}

TEST(AmdRates, ResidenciesAreSharesOfTheTime) {
  AmdRates rates;
  Gpu first, second, third;
  const std::string a = table(1000, 500, 100), b = table(3000, 1240, 300);
  rates.take(*monitor::GpuMetricsTable::read(a), 1'000'000'000, first);
  EXPECT_TRUE(first.throttles.empty());
  rates.take(*monitor::GpuMetricsTable::read(b), 3'000'000'000, second);
  EXPECT_EQ(throttle_text(second), "power limit 37 %");
  EXPECT_EQ(second.xgmi_read_bytes_s, 102400);
  // The card was reset: its counters restarted.
  rates.take(*monitor::GpuMetricsTable::read(a), 4'000'000'000, third);
  EXPECT_TRUE(third.throttles.empty());
  EXPECT_EQ(third.xgmi_read_bytes_s, std::nullopt);
}

// The one card of a made machine, in place of what it was, as DRM's `name` and KFD's `kfd_id`.
void put_card(const std::string& sys, const std::string& name, int busy, int kfd_id) {
  namespace fs = std::filesystem;
  for (const char* old : {"/devices", "/class"}) fs::remove_all(sys + old);
  const fs::path device = sys + "/devices/0000:c1:00.0", card = sys + "/class/drm/" + name;
  const fs::path node = sys + "/class/kfd/kfd/topology/nodes/1";
  for (const fs::path& folder : {device / "hwmon/hwmon3", card, node}) {
    fs::create_directories(folder);
  }
  std::ofstream(device / "vendor") << "0x1002\n";
  std::ofstream(device / "gpu_busy_percent") << busy << "\n";
  std::ofstream(device / "hwmon/hwmon3/power1_average") << busy << "000000\n";
  std::ofstream(node / "gpu_id") << kfd_id << "\n";
  std::ofstream(node / "properties") << "domain 0\nlocation_id " << (0xc1 << 8) << "\n";
  fs::create_directory_symlink(device, card / "device");
}

TEST(AmdGpus, ACardIsFoundAgainUnderAnotherNumber) {
  const test::TemporaryDirectory sys;
  monitor::Roots roots;
  roots.sys = sys.path();
  AmdGpus gpus(roots);
  const auto look = [&](int64_t second) {
    Snapshot snapshot;
    snapshot.time_ns = second * 1'000'000'000;
    gpus.look(snapshot, false);
    EXPECT_EQ(snapshot.gpus.size(), 1u);
    return snapshot.gpus.at(0);
  };
  put_card(sys.path(), "card1", 30, 1001);
  EXPECT_EQ(look(10).busy_percent, 30);
  std::filesystem::remove_all(sys / "devices");
  EXPECT_EQ(look(11).state, GpuState::kGone);
  put_card(sys.path(), "card9", 70, 1002);
  const Gpu back = look(16);
  EXPECT_EQ(back.state, GpuState::kAwake);
  EXPECT_EQ(back.number, 0);
  EXPECT_EQ(back.busy_percent, 70);
  EXPECT_EQ(back.power_w, 70);
  EXPECT_EQ(gpus.cards()[0].card.kfd_id, 1002);  // by which its processes are found
  put_card(sys.path(), "card2", 50, 1002);       // between two looks
  EXPECT_EQ(look(22).power_w, 50);
}

TEST(Tables, ADieHasThePowerOfItsCard) {
  Snapshot snapshot;
  snapshot.gpus = {gpu(0, "0000:01:00.0"), gpu(1, "0000:02:00.0")};
  snapshot.gpus[1].power_w = snapshot.gpus[1].power_cap_w = 0;
  judge(snapshot);
  const report::Report brief = report_of(snapshot, Detail::kBrief);
  const auto& table = brief.sections[0].table;
  const auto column = static_cast<size_t>(report::find_column(table, "power_w"));
  EXPECT_EQ(std::get<std::string>(table.rows[1][column]), "with 0");
  const report::Report data = report_of(snapshot, Detail::kData);
  const auto& values = data.sections[0].table;
  const auto of = static_cast<size_t>(report::find_column(values, "power_of_gpu"));
  EXPECT_EQ(std::get<int64_t>(values.rows[1][of]), 0);
}

}  // namespace
}  // namespace sonde::watch
