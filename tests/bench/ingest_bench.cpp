// link: sonde_record sonde_store sonde_wire sonde_agent_objects fmt::fmt
// runs: 1
// How fast spooled records become rows of an .rpd, in CPU time of one core: from the chunk files of
// a finished program to the finished file, indices included. A row is one rocpd_api or rocpd_op row
// with its strings.
//   ingest_bench [ROWS]
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "cpu_time.h"
#include "record/record.h"
#include "record/session_dir.h"
#include "sonde/backend.h"
#include "wire/session.h"

namespace sonde::agent {
bool attach_process(const char* session);
}
extern "C" const struct sonde_agent* sonde_agent_v2(void);

namespace {

[[noreturn]] void fail(const std::string& message) {
  fmt::print(stderr, "ingest_bench: {}\n", message);
  std::exit(1);
}

void make_markers(const struct sonde_agent* agent, int64_t rows) {
  for (int64_t i = 0; i < rows; ++i) {
    agent->range_push(0, 0, i % 2 != 0 ? "forward" : "backward");
    agent->range_pop(0);
  }
}

// Calls with seven arguments, each of which launches a kernel.
void make_launches(const struct sonde_agent* agent, int64_t rows) {
  const uint32_t function =
      agent->define_function("opencl", "enqueue", "clEnqueueNDRangeKernel",
                             "queue:p kernel:p dimensions:u global:u local:u events:u event:p");
  sonde_device device = {};
  device.backend = "bench";
  device.name = "device";
  sonde_queue queue = {agent->define_device(&device), 0, 0x55d0c0ffee00, 0x55d0c0ffef00};
  const uint32_t queue_id = agent->define_queue(&queue);
  const uint32_t kernel = agent->intern("tiled_product", 13);
  for (int64_t i = 0; i < rows / 2; ++i) {
    sonde_call call = agent->call_begin(function, 1);
    sonde_args args = {};
    for (const uint64_t word : {0x55d0c0ffee00, 0x55d0deadbeef, 2L, 1024L, 16L, 0L, i % 16}) {
      sonde_arg_u64(&args, word);
    }
    agent->call_end(&call, 0, args.words, args.count);
    sonde_op op = {};
    op.kind = SONDE_OP_KERNEL;
    op.name = kernel;
    op.queue = queue_id;
    op.clock = SONDE_CLOCK_MONOTONIC;
    op.correlation = call.correlation;
    op.queued = op.submitted = static_cast<uint64_t>(i) * 1000 + 1;
    op.start = op.queued + 100;
    op.end = op.queued + 900;
    op.grid[0] = op.grid[1] = 1024;
    op.group[0] = op.group[1] = 16;
    agent->op(&op);
  }
}

void measure(const char* name, int64_t rows, void (*make)(const struct sonde_agent*, int64_t)) {
  auto made = sonde::record::make_session_dir({.spool_folder = "."});
  if (!made) fail(made.error().to_line());
  const std::string session = *made;
  {
    auto control = sonde::wire::Control::create(
        session, {.limit_bytes = uint64_t{64} << 30, .clock = sonde::wire::best_clock()});
    if (!control) fail(control.error().to_line());
    const pid_t child = fork();
    if (child == 0) {
      if (!sonde::agent::attach_process(session.c_str())) _exit(1);
      make(sonde_agent_v2(), rows);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) fail("the program that fills the spool failed");
  }
  const double before = cpu_seconds();
  auto outcome = sonde::record::recover(session, std::string(name) + ".rpd");
  if (!outcome) fail(outcome.error().to_line());
  const double seconds = cpu_seconds() - before;
  if (static_cast<int64_t>(outcome->apis + outcome->ops) != rows) fail("rows are missing");
  fmt::print(
      "{{\"name\": \"spool to .rpd, {}\", \"value\": {:.3f}, \"unit\": \"M rows/s CPU\", "
      "\"better\": \"higher\", \"goal\": 1, \"versus\": \"bare multi-row insert\"}}\n",
      name, static_cast<double>(rows) / seconds / 1e6);
  std::filesystem::remove(std::string(name) + ".rpd");
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t rows = argc > 1 ? std::strtoll(argv[1], nullptr, 10) : 2000000;
  measure("markers", rows, make_markers);
  measure("launches", rows, make_launches);
}
