// Memory of the host and what was waited for: /proc/meminfo and /proc/pressure.
#include <cerrno>

#include "monitor/kept_file.h"
#include "monitor/process_text.h"
#include "monitor/source.h"

namespace sonde::monitor {

namespace {

class MemorySource : public Source {
 public:
  explicit MemorySource(const Roots& roots) : file_(roots.proc + "/meminfo") {}

  void read(Round& round) override {
    const auto text = file_.read();
    if (!text) return round.missing("memory", file_.path(), file_.error());
    const int64_t total = number_of(*text, "MemTotal"), swap = number_of(*text, "SwapTotal");
    const int64_t available = number_of(*text, "MemAvailable");
    const int64_t swap_free = number_of(*text, "SwapFree");
    if (total < 0 || available < 0) return round.missing("memory", file_.path(), ENODATA);
    put(round, Id::kMemoryUsed, total - available);
    put(round, Id::kMemoryAvailable, available);
    if (swap >= 0 && swap_free >= 0) put(round, Id::kSwapUsed, swap - swap_free);
  }

 private:
  static void put(Round& round, Id id, int64_t kib) {
    round.put(id, 0, 1024 * static_cast<double>(kib));
  }

  KeptFile file_;
};

class PressureSource : public Source {
 public:
  explicit PressureSource(const Roots& roots)
      : files_{KeptFile(roots.proc + "/pressure/cpu"), KeptFile(roots.proc + "/pressure/io"),
               KeptFile(roots.proc + "/pressure/memory")} {}

  void read(Round& round) override {
    constexpr Id kSome[] = {Id::kPressureCpu, Id::kPressureIo, Id::kPressureMemory};
    constexpr Id kFull[] = {Id::kCount, Id::kPressureIoFull, Id::kPressureMemoryFull};
    for (int i = 0; i < 3; ++i) {
      const bool full = kFull[i] != Id::kCount && round.wants(kFull[i]);
      if (!round.wants(kSome[i]) && !full) continue;
      const auto text = files_[i].read();
      if (!text) {
        const bool off = files_[i].error() == ENOENT || files_[i].error() == EOPNOTSUPP;
        if (off) {
          round.missing("pressure", files_[i].path(),
                        "this kernel does not measure it (boot with psi=1)");
        } else {
          round.missing("pressure", files_[i].path(), files_[i].error());
        }
        continue;
      }
      for (std::string_view rest = *text; !rest.empty();) {
        const std::string_view line = take_line(rest);
        const bool is_full = line.substr(0, 4) == "full";
        const Id id = is_full ? kFull[i] : kSome[i];
        if (id != Id::kCount && round.wants(id)) put(round, id, line, last_us_[i][is_full ? 1 : 0]);
      }
    }
    last_ns_ = round.now_ns;
  }

 private:
  // "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345": microseconds since the start.
  void put(Round& round, Id id, std::string_view line, int64_t& last_us) const {
    const size_t at = line.find("total=");
    if (at == line.npos) return;
    const int64_t total_us = leading_number(line.substr(at + 6));
    const int64_t waited_us = total_us - last_us;
    const int64_t span_ns = round.now_ns - last_ns_;
    last_us = total_us;
    if (last_ns_ == 0 || span_ns <= 0 || waited_us < 0) return;
    const double percent = 1e5 * static_cast<double>(waited_us) / static_cast<double>(span_ns);
    // Both clocks are not read at the same moment.
    round.put_over(id, 0, percent > 100 ? 100 : percent, last_ns_);
  }

  KeptFile files_[3];
  int64_t last_us_[3][2] = {};
  int64_t last_ns_ = 0;
};

}  // namespace

std::unique_ptr<Source> memory_source(const Roots& roots) {
  return std::make_unique<MemorySource>(roots);
}
std::unique_ptr<Source> pressure_source(const Roots& roots) {
  return std::make_unique<PressureSource>(roots);
}

}  // namespace sonde::monitor
