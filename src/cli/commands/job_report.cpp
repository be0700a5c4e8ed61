// sonde job-report: a summary of a job, from the metrics in its recordings.
#include <map>
#include <optional>

#include "cli/common.h"
#include "cli/scraped_job.h"
#include "store/each_row.h"
#include "watch/job_card.h"

namespace sonde::cli {
namespace {

constexpr const char* kDefinition =
    "job-report: what the driver reported of each GPU while the job was recorded, whoever used it. "
    "Busy is the mean of the GPU's busy share, weighted by time, and Busy max its highest value. "
    "Memory max is the most memory in use. Power is the mean over the time for which it is known, "
    "Power max its highest value, Hottest the highest temperature at the hottest place of the die. "
    "Energy is power times time, added up: nothing is assumed for times without a value. Watched "
    "is from the first value to the last. Duration is the longest of these, Energy in kWh the sum "
    "of all GPUs, and a GPU is idle if its Busy is below 1 %. A GPU in several recordings of one "
    "node counts once. Where two GPUs of a card share a power sensor, the driver reports 0 W for "
    "the second.\n";

std::optional<watch::JobFigure> figure_of(std::string_view name) {
  if (name == "busy_percent") return watch::JobFigure::kBusy;
  if (name == "vram_used_bytes") return watch::JobFigure::kMemory;
  if (name == "power_w") return watch::JobFigure::kPower;
  if (name == "temp_junction_c") return watch::JobFigure::kTemperature;
  return std::nullopt;
}

// The value of SLURM_JOB_ID or its like among the lines of a recorded environment.
std::string job_id_of(const std::string& environment) {
  for (const char* name : {"SLURM_JOB_ID=", "SLURM_JOBID=", "PBS_JOBID=", "LSB_JOBID="}) {
    const size_t at = ("\n" + environment).find("\n" + std::string(name));
    if (at == std::string::npos) continue;
    const size_t begin = at + std::string_view(name).size();
    return environment.substr(begin, environment.find('\n', begin) - begin);
  }
  return "";
}

using GpuNumbers = std::map<std::pair<std::string, int64_t>, size_t>;

Status add_file(const std::string& path, GpuNumbers& numbers, watch::Job& job) {
  SONDE_ASSIGN(store::Reader reader, store::Reader::open(path));
  store::Database& database = reader.database();
  std::string node;
  if (reader.made_by_sonde()) {
    SONDE_ASSIGN(node, database.text("SELECT host FROM sonde_process WHERE host <> '' LIMIT 1"));
    SONDE_ASSIGN(
        const std::string environment,
        database.text("SELECT value FROM rocpd_metadata WHERE tag = 'sonde::environment'"));
    if (job.id.empty()) job.id = job_id_of(environment);
  }
  return store::each_row(
      database,
      "SELECT device_id, monitor_type, start_ns, end_ns, value FROM v_monitor WHERE device_type = "
      "'gpu'",
      [&](const store::Statement& rows) {
        const auto figure = figure_of(rows.text(1));
        if (!figure) return;
        const auto [gpu, is_new] = numbers.try_emplace({node, rows.integer(0)}, job.gpus.size());
        if (is_new) job.gpus.push_back({node, rows.integer(0)});
        job.samples.push_back(
            {gpu->second, *figure, rows.integer(2), rows.integer(3), rows.real(4)});
      });
}

Result<watch::Job> job_of(const Arguments& arguments) {
  const auto server = arguments.value("from");
  const auto id = arguments.value("job");
  if (server.has_value() == !arguments.positionals().empty()) {
    return make_error(ErrorCode::kInvalidArgument, "give recordings, or --from and --job", "",
                      "sonde job-report --from http://127.0.0.1:9090 --job 4711");
  }
  if (server) {
    if (!id)
      return make_error(ErrorCode::kInvalidArgument, "no job given", "--job",
                        "its number, as in --job 4711");
    return scraped_job(*server, *id, arguments.value_or("since", "7d"));
  }
  watch::Job job;
  GpuNumbers numbers;
  for (const std::string& path : arguments.positionals()) {
    SONDE_TRY(add_file(path, numbers, job));
  }
  return job;
}

Result<int> run(const Arguments& arguments) {
  SONDE_ASSIGN(const watch::Job job, job_of(arguments));
  report::Report report = watch::job_report(job);
  report.subject = arguments.value("from") ? "job " + job.id : arguments.positionals().front();
  report.definition = kDefinition;
  return print_report(arguments, std::move(report), 0);
}

constexpr const char* kText = R"(
job-report - Show how a job used its GPUs: time, memory, power and energy

Summarises a job from the metrics in its recordings: how busy each GPU was, how much memory
and power it took, which GPUs were idle, and the energy of all GPUs in kWh. Give the recordings of
all nodes together.

With --from, the metrics come instead from a server that has collected them: of all GPUs of each
node that reported the job (rmsjob_info), from its first to its last report. A value counts until
the next one, and no longer than five minutes.

Arguments:
[FILE...]  recordings of the job (.rpd)

Options:
--format --limit --sort --full-names --exact --table --explain
--from URL  take the metrics that Prometheus or VictoriaMetrics has collected from sonde exporter or
    omnistat [the recordings]
--job ID  the job; --from needs it [none]
--since TIME  how far back --from searches [7d]

Examples:
sonde job-report trace.rpd  of one recording
sonde job-report --from http://127.0.0.1:9090 --job 4711
    of a job whose metrics a server has collected
sonde job-report node*.rpd --format html > job.html  of all nodes
)";

}  // namespace

Command job_report_command() { return make_command(kText, run, kDefinition); }

}  // namespace sonde::cli
