// ITT tasks, overlapped tasks, regions, frames and markers. The agent stamps every event when it is
// called, so the time stamps of the _ex variants (in the program's own clock domains) are ignored;
// those of a submitted frame come from us.
#include <dlfcn.h>
#include <stdio.h>

#include "backends/itt/collector.h"

namespace sonde::itt {
namespace {

constexpr Id kNoId = {0, 0, 0};

void task_begin(const Domain* domain, Id, Id, const StringHandle* name) {
  if (domain != nullptr) agent()->range_push(domain_id(domain), 0, text_of(name, "task"));
}
void task_begin_ex(const Domain* domain, void*, unsigned long long, Id, Id,
                   const StringHandle* name) {
  task_begin(domain, kNoId, kNoId, name);
}

// A task named by a function's address: by its symbol, if it has one.
void task_begin_fn(const Domain* domain, Id, Id, void* function) {
  if (domain == nullptr) return;
  const ErrnoKeeper keep;
  Dl_info info = {};
  char address[32];
  const char* text = address;
  if (dladdr(function, &info) != 0 && info.dli_sname != nullptr) {
    text = info.dli_sname;
  } else {
    snprintf(address, sizeof address, "%p", function);
  }
  agent()->range_push(domain_id(domain), 0, text);
}
void task_begin_fn_ex(const Domain* domain, void*, unsigned long long, Id, Id, void* function) {
  task_begin_fn(domain, kNoId, kNoId, function);
}

void task_end(const Domain* domain) {
  if (domain != nullptr) agent()->range_pop(domain_id(domain));
}
void task_end_ex(const Domain* domain, void*, unsigned long long) { task_end(domain); }

void begin(const Domain* domain, Kind kind, const Id& id, uint32_t category, const char* text) {
  if (domain == nullptr) return;
  const uint32_t owner = domain_id(domain);
  if (!begin_keyed_range(range_key(owner, kind, id), owner, category, text)) {
    agent()->dropped("itt", 1);
  }
}
void end(const Domain* domain, Kind kind, const Id& id) {
  if (domain != nullptr) end_keyed_range(range_key(domain_id(domain), kind, id));
}

void task_begin_overlapped(const Domain* domain, Id id, Id, const StringHandle* name) {
  begin(domain, kTask, id, 0, text_of(name, "task"));
}
void task_begin_overlapped_ex(const Domain* domain, void*, unsigned long long, Id id, Id,
                              const StringHandle* name) {
  begin(domain, kTask, id, 0, text_of(name, "task"));
}
void task_end_overlapped(const Domain* domain, Id id) { end(domain, kTask, id); }
void task_end_overlapped_ex(const Domain* domain, void*, unsigned long long, Id id) {
  end(domain, kTask, id);
}

void region_begin(const Domain* domain, Id id, Id, const StringHandle* name) {
  begin(domain, kRegion, id, intern("region"), text_of(name, "region"));
}
void region_end(const Domain* domain, Id id) { end(domain, kRegion, id); }

// A frame has no name but its domain's, and often no id.
void frame_begin_v3(const Domain* domain, const Id* id) {
  if (domain == nullptr) return;
  begin(domain, kFrame, id != nullptr ? *id : kNoId, intern("frame"),
        domain->name != nullptr ? domain->name : "frame");
}
void frame_end_v3(const Domain* domain, const Id* id) {
  end(domain, kFrame, id != nullptr ? *id : kNoId);
}
// A frame that is submitted after it has ended (libomp's parallel regions), with the values that
// get_timestamp() returned at its begin and end. 0 and kNoTime mean unknown.
void frame_submit_v3(const Domain* domain, const Id*, unsigned long long begin_ticks,
                     unsigned long long end_ticks) {
  if (domain == nullptr) return;
  constexpr unsigned long long kNoTime = ~0ull;
  const uint32_t category = intern("frame");
  const char* text = domain->name != nullptr ? domain->name : "frame";
  if (begin_ticks == 0 || begin_ticks == kNoTime) {
    return agent()->mark(domain_id(domain), category, text);
  }
  if (end_ticks == 0 || end_ticks == kNoTime) end_ticks = agent()->ticks();
  agent()->range_at(domain_id(domain), category, text, begin_ticks, end_ticks);
}
unsigned long long get_timestamp() { return agent()->ticks(); }

void marker(const Domain* domain, Id, const StringHandle* name, int) {
  if (domain != nullptr) agent()->mark(domain_id(domain), 0, text_of(name, "marker"));
}
void marker_ex(const Domain* domain, void*, unsigned long long, Id id, const StringHandle* name,
               int scope) {
  marker(domain, id, name, scope);
}

}  // namespace

FunctionTable task_functions() {
  static const NamedFunction kFunctions[] = {SONDE_ITT(task_begin),
                                             SONDE_ITT(task_begin_ex),
                                             SONDE_ITT(task_begin_fn),
                                             SONDE_ITT(task_begin_fn_ex),
                                             SONDE_ITT(task_end),
                                             SONDE_ITT(task_end_ex),
                                             SONDE_ITT(task_begin_overlapped),
                                             SONDE_ITT(task_begin_overlapped_ex),
                                             SONDE_ITT(task_end_overlapped),
                                             SONDE_ITT(task_end_overlapped_ex),
                                             SONDE_ITT(region_begin),
                                             SONDE_ITT(region_end),
                                             SONDE_ITT(frame_begin_v3),
                                             SONDE_ITT(frame_end_v3),
                                             SONDE_ITT(frame_submit_v3),
                                             SONDE_ITT(get_timestamp),
                                             SONDE_ITT(marker),
                                             SONDE_ITT(marker_ex)};
  return kFunctions;
}

}  // namespace sonde::itt
