#include "serve/findings.h"

#include <fmt/format.h>

#include <span>
#include <vector>

#include "analysis/findings/findings.h"
#include "base/join.h"
#include "base/strings.h"
#include "report/cells.h"
#include "trace/other_tools.h"

namespace sonde::serve {
namespace {

std::string json_of(const analysis::Finding& finding, const trace::Trace& trace) {
  std::string json = fmt::format(
      "{{\"finding\": {}, \"title\": {}, \"evidence\": {}, \"advice\": {}, \"saving_ns\": {}, "
      "\"saving_percentage\": {:.6g}, \"cost_ns\": {}",
      json_quote(finding.id), json_quote(finding.title), json_quote(finding.evidence),
      json_quote(finding.advice), finding.saving_ns, finding.saving_percentage(), finding.cost_ns);
  const analysis::Place& place = finding.longest;
  if (place.time.end_ns > place.time.start_ns) {
    json += fmt::format(", \"from_ns\": {}, \"to_ns\": {}", place.time.start_ns - trace.origin_ns,
                        place.time.end_ns - trace.origin_ns);
    if (trace.ops.size() != 0) json += fmt::format(", \"gpu\": {}", place.lane);
  }
  return json + "}";
}

std::string json_of(const report::Fact& fact) {
  const auto* number = std::get_if<int64_t>(&fact.value);
  return fmt::format("{{\"key\": {}, \"title\": {}, \"text\": {}, \"number\": {}}}",
                     json_quote(fact.key), json_quote(fact.title),
                     json_quote(report::fact_text(fact, false)),
                     number == nullptr ? "null" : std::to_string(*number));
}

std::string json_of(const std::vector<std::string>& texts) {
  return "[" + join(texts, ", ", json_quote) + "]";
}

}  // namespace

Result<std::string> findings_json(const Source& source) {
  SONDE_ASSIGN(trace::Trace trace,
               trace::load_file(source.path, source.as, analysis::findings_needs(), {}));
  const analysis::Pace pace = analysis::leave_out_warm_up(trace);
  const std::span traces(&trace, 1);
  std::vector<analysis::Finding> all = analysis::all_findings_of(traces);
  const size_t listed = analysis::put_small_behind(all, analysis::kLeastPercentage);
  const report::Report report = analysis::findings_report(
      traces, {&pace, 1}, std::span(all).first(listed), std::span(all).subspan(listed));
  const std::string facts = join(report.sections.front().facts, ",\n",
                                 [](const report::Fact& fact) { return json_of(fact); });
  const std::string findings =
      join(std::span(all).first(listed), ",\n",
           [&](const analysis::Finding& finding) { return json_of(finding, trace); });
  return fmt::format("{{\"facts\": [{}],\n\"findings\": [{}],\n\"missing\": {}, \"notes\": {}}}\n",
                     facts, findings, json_quote(report.sections.front().empty_text),
                     json_of(report.notes));
}

}  // namespace sonde::serve
