#include "cli/monitor_recorder.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include "base/free_name.h"

namespace sonde::cli {

namespace {

constexpr const char* kLength = "10s";

}  // namespace

std::string MonitorRecorder::start(int64_t pid) {
  if (child_.is_at_work()) return "a recording is in progress: " + trace_;
  trace_ = free_name(fmt::format("monitor-{}.rpd", pid));
  if (auto begun = child_.start(pid, {"-q", "--duration", kLength, "-o", trace_}); !begun) {
    return begun.error().to_line();
  }
  return fmt::format("recording process {} for {} into {}", pid, kLength, trace_);
}

std::optional<std::string> MonitorRecorder::result() {
  const std::optional<int> status = child_.ended();
  if (!status) return std::nullopt;
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) {
    return fmt::format("recorded: sonde check {}", trace_);
  }
  const std::string why = child_.last_line();
  return why.empty() ? "the recording failed" : why;
}

}  // namespace sonde::cli
