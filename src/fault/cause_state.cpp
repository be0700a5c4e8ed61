// The likely cause if a program hangs, or if its state was requested.
#include <fmt/format.h>

#include <algorithm>

#include "fault/cause_parts.h"
#include "fault/collectives.h"
#include "fault/waits.h"

namespace sonde::fault {

namespace {

// Only if no dispatch is running: others may be waiting for a running one.
bool state_of_queues(FaultReport& report) {
  if (!report.cycle.empty()) {
    report.cause = "deadlock: " + cycle_text(report.waits, report.cycle);
    for (const size_t i : report.cycle) {
      report.evidence += (report.evidence.empty() ? "" : "; ") + wait_text(report.waits[i]);
    }
    return true;
  }
  const auto runs = [&](const Dispatch& dispatch) { return !is_held(report.waits, dispatch); };
  const auto certain = std::find_if(report.waits.begin(), report.waits.end(),
                                    [](const QueueWait& wait) { return wait.certain; });
  if (certain == report.waits.end() ||
      std::any_of(report.in_flight.begin(), report.in_flight.end(), runs)) {
    return false;
  }
  report.cause = wait_text(*certain);
  report.evidence = "no dispatch runs, and nothing after that packet has begun";
  return true;
}

// All known ranks have arrived.
bool waits_for_unknown_ranks(FaultReport& report) {
  const auto found = std::find_if(report.collectives.begin(), report.collectives.end(),
                                  [](const CollectiveWait& wait) { return !wait.unknown.empty(); });
  if (found == report.collectives.end()) return false;
  report.cause = "collective: " + collective_text(*found);
  report.evidence =
      "no process that sonde debug has started here has made the communicator with that rank";
  report.advice =
      "start all ranks with sonde debug; of other machines, sonde debug --core keeps reports that "
      "sonde debug A.rpd B.rpd joins";
  return true;
}

// First a rank that is late or differs: ranks that wait for it cannot do anything.
bool state_of_collectives(FaultReport& report) {
  const auto found =
      std::find_if(report.collectives.begin(), report.collectives.end(),
                   [](const CollectiveWait& wait) { return wait.differs || !wait.late.empty(); });
  if (found == report.collectives.end()) return waits_for_unknown_ranks(report);
  report.cause = "collective: " + collective_text(*found);
  report.evidence = collective_evidence(*found);
  return true;
}

}  // namespace

void state_cause(FaultReport& report) {
  if (state_of_queues(report) || state_of_collectives(report)) return;
  if (report.in_flight.empty()) {
    report.cause = "no GPU has work of this program";
    report.evidence = "every dispatch that it launched is over";
    return;
  }
  if (!report.waves.empty()) {
    const WaveGroup* stopped = stopped_waves(report);
    const WaveGroup& group = stopped != nullptr ? *stopped : report.waves.front();
    report.cause =
        fmt::format("{} has not ended: {} of its waves at {:#x} ({})", kernel_text(report),
                    group.waves.size(), group.pc, group.instruction);
    report.evidence = "its waves were there when the GPU was asked";
    return;
  }
  if (report.no_waits.empty()) {
    report.cause = fmt::format("{} has not ended, the oldest in flight that no barrier holds",
                               kernel_text(report));
    report.evidence = "the signals of all barriers before it in its queue have come";
  } else {
    report.cause = fmt::format("{}, the oldest in flight, has not ended, or waits itself",
                               kernel_text(report));
    report.evidence = "this report cannot tell which of the two: " + report.no_waits;
  }
  report.advice = "sonde debug --softgpu shows where the waves of a kernel are";
}

}  // namespace sonde::fault
