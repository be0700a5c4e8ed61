#include "importers/sink/checked_sink.h"

#include "base/possible_span.h"

namespace sonde::importers {

bool CheckedSink::is_possible(int64_t start_ns, int64_t end_ns) {
  if (is_possible_span(start_ns, end_ns)) return true;
  tally_.skip("rows at impossible times (before 1897 or after 2116, or more than a year long)",
              path_);
  return false;
}

int64_t CheckedSink::api(const Api& row) {
  return is_possible(row.start_ns, row.end_ns) ? sink_.api(row) : 0;
}

int64_t CheckedSink::op(const Op& row) {
  return is_possible(row.start_ns, row.end_ns) ? sink_.op(row) : 0;
}

void CheckedSink::launch(const Launch& launch) {
  if (launch.op == 0) return;
  if (is_possible_span(launch.queued_ns, launch.queued_ns) &&
      is_possible_span(launch.submitted_ns, launch.submitted_ns)) {
    return sink_.launch(launch);
  }
  Launch known = launch;
  known.queued_ns = known.submitted_ns = -1;
  sink_.launch(known);
}

void CheckedSink::op_counter(int64_t op, Name name, double value) {
  if (op != 0) sink_.op_counter(op, name, value);
}

void CheckedSink::counter(const Counter& row) {
  if (is_possible(row.time_ns, row.time_ns)) sink_.counter(row);
}

void CheckedSink::sample(const Sample& row) {
  if (is_possible(row.start_ns, row.end_ns)) sink_.sample(row);
}

void CheckedSink::flow(const Flow& row) {
  if (is_possible(row.time_ns, row.time_ns)) sink_.flow(row);
}

void CheckedSink::stack_frame(int64_t api, int depth, Name name) {
  if (api != 0) sink_.stack_frame(api, depth, name);
}

void CheckedSink::unfinished(int64_t api) {
  if (api != 0) sink_.unfinished(api);
}

void CheckedSink::further_call(int64_t api, int64_t op) {
  if (api != 0 && op != 0) sink_.further_call(api, op);
}

}  // namespace sonde::importers
