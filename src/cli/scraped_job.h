// A job as a server of metrics has it: sonde job-report --from.
#pragma once

#include <string>

#include "base/result.h"
#include "watch/job_card.h"

namespace sonde::cli {

// Asks the HTTP interface that Prometheus and VictoriaMetrics share. `since` is a duration as they
// write them ("7d").
Result<watch::Job> scraped_job(const std::string& server, const std::string& id,
                               const std::string& since);

}  // namespace sonde::cli
