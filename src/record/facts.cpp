#include "record/facts.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include "base/redact.h"
#include "base/strings.h"
#include "store/rotation.h"

namespace sonde::record {

void store_facts(store::Writer& writer, const Options& options,
                 const wire::SessionControl& control) {
  std::string environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    environment += valid_utf8(redact_variable(*entry)) + "\n";
  }
  const std::string command = fmt::format("{}", fmt::join(redact_arguments(options.command), " "));
  writer.metadata("sonde::version", SONDE_VERSION);
  writer.metadata("sonde::command", valid_utf8(command));
  writer.metadata("sonde::environment", environment);
  writer.metadata("sonde::sample_hz", std::to_string(options.sample_hz));
  writer.metadata("sonde::sample_clock", options.sample_blocked ? "wall" : "cpu");
  writer.metadata("sonde::clock", control.clock == wire::ClockKind::kTsc
                                      ? "TSC, converted to CLOCK_MONOTONIC"
                                      : "CLOCK_MONOTONIC");
  if (!options.marker_window.empty()) {
    writer.metadata("sonde::marker_window", valid_utf8(options.marker_window));
  }
  if (options.rotation.every_ns != 0) {
    writer.metadata(store::kRecordingTag, fmt::format("{:x}", control.id));
  }
  if (options.rotation.last_ns != 0) {
    writer.metadata("sonde::last_ns", std::to_string(options.rotation.last_ns));
  }
}

}  // namespace sonde::record
