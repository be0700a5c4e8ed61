#include "watch/judge.h"

#include <fmt/format.h>

#include <algorithm>

namespace sonde::watch {

namespace {

constexpr double kBusy = 90, kIdle = 5;   // percent
constexpr double kLittlePower = 0.4;      // of the cap; idle cards draw 10 to 25 %
constexpr double kFull = 0.95;            // of the memory
constexpr double kNearLimit = 5;          // degrees
constexpr double kHotWithoutLimit = 100;  // degrees, for cards that report no limit
constexpr double kMentionedThrottle = 5;  // percent of the time

class Judge {
 public:
  explicit Judge(Snapshot& snapshot) : snapshot_(snapshot) {}

  void run() {
    pair_dies();
    for (const Gpu& gpu : snapshot_.gpus) look_at(gpu);
    look_for_idle();
  }

 private:
  void say(Severity severity, const Gpu& gpu, const char* what, std::string why) {
    snapshot_.alerts.push_back({severity, gpu.number, what, std::move(why)});
  }

  // Of a card with two dies, the second die's sensor reads 0 and has no limit.
  void pair_dies() {
    Gpu* last = nullptr;
    std::vector<Gpu*> by_address;
    for (Gpu& gpu : snapshot_.gpus) by_address.push_back(&gpu);
    std::sort(by_address.begin(), by_address.end(),
              [](const Gpu* a, const Gpu* b) { return a->address < b->address; });
    for (Gpu* gpu : by_address) {
      if (gpu->vendor != "AMD" || gpu->state != GpuState::kAwake) continue;
      const bool has_sensor = gpu->power_w.value_or(0) > 0 && gpu->power_cap_w.value_or(0) > 0;
      if (has_sensor) {
        last = gpu;
      } else if (last != nullptr && gpu->power_cap_w.value_or(0) == 0 && same_card(*last, *gpu)) {
        gpu->power_of = last->number;
        last = nullptr;
      }
    }
  }
  static bool same_card(const Gpu& first, const Gpu& second) {
    if (first.device_id != second.device_id || first.target != second.target) return false;
    return first.serial.empty() || second.serial.empty() || first.serial == second.serial;
  }

  void look_at(const Gpu& gpu) {
    if (gpu.state == GpuState::kGone) {
      return say(Severity::kTrouble, gpu, "gone", gpu.address + " is no longer there");
    }
    if (gpu.state == GpuState::kAsleep) {
      return say(Severity::kNote, gpu, "asleep",
                 "the kernel has suspended it; reading more would wake it");
    }
    look_at_health(gpu);
    look_at_work(gpu);
  }

  void look_at_health(const Gpu& gpu) {
    const std::string held = throttle_text(gpu);
    bool much = false;
    for (const Throttle& each : gpu.throttles) {
      much = much || each.percent.value_or(100) >= kMentionedThrottle;
    }
    if (much) say(Severity::kWarning, gpu, "throttled", held);
    if (gpu.ecc_uncorrected.value_or(0) > 0) {
      say(Severity::kTrouble, gpu, "ecc",
          fmt::format("{} uncorrectable memory errors since the driver was loaded",
                      *gpu.ecc_uncorrected));
    }
    look_at_heat(gpu, "junction", gpu.junction_c, gpu.junction_limit_c);
    look_at_heat(gpu, "memory", gpu.memory_c, gpu.memory_limit_c);
  }

  void look_at_heat(const Gpu& gpu, const char* place, Real value, Real limit) {
    if (!value || *value < (limit ? *limit - kNearLimit : kHotWithoutLimit)) return;
    const std::string bound = limit ? fmt::format(", its limit is {:.0f} C", *limit) : "";
    say(Severity::kWarning, gpu, "hot", fmt::format("{} at {:.0f} C{}", place, *value, bound));
  }

  void look_at_work(const Gpu& gpu) {
    if (gpu.vram_used_bytes && gpu.vram_total_bytes && *gpu.vram_total_bytes > 0) {
      const double share =
          static_cast<double>(*gpu.vram_used_bytes) / static_cast<double>(*gpu.vram_total_bytes);
      if (share >= kFull) {
        say(Severity::kWarning, gpu, "full",
            fmt::format("{:.0f} % of its memory is in use", 100 * share));
      }
    }
    const Gpu& sensor = power_sensor(snapshot_, gpu);
    const bool known = gpu.busy_percent && sensor.power_w && sensor.power_cap_w.value_or(0) > 0;
    if (!known || *gpu.busy_percent < kBusy ||
        *sensor.power_w > kLittlePower * *sensor.power_cap_w) {
      return;
    }
    say(Severity::kNote, gpu, "little work",
        fmt::format(
            "{:.0f} % busy at {:.0f} of {:.0f} W: a kernel was always running, but it uses few "
            "of the units or waits",
            *gpu.busy_percent, *sensor.power_w, *sensor.power_cap_w));
  }

  // Finds GPUs that a job holds and leaves idle while its other GPUs work.
  void look_for_idle() {
    std::map<std::string, std::map<int64_t, int64_t>> jobs;  // GPU -> a process
    for (const Process& process : snapshot_.processes) {
      const std::string owner =
          process.job.empty() ? "process " + std::to_string(process.pid) : "job " + process.job;
      for (const GpuUse& use : process.gpus) jobs[owner][use.gpu] = process.pid;
    }
    for (const auto& [owner, held] : jobs) {
      int64_t busy = 0;
      for (const auto& [number, pid] : held) {
        const Gpu* gpu = snapshot_.gpu(number);
        busy += gpu != nullptr && gpu->busy_percent.value_or(0) >= kIdle ? 1 : 0;
      }
      for (const auto& [number, pid] : held) {
        const Gpu* gpu = snapshot_.gpu(number);
        if (busy == 0 || gpu == nullptr || gpu->busy_percent.value_or(100) >= kIdle) continue;
        say(Severity::kWarning, *gpu, "idle",
            fmt::format("{} holds it and works on {} of its {} GPUs", owner, busy, held.size()));
      }
    }
  }

  Snapshot& snapshot_;
};

}  // namespace

void judge(Snapshot& snapshot) { Judge(snapshot).run(); }

std::string throttle_text(const Gpu& gpu) {
  std::string text;
  for (const Throttle& each : gpu.throttles) {
    if (!text.empty()) text += ", ";
    text += each.reason;
    if (each.percent) text += fmt::format(" {:.0f} %", *each.percent);
  }
  return text;
}

const Gpu& power_sensor(const Snapshot& snapshot, const Gpu& gpu) {
  const Gpu* other = gpu.power_of ? snapshot.gpu(*gpu.power_of) : nullptr;
  return other != nullptr ? *other : gpu;
}

std::vector<Throttle> nvidia_throttles(uint64_t bits) {
  struct Bit {
    uint64_t bit;
    const char* reason;
  };
  // Idling, and clocks set by a user, do not count as throttling.
  constexpr Bit kBits[] = {
      {0x4, "power limit"}, {0x8, "hardware slowdown"}, {0x10, "in step with others"},
      {0x20, "hot"},        {0x40, "hot (hardware)"},   {0x80, "power brake"},
  };
  std::vector<Throttle> found;
  for (const Bit& each : kBits) {
    if ((bits & each.bit) != 0) found.push_back({each.reason, std::nullopt});
  }
  return found;
}

}  // namespace sonde::watch
