// Calls, ranges and marks: rows of rocpd_api.
#include <algorithm>

#include "store/ingest/state.h"
#include "store/json_arguments.h"

namespace sonde::store {

namespace {

constexpr size_t kMaxOpenCalls = 1 << 20;  // correlations that wait for their op
constexpr size_t kMaxStarted = 1 << 17;    // ranges that wait for their stop

uint64_t mix(uint64_t hash, uint64_t word, uint64_t factor) {
  hash = (hash ^ word) * factor;
  return hash ^ (hash >> 31);
}

}  // namespace

int64_t Ingest::Impl::add_api(const ApiRow& row) {
  ++api_count;
  return writer.api(row);
}

int64_t Ingest::Impl::arguments_id(Process& process, const KnownFunction& function,
                                   const wire::Record& record, int64_t result) {
  uint64_t key = mix(0, static_cast<uint64_t>(result), 0x9E3779B97F4A7C15);
  uint64_t check = mix(key, record.arguments.size(), 0xD6E8FEB86659FD93);
  // Processes have equal ids for different functions.
  key = mix(key, function.serial, 0x9E3779B97F4A7C15);
  for (const uint64_t word : record.arguments) {
    key = mix(key, word, 0xA0761D6478BD642F);
    check = mix(check, word, 0xE7037ED1A0B428DB);
  }
  ArgumentSlot& slot = argument_cache[key % argument_cache.size()];
  if (slot.id != 0 && slot.key == key && slot.check == check) return slot.id;
  buffer.clear();
  if (function.json) {
    append_json_arguments(buffer, function.arguments, record.arguments,
                          [&](uint32_t id) { return text(process, id); });
  } else {
    append_arguments(buffer, function.arguments, record.arguments);
  }
  if (result != 0 && !function.json) {
    if (!buffer.empty()) buffer += " | ";
    buffer += "ret = " + std::to_string(result);
  }
  slot = {key, check, ustring(buffer)};
  return slot.id;
}

void Ingest::Impl::call(Process& process, KnownRing& ring, const wire::Record& record) {
  static const KnownFunction kUnknown;
  const auto& span = record.as<wire::SpanRecord>();
  const uint32_t id = record.header->id;
  const KnownFunction& function = id < process.functions.size() ? process.functions[id] : kUnknown;
  int word = 0;
  const bool correlated = (record.header->flags & wire::kHasCorrelation) != 0;
  const uint64_t correlation = correlated ? record.extra<wire::SpanRecord>(word++) : 0;
  const bool failed = (record.header->flags & wire::kHasResult) != 0;
  const auto result = failed ? static_cast<int64_t>(record.extra<wire::SpanRecord>(word)) : 0;
  ApiRow row;
  row.pid = process.pid;
  row.tid = ring.tid;
  row.start_ns = ns_of(span.begin);
  row.end_ns = ns_of(span.end);
  row.name_id = function.name_id;
  row.domain_id = function.domain_id;
  row.category_id = function.category_id;
  row.args_id = arguments_id(process, function, record, result);
  const int64_t api_id = add_api(row);
  ring.last_begin = span.begin;
  if (correlation == 0) return;
  link_stack(ring, correlation, api_id);
  if (const auto waiting = process.waiting.find(correlation); waiting != process.waiting.end()) {
    for (const auto& op : waiting->second) {
      link(process, op, api_id);
      write_detail(process, op, api_id);
    }
    process.waiting.erase(waiting);
    KnownCall& known = process.calls[correlation];
    known = {api_id};
    return use_call(process, correlation, known);
  }
  process.calls[correlation] = {api_id};
  process.unused_calls.push_back(correlation);
  while (process.unused_calls.size() > kMaxOpenCalls) {
    const auto oldest = process.calls.find(process.unused_calls.front());
    if (oldest != process.calls.end() && !oldest->second.used) process.calls.erase(oldest);
    process.unused_calls.pop_front();
  }
}

namespace {

// Text, domain and category of a marker record whose fixed part is T.
template <typename T, typename Impl>
MarkerText marker_text(Impl& impl, Process& process, const wire::Record& record, int64_t sonde_id) {
  MarkerText text{1, sonde_id, 0};
  text.args_id =
      record.has_text ? impl.ustring(record.text) : impl.ustring_id(process, record.header->id);
  if ((record.header->flags & wire::kHasDomain) != 0) {
    const uint64_t word = record.extra<T>(0);
    const auto domain = static_cast<uint32_t>(word);
    if (domain != 0) text.domain_id = impl.string_id(process, domain);
    text.category_id = impl.string_id(process, static_cast<uint32_t>(word >> 32));
  }
  return text;
}

}  // namespace

int64_t Ingest::Impl::add_marker(const Process& process, const MarkerText& text, int64_t tid,
                                 int64_t start_ns, int64_t end_ns) {
  ApiRow row;
  row.pid = process.pid;
  row.tid = tid;
  row.start_ns = start_ns;
  row.end_ns = end_ns;
  row.name_id = marker_name_id;
  row.domain_id = text.domain_id;
  row.category_id = text.category_id;
  row.args_id = text.args_id;
  return add_api(row);
}

void Ingest::Impl::range(Process& process, KnownRing& ring, const wire::Record& record) {
  const auto& span = record.as<wire::SpanRecord>();
  const auto text = marker_text<wire::SpanRecord>(*this, process, record, sonde_domain_id);
  ring.last_begin = span.begin;
  add_marker(process, text, ring.tid, ns_of(span.begin), ns_of(span.end));
}

void Ingest::Impl::mark(Process& process, KnownRing& ring, const wire::Record& record) {
  const auto& moment = record.as<wire::MomentRecord>();
  const auto text = marker_text<wire::MomentRecord>(*this, process, record, sonde_domain_id);
  const int64_t time_ns = ns_of(moment.ticks);
  add_marker(process, text, ring.tid, time_ns, time_ns);
}

void Ingest::Impl::range_start(Process& process, KnownRing& ring, const wire::Record& record) {
  const auto& moment = record.as<wire::MomentRecord>();
  const auto text = marker_text<wire::MomentRecord>(*this, process, record, sonde_domain_id);
  const StartedRange range = {ns_of(moment.ticks), int64_t{ring.tid}, text};
  const auto stop = process.stopped.find(moment.value);
  if (stop == process.stopped.end()) {
    if (process.started.size() >= kMaxStarted) {
      ++drops[{"ranges", "too many open at once"}];
      return;
    }
    process.started[moment.value] = range;
    return;
  }
  add_marker(process, range.text, range.tid, range.start_ns, stop->second);
  process.stopped.erase(stop);
}

void Ingest::Impl::range_stop(Process& process, const wire::Record& record) {
  const auto& moment = record.as<wire::MomentRecord>();
  const int64_t end_ns = ns_of(moment.ticks);
  const auto start = process.started.find(moment.value);
  if (start == process.started.end()) {
    process.stopped[moment.value] = end_ns;  // the other thread's ring is read later
    return;
  }
  const StartedRange& range = start->second;
  add_marker(process, range.text, range.tid, range.start_ns, end_ns);
  process.started.erase(start);
}

// What an open range and an open call have in common; false if it is in the file already: its
// process ended before it could be taken off the stack.
bool Ingest::Impl::begin_unfinished(Process& process, const wire::ChunkHeader& chunk,
                                    uint64_t begin, ApiRow& row) {
  KnownRing& ring = process.rings[chunk.ring];
  if (ring.tid == 0) ring.tid = chunk.tid;
  if (begin == ring.last_begin) return false;
  row.pid = process.pid;
  row.tid = ring.tid;
  row.start_ns = ns_of(begin);
  row.end_ns = std::max(row.start_ns, process.end_ns.value_or(now_ns));
  return true;
}

void Ingest::Impl::add_unfinished(const ApiRow& row) {
  insert("INSERT OR IGNORE INTO sonde_unfinished (api_id) VALUES (?1)", add_api(row));
}

void Ingest::unfinished(const wire::ChunkHeader& chunk, const wire::OpenRange& range) {
  auto& impl = *impl_;
  Process& process = impl.process(chunk.spool, chunk.pid);
  ApiRow row;
  if ((range.state & wire::kRangeMuted) != 0 ||
      !impl.begin_unfinished(process, chunk, range.begin, row))
    return;
  const uint64_t end = uint64_t{range.text_offset} + range.text_length;
  row.name_id = impl.marker_name_id;
  row.domain_id = range.domain != 0 ? impl.string_id(process, range.domain) : impl.sonde_domain_id;
  row.category_id = impl.string_id(process, range.category);
  row.args_id = range.id == 0 && end <= wire::kOpenTextBytes
                    ? impl.ustring({chunk.open_text + range.text_offset, range.text_length})
                    : impl.ustring_id(process, range.id);
  impl.add_unfinished(row);
}

void Ingest::unfinished(const wire::ChunkHeader& chunk, const wire::OpenCall& call) {
  auto& impl = *impl_;
  Process& process = impl.process(chunk.spool, chunk.pid);
  ApiRow row;
  if (call.function >= process.functions.size() ||
      !impl.begin_unfinished(process, chunk, call.begin, row)) {
    return;
  }
  const KnownFunction& function = process.functions[call.function];
  row.name_id = function.name_id;
  row.domain_id = function.domain_id;
  row.category_id = function.category_id;
  impl.add_unfinished(row);
}

}  // namespace sonde::store
