#include <filesystem>

#include "record/drain.h"
#include "record/record.h"
#include "record/session_dir.h"
#include "store/writer.h"

namespace sonde::record {

namespace {

namespace fs = std::filesystem;

// The file to go on with: the recorder's own, or a copy of it.
Result<store::Writer> open_trace(const std::string& recorded, const std::string& output) {
  std::error_code error;
  if (output != recorded && fs::exists(output, error)) {
    return make_error(ErrorCode::kInvalidArgument, "exists already", output,
                      "choose another name with -o");
  }
  if (!fs::exists(recorded, error)) {
    return store::Writer::open(output, store::Writer::Mode::kCreate);
  }
  if (output != recorded) {
    // Opening rolls back what the killed recorder had not committed; only then is the file whole.
    { SONDE_ASSIGN(auto whole, store::Writer::open(recorded, store::Writer::Mode::kAppend)); }
    fs::copy_file(recorded, output, error);
    if (error) return make_error(ErrorCode::kIo, "cannot copy: " + error.message(), output);
  }
  return store::Writer::open(output, store::Writer::Mode::kAppend);
}

}  // namespace

Result<Outcome> recover(const std::string& session, const std::string& output) {
  SONDE_ASSIGN(auto control, wire::Control::open(session));
  auto recorded = read_output_name(session);
  if (!recorded && output.empty()) return std::move(recorded).error();
  const std::string path = output.empty() ? *recorded : output;
  SONDE_ASSIGN(auto writer, open_trace(recorded ? *recorded : path, path));
  SONDE_ASSIGN(auto ingest, store::Ingest::open(writer));
  __atomic_store_n(&control->closed, 1, __ATOMIC_RELAXED);

  Drain drain(session, control, ingest);
  Outcome outcome;
  outcome.path = path;
  while (drain.poll() != 0) SONDE_TRY(drain.commit(false));
  for (const auto& live : drain.live()) {
    std::error_code error;
    const bool running = fs::exists("/proc/" + std::to_string(live.pid), error);
    outcome.left_running += running ? 1 : 0;
    SONDE_TRY(drain.finish_process(live.spool, running ? "running" : "ended, recovered"));
  }
  SONDE_TRY(drain.finish());
  outcome.apis = ingest.apis();
  outcome.ops = ingest.ops();
  outcome.lost = ingest.lost();
  remove_session_dir(session);
  return outcome;
}

}  // namespace sonde::record
