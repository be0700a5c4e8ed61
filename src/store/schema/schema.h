// The schema of an .rpd file: RPD v3 exactly, and Sonde's own tables and views beside it.
//
// Sonde's tables (docs/formats.md explains each column):
//   sonde_process(id, pid, ppid, start_ns, end_ns, executable, command, directory, host, rank,
//                 clock, exit)          one row per program image: an exec makes a new row;
//                                       exit: "exit 0", "signal 9", "exec", "running" or NULL
//   sonde_thread(id, process_id, tid, name, start_ns)
//   sonde_device(id, process_id, gpu_id, backend, name, vendor, driver, kind, location,
//                memory_bytes, compute_units, clock_mhz)
//   sonde_queue(id, process_id, queue_id, gpu_id, handle, context, out_of_order, user_profiling)
//   sonde_clock_snapshot(id, process_id, clock, value, monotonic_ns, uncertainty_ns)
//   sonde_diagnostic(id, process_id, time_ns, severity, source, text)
//   sonde_drop(source, reason, count)
//   sonde_op_detail(op_id, process_id, api_id, queued_ns, submitted_ns, bytes, grid_x, grid_y,
//                   grid_z, group_x, group_y, group_z, group_segment_bytes,
//                   private_segment_bytes, status)
//   sonde_counter(id, process_id, tid, time_ns, name_id, value)
//   sonde_op_args(op_id, args)          arguments of an operation, as another tool wrote them
//   sonde_flow(id, flow, category_id, name_id, phase, process_id, tid, time_ns)
//                                       one end of an arrow between events
//   sonde_note(process_id, key, value)  facts the program gave with sonde_metadata()
//   sonde_code_object(process_id, uri, load_base, load_size, delta)
//   sonde_kernel_code(process_id, gpu_id, name, object, vgprs, accumulation_vgprs, sgprs,
//                     group_segment_bytes, private_segment_bytes, kernarg_bytes)
//   sonde_graph_op(op_id, api_id, graph, node)
//   sonde_unfinished(api_id)            calls and ranges still open when their process ended
//   sonde_module(id, path, build_id)    a file whose code was executed
//   sonde_frame(id, kind, module_id, address, function, file, line, is_library,
//               inlined_into)
//                                       kind: 'native' or 'python'
//   sonde_stack(id, parent_id, frame_id)
//                                       a frame and, by its parent, those outside of it
//   sonde_blocked(id, process_id, tid, time_ns, stack_id, wall_ns, truncated)
//   sonde_sample(id, process_id, tid, time_ns, stack_id, cpu_ns, missed, cost_ns, truncated,
//                by_timer)
//   sonde_launch_stack(api_id, stack_id, truncated)
//                                       where a call that launched work was made
//   sonde_ingest(key, value)            how far a recording in progress has come; empty when done
#pragma once

#include <string>

#include "store/reader.h"

namespace sonde::store {

// CREATE TABLE and CREATE VIEW statements of RPD v3 with its seed rows.
const char* rpd_v3_schema();
// The indices RPD builds by default, created after the rows are in: on rocpd_string and on
// rocpd_ustring.
const char* rpd_v3_name_index();
const char* rpd_v3_argument_index();
// Sonde's tables.
const char* sonde_tables();
// Sonde's tables and views of call stacks, each made only where it is not there.
const char* sample_tables();
const char* sonde_indices();
// Tables derived from the others, made (again) when those are complete, indices included.
const char* sonde_derived_tables();
// Sonde's corrected views: sonde_top, sonde_ktop, sonde_busy, sonde_kernel, sonde_copy, sonde_api
// (docs/formats.md). `create` is "CREATE VIEW" or "CREATE TEMP VIEW".
std::string sonde_views(Flavour flavour, const char* create);
// The v_* TEMP views described in reader.h.
std::string canonical_views(Flavour flavour, bool made_by_sonde);

}  // namespace sonde::store
