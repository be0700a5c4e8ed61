#include "trace/columns.h"

#include <algorithm>
#include <string>

#include "base/numbered.h"
#include "base/strings.h"
#include "store/api_domain.h"
#include "trace/arrange.h"
#include "trace/call_texts.h"

namespace sonde::trace {

size_t ShapeHash::operator()(const LaunchShape& shape) const {
  uint64_t hash = 0;
  for (int i = 0; i < 3; ++i) {
    hash = (hash ^ static_cast<uint64_t>(shape.grid[i])) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ static_cast<uint64_t>(shape.group[i])) * 0x9E3779B97F4A7C15u;
  }
  return hash ^ (hash >> 32);
}

Request united(const Request& a, const Request& b) {
  Request both = a;
  for (bool Request::*const wants :
       {&Request::ops, &Request::op_ids, &Request::op_bytes, &Request::op_shapes,
        &Request::op_counters, &Request::devices, &Request::apis, &Request::nesting,
        &Request::links, &Request::streams, &Request::samples, &Request::launch_stacks,
        &Request::monitors, &Request::program, &Request::cpu_time, &Request::explains_idle}) {
    both.*wants |= b.*wants;
  }
  both.args_of |= b.args_of;
  if (a.args_of == 0) both.args_named = b.args_named;
  if (a.args_of != 0 && b.args_of != 0 && a.args_named != b.args_named) both.args_named = nullptr;
  return both;
}

void describe_device(std::vector<Device>& devices, int64_t gpu, std::string_view name,
                     int64_t compute_units) {
  for (Device& device : devices) {
    if (device.gpu != gpu) continue;
    if (device.name.empty()) device.name = std::string(name);
    if (device.compute_units == 0) device.compute_units = compute_units;
    return;
  }
  devices.push_back({gpu, std::string(name), compute_units});
}

namespace {

// Files before v3 have no domains: they follow from the functions' names.
void complete_domains(Trace& trace) {
  constexpr NameId kNotSeen = ~NameId{0};
  std::vector<NameId> domain_of(trace.names.size(), kNotSeen);
  std::optional<TextNumbering> names;  // takes its time, and may not be needed
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    if (trace.apis.domain[i] != trace.empty_name) continue;
    NameId& domain = domain_of[trace.apis.name[i]];
    if (domain == kNotSeen) {
      if (!names) names.emplace(trace.names);
      domain = names->index(std::string(store::domain_of_api(trace.names[trace.apis.name[i]])));
    }
    trace.apis.domain[i] = domain;
  }
}

void complete_kinds(const std::vector<NameId>& category, Trace& trace) {
  const Apis& apis = trace.apis;
  KindTable kinds(trace.names);
  trace.apis.kind.resize(category.size());
  for (size_t i = 0; i < category.size(); ++i) {
    trace.apis.kind[i] = kinds.kind(category[i], apis.domain[i], apis.name[i]);
  }
}

// RPD's recorders write operators as markers; their text shows it.
void find_operators_among_markers(Trace& trace) {
  Apis& apis = trace.apis;
  std::vector<int8_t> is_operator(trace.names.size(), -1);
  for (size_t i = 0; i < apis.size(); ++i) {
    if (apis.kind[i] != ApiKind::kMarker || apis.label[i] == apis.name[i]) continue;
    int8_t& known = is_operator[apis.label[i]];
    if (known < 0) {
      known = kind_of_api({}, {}, trace.names[apis.label[i]]) == ApiKind::kOperator ? 1 : 0;
    }
    if (known == 1) apis.kind[i] = ApiKind::kOperator;
  }
}

void complete_categories(Trace& trace) {
  Ops& ops = trace.ops;
  constexpr uint8_t kNotSeen = 0xff;
  std::vector<uint8_t> of_kernel(trace.names.size(), kNotSeen);
  ops.category.resize(ops.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    const OpClass op_class = trace.class_of(i);
    if (op_class != OpClass::kKernel) {
      ops.category[i] = category_of_op(op_class, {});
      continue;
    }
    uint8_t& known = of_kernel[ops.name[i]];
    if (known == kNotSeen) {
      known = static_cast<uint8_t>(category_of_op(op_class, trace.names[ops.name[i]]));
    }
    ops.category[i] = static_cast<Category>(known);
  }
}

// The process of an operation is that of its call; without a call, that of all others on the same
// GPU if there is only one, or the only one there is.
void complete_processes(Trace& trace) {
  Ops& ops = trace.ops;
  constexpr int32_t kSeveral = -2;
  std::unordered_map<int64_t, int32_t> of_gpu;
  int32_t only = kNone;
  ops.process.assign(ops.size(), kNone);
  const auto meet = [](int32_t& known, int32_t process) {
    if (known == kNone) known = process;
    if (known != process) known = kSeveral;
  };
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops.api[i] == kNone) continue;
    const uint32_t thread = trace.apis.thread[static_cast<size_t>(ops.api[i])];
    ops.process[i] = trace.threads[thread].process;
    meet(of_gpu.try_emplace(ops.gpu[i], kNone).first->second, ops.process[i]);
    meet(only, ops.process[i]);
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops.process[i] != kNone) continue;
    const auto found = of_gpu.find(ops.gpu[i]);
    const int32_t process = found == of_gpu.end() ? only : found->second;
    ops.process[i] = process == kSeveral ? kNone : process;
  }
}

// Launches may come in another order than their operations, and of those some have been taken out;
// the numbers of shapes go by the first operation that has them.
void renumber_shapes(Trace& trace) {
  if (trace.ops.shape.empty()) return;
  constexpr uint32_t kNotSeen = ~uint32_t{0};
  std::vector<uint32_t> number(trace.shapes.size(), kNotSeen);
  std::vector<LaunchShape> shapes(1);
  number[0] = 0;
  for (uint32_t& shape : trace.ops.shape) {
    if (number[shape] == kNotSeen) {
      number[shape] = static_cast<uint32_t>(shapes.size());
      shapes.push_back(trace.shapes[shape]);
    }
    shape = number[shape];
  }
  trace.shapes = std::move(shapes);
}

void sort_queues(Trace& trace) {
  const std::vector<Queue> found = trace.queues;
  std::sort(trace.queues.begin(), trace.queues.end());
  std::vector<uint32_t> number;  // by that of before; no two queues are equal
  for (const Queue& queue : found) {
    const auto place = std::lower_bound(trace.queues.begin(), trace.queues.end(), queue);
    number.push_back(static_cast<uint32_t>(place - trace.queues.begin()));
  }
  for (uint32_t& queue : trace.ops.queue) queue = number[queue];
}

std::string list_of(const std::set<int64_t>& numbers) {
  constexpr size_t kMost = 16;
  std::string list;
  size_t count = 0;
  for (const int64_t number : numbers) {
    if (count++ == kMost) return list + " ...";
    list += (list.empty() ? "" : ", ") + std::to_string(number);
  }
  return list;
}

// Without this warning, the answer for a missing GPU or rank would look like that for an idle one.
void warn_of_no_such(const Request& request, const Raw& raw, Trace& trace) {
  if (request.gpu && request.ops && raw.gpus.count(*request.gpu) == 0) {
    const std::string list = list_of(raw.gpus);
    trace.warnings.push_back(
        "no operations of GPU " + std::to_string(*request.gpu) + " in the file; " +
        (list.empty() ? "it has none of any GPU" : "it has those of GPU " + list));
  }
  if (!request.rank) return;
  std::set<int64_t> ranks;
  for (const Process& process : trace.processes) {
    if (process.rank) ranks.insert(*process.rank);
  }
  if (ranks.count(*request.rank) != 0) return;
  const std::string list = list_of(ranks);
  trace.warnings.push_back("no rank " + std::to_string(*request.rank) + " in the file; " +
                           (list.empty() ? "it names no ranks" : "it has rank " + list));
}

}  // namespace

void arrange(const Request& request, const Window& window, const Raw& raw, Trace& trace) {
  trace.gpu = request.gpu;
  if (raw.extent) trace.origin_ns = raw.extent->start_ns;
  warn_of_no_such(request, raw, trace);
  complete_domains(trace);
  for (const std::string& name : trace.names) {
    trace.class_of_type.push_back(store::class_of_type(name));
  }
  if (request.nesting) {
    complete_kinds(raw.api_category, trace);
    find_operators_among_markers(trace);
  }
  complete_categories(trace);
  if (request.links) complete_processes(trace);
  if (request.program && request.rank) extend_program(trace, *request.rank);
  if (trace.window && request.program) trace.program = trace.window;
  sort_queues(trace);
  if (raw.impossible != 0) {
    trace.warnings.push_back(format_count(raw.impossible) +
                             " operations and calls at impossible times (before 1897 or after "
                             "2116, or more than a year long) are left out");
  }
  arrange_rows(request, window, trace);
  renumber_shapes(trace);
}

}  // namespace sonde::trace
