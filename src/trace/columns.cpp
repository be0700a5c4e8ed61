#include "trace/columns.h"

#include <algorithm>

#include "base/strings.h"
#include "store/api_domain.h"

namespace sonde::trace {

namespace {

template <typename T>
void keep_rows(std::vector<T>& column, const std::vector<bool>& keep) {
  if (column.empty()) return;
  size_t used = 0;
  for (size_t i = 0; i < column.size(); ++i) {
    if (keep[i]) column[used++] = column[i];
  }
  column.resize(used);
}

bool keeps_all(const std::vector<bool>& keep) {
  return std::find(keep.begin(), keep.end(), false) == keep.end();
}

std::vector<bool> wanted_names(const Trace& trace, const NameFilter& filter) {
  std::vector<bool> wanted;
  for (const std::string& name : trace.names) wanted.push_back(filter.wants(name));
  return wanted;
}

// Files before v3 have no domains: they follow from the functions' names.
void complete_domains(Trace& trace) {
  std::unordered_map<std::string, NameId> index_of;
  for (size_t i = 0; i < trace.names.size(); ++i) {
    index_of.emplace(trace.names[i], static_cast<NameId>(i));
  }
  std::unordered_map<NameId, NameId> domain_of;
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    if (trace.apis.domain[i] != trace.empty_name) continue;
    const NameId function = trace.apis.name[i];
    auto known = domain_of.find(function);
    if (known == domain_of.end()) {
      const std::string domain(store::domain_of_api(trace.names[function]));
      const auto [entry, is_new] =
          index_of.try_emplace(domain, static_cast<NameId>(trace.names.size()));
      if (is_new) trace.names.push_back(domain);
      known = domain_of.emplace(function, entry->second).first;
    }
    trace.apis.domain[i] = known->second;
  }
}

}  // namespace

bool clip_to(Interval window, Interval& times, uint64_t& clipped) {
  const bool outside = times.start_ns == times.end_ns
                           ? times.start_ns < window.start_ns || times.start_ns >= window.end_ns
                           : times.end_ns <= window.start_ns || times.start_ns >= window.end_ns;
  if (outside) return false;
  if (times.start_ns < window.start_ns || times.end_ns > window.end_ns) {
    ++clipped;
    times.start_ns = std::max(times.start_ns, window.start_ns);
    times.end_ns = std::min(times.end_ns, window.end_ns);
  }
  return true;
}

ShapeTable::ShapeTable(Trace& trace) : shapes_(&trace.shapes) {
  trace.shapes.assign(1, LaunchShape{});
  index_of_.emplace(LaunchShape{}, 0);
}

uint32_t ShapeTable::index(const LaunchShape& shape) {
  const auto [entry, is_new] = index_of_.try_emplace(shape, static_cast<uint32_t>(shapes_->size()));
  if (is_new) shapes_->push_back(shape);
  return entry->second;
}

size_t ShapeTable::Hash::operator()(const LaunchShape& shape) const {
  uint64_t hash = 0;
  for (int i = 0; i < 3; ++i) {
    hash = (hash ^ static_cast<uint64_t>(shape.grid[i])) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ static_cast<uint64_t>(shape.group[i])) * 0x9E3779B97F4A7C15u;
  }
  return hash ^ (hash >> 32);
}

void complete_names(Trace& trace) {
  complete_domains(trace);
  for (const std::string& name : trace.names) {
    trace.class_of_type.push_back(store::class_of_type(name));
  }
}

void keep_ops(Trace& trace, const std::vector<bool>& keep) {
  if (keeps_all(keep)) return;
  Ops& ops = trace.ops;
  keep_rows(ops.start_ns, keep);
  keep_rows(ops.end_ns, keep);
  keep_rows(ops.gpu, keep);
  keep_rows(ops.name, keep);
  keep_rows(ops.type, keep);
  keep_rows(ops.id, keep);
  keep_rows(ops.bytes, keep);
  keep_rows(ops.shape, keep);
}

void keep_apis(Trace& trace, const std::vector<bool>& keep) {
  if (keeps_all(keep)) return;
  Apis& apis = trace.apis;
  keep_rows(apis.start_ns, keep);
  keep_rows(apis.end_ns, keep);
  keep_rows(apis.name, keep);
  keep_rows(apis.domain, keep);
}

void filter_by_name(const Request& request, Trace& trace) {
  if (request.op_names != nullptr && !request.op_names->wants_all()) {
    const auto wanted = wanted_names(trace, *request.op_names);
    std::vector<bool> keep(trace.ops.size());
    for (size_t i = 0; i < keep.size(); ++i) keep[i] = wanted[trace.label(i)];
    keep_ops(trace, keep);
  }
  if (request.api_names != nullptr && !request.api_names->wants_all()) {
    const auto wanted = wanted_names(trace, *request.api_names);
    std::vector<bool> keep(trace.apis.size());
    for (size_t i = 0; i < keep.size(); ++i) keep[i] = wanted[trace.apis.name[i]];
    keep_apis(trace, keep);
  }
}

void add_skip_warnings(Trace& trace) {
  const auto add = [&](uint64_t count, const char* what) {
    if (count != 0) trace.warnings.push_back(format_count(count) + what);
  };
  add(trace.changed.bad_ops, " operations end before they start and count as zero long");
  add(trace.changed.bad_apis, " API calls end before they start and count as zero long");
}

}  // namespace sonde::trace
