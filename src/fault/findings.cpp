#include "fault/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/strings.h"

namespace sonde::fault {

namespace {

const char* verb_of(const std::string& access) {
  return access == "load" ? "loads" : access == "store" ? "stores" : "atomically changes";
}

std::string place_text(const CheckFinding& finding, uint64_t address) {
  return fmt::format("{}{:#x}", finding.is_local ? "LDS offset " : "", address);
}

// A scalar instruction belongs to the whole wave.
std::string wave_text(bool is_scalar, uint64_t lane, uint64_t wave) {
  return is_scalar ? fmt::format("wave {}", wave) : fmt::format("lane {} of wave {}", lane, wave);
}

// How far an access is out of bounds.
void out_of_bounds(FaultReport& report, const std::string& kernel, const std::string& buffer) {
  const CheckFinding& finding = *report.finding;
  const uint64_t end = finding.begin + finding.bytes;
  std::string by, where;
  if (finding.is_local) {
    by = fmt::format(" of LDS by {}", count_of_bytes(end - finding.local_bytes));
    where = fmt::format("its work group has {} of LDS", count_of_bytes(finding.local_bytes));
  } else if (!report.nearest) {
    where = "no allocation is near";
  } else {
    const Allocation& near = report.allocations[report.nearest->allocation];
    const uint64_t behind = near.address + near.bytes;
    const bool is_before = finding.begin < near.address;
    by = fmt::format(" by {}",
                     count_of_bytes(is_before ? near.address - finding.begin : end - behind));
    where = is_before
                ? fmt::format("{} before {}", count_of_bytes(near.address - finding.begin), buffer)
            : finding.begin < behind ? "past the end of " + buffer
                                     : fmt::format("{} past the end of {}",
                                                   count_of_bytes(finding.begin - behind), buffer);
  }
  report.cause = fmt::format("out of bounds{}: {}, {}", by, access_text(finding, kernel), where);
}

void race(FaultReport& report, const std::string& kernel, const std::string& buffer) {
  const CheckFinding& finding = *report.finding;
  const bool is_one =
      finding.other_pc == report.waves.front().pc && finding.other_wave == finding.wave;
  report.cause = fmt::format(
      "race in {}: {}, {}{}", finding.is_local ? "LDS" : "global memory",
      access_text(finding, kernel),
      is_one
          ? fmt::format("and lane {} stores another value there with the same instruction",
                        finding.other_lane)
          : fmt::format("which {} {}, with no barrier between",
                        wave_text(finding.other_is_scalar, finding.other_lane, finding.other_wave),
                        finding.other_access == "store" ? "has stored" : "has loaded"),
      buffer.empty() ? "" : fmt::format(", in {}", buffer));
  const std::string other = fmt::format("{:#x} ({})", finding.other_pc, finding.other_instruction);
  report.evidence =
      fmt::format("{} at {:#x} ({}){}, of work group {}; neither is atomic or coherent",
                  finding.access, report.waves.front().pc, report.waves.front().instruction,
                  is_one ? "" : fmt::format(" and {} at {}", finding.other_access, other),
                  report.waves.front().waves.front().group);
}

}  // namespace

bool goes_on(const CheckFinding& finding) {
  return finding.kind == "race" || finding.kind == "uninitialised_read";
}

std::string access_text(const CheckFinding& finding, const std::string& whose) {
  return fmt::format("{}{} {} {} at {}", wave_text(finding.is_scalar, finding.lane, finding.wave),
                     whose.empty() ? "" : " of " + whose, verb_of(finding.access),
                     count_of_bytes(finding.bytes), place_text(finding, finding.begin));
}

void show_finding(const Wave& wave, CodeObjects& code, FaultReport& report) {
  report.finding = wave.finding;
  CheckFinding& finding = *report.finding;
  if (!finding.is_local) {
    report.has_address = report.address_is_exact = true;
    report.address = finding.address;
  }
  if (finding.kind == "race") finding.other_instruction = code.instruction_at(finding.other_pc);
  if (report.kind.empty()) {
    const std::string what = finding.kind == "race" ? "race" : "uninitialised read";
    report.kind = what;
    report.gpu = wave.gpu;
    report.time_ns = wave.time_ns;
    report.title =
        fmt::format("{} on GPU {} at {}", what, report.gpu, place_text(finding, finding.address));
  }
}

const wire::BoardDispatch* dispatch_of(const wire::Board& board, const CheckFinding& finding,
                                       int64_t time_ns) {
  const wire::BoardDispatch* newest = nullptr;
  for (const wire::BoardDispatch& entry : board.dispatches) {
    const bool is_it = entry.number != 0 && entry.kernel_object == finding.kernel_object &&
                       entry.kernarg == finding.kernarg && entry.launched_ns <= time_ns;
    if (is_it && (newest == nullptr || entry.number > newest->number)) newest = &entry;
  }
  return newest;
}

uint32_t bytes_of(const std::string& digits, char* to, size_t most) {
  const size_t count = std::min(most, digits.size() / 2);
  for (size_t i = 0; i < count; ++i)
    to[i] = static_cast<char>(std::strtoul(digits.substr(i * 2, 2).c_str(), nullptr, 16));
  return static_cast<uint32_t>(count);
}

void finding_cause(FaultReport& report, const std::string& kernel, const std::string& buffer) {
  const CheckFinding& finding = *report.finding;
  if (finding.kind == "race") return race(report, kernel, buffer);
  report.evidence =
      fmt::format("{} at {:#x} ({}), detected before the access",
                  finding.is_scalar    ? "it does so for all its lanes"
                  : finding.lanes == 1 ? "1 of its lanes does so"
                                       : fmt::format("{} of its lanes do so", finding.lanes),
                  report.waves.front().pc, report.waves.front().instruction);
  if (finding.kind == "out_of_bounds") return out_of_bounds(report, kernel, buffer);
  if (finding.kind == "use_after_free") {
    report.cause = fmt::format("use after free: {}, in {}", access_text(finding, kernel),
                               buffer.empty() ? "memory that was freed" : buffer);
    return;
  }
  report.cause = fmt::format("uninitialised read: {}, which {}{}", access_text(finding, kernel),
                             finding.is_local ? "no wave of its work group has written"
                                              : "nothing has written since it was allocated",
                             buffer.empty() ? "" : ": it lies in " + buffer);
}

}  // namespace sonde::fault
