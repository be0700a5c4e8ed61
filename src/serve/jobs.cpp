#include "serve/jobs.h"

#include "base/packed.h"
#include "serve/compare.h"
#include "serve/counters.h"
#include "serve/findings.h"
#include "serve/layer.h"
#include "serve/steps.h"

namespace sonde::serve {

std::string text_of(const JobText& job) {
  std::string out;
  put_text(out, job.what);
  put_text(out, job.name);
  put_pod(out, job.end_ns);
  put_pod(out, static_cast<uint64_t>(job.sources.size()));
  for (const Source& source : job.sources) {
    put_text(out, source.path);
    put_text(out, source.as);
  }
  put_pod(out, static_cast<uint64_t>(job.options.size()));
  for (const auto& [name, value] : job.options) {
    put_text(out, name);
    put_text(out, value);
  }
  return out;
}

Result<std::string> do_job(std::string_view text) {
  Unpacker from(text);
  JobText job;
  job.what = from.text();
  job.name = from.text();
  job.end_ns = from.pod<int64_t>();
  for (uint64_t left = from.pod<uint64_t>(); left > 0 && from.is_whole(); --left) {
    Source source;
    source.path = from.text();
    source.as = from.text();
    job.sources.push_back(std::move(source));
  }
  for (uint64_t left = from.pod<uint64_t>(); left > 0 && from.is_whole(); --left) {
    const std::string name(from.text());
    job.options[name] = from.text();
  }
  SONDE_CHECK(from.is_whole() && !job.sources.empty());
  const Source& first = job.sources.front();
  if (job.what == "panel") return panel_json(first, job.name, job.options);
  if (job.what == "joint") return joint_panel_json(job.sources, job.name, job.options);
  if (job.what == "findings") return findings_json(first);
  if (job.what == "steps") return steps_json(first);
  if (job.what == "align") return aligned_json(first, job.sources.back());
  if (job.what == "ranks") return ranks_json(job.sources);
  if (job.what == "layer") return packed_layer(first, job.name);
  if (job.what == "counters") return packed_counters(first);
  return make_error(ErrorCode::kInternal, "is no job", job.what);
}

}  // namespace sonde::serve
