// Single events of a trace, and events by name: what the page shows of a click, of the arrow keys,
// of a search. Answers are JSON; times count as in api.h. Private to src/serve.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "http/server.h"
#include "timeline/timeline.h"
#include "trace/trace.h"

namespace sonde::serve {

// What answers are made of: a trace with links, shapes and sizes of its operations.
struct View {
  const trace::Trace& trace;
  const timeline::Timeline& timeline;
  const std::vector<std::string>& names;  // by NameId, demangled
};

// "name": ..., "start_ns": ..., "duration_ns", "table", "row", "lane": what every event has.
std::string basics_json(const View& view, bool is_op, size_t row);
// ?table=op|api&row=N: all that is known of it, and the call that launched it or the first
// operation that it launched.
Result<std::string> event_json(const View& view, const http::Request& request);
// ?lane=N&time=NS&back=0|1: the next event of a lane that starts after the time, or the last one
// that starts before it. null: there is none. With text=: of all lanes, from that lane on where
// several start at once.
Result<std::string> next_json(const View& view, const http::Request& request);
// ?text=T&from=NS&to=NS&bins=N: how many events have the text in their name, ignoring case; which
// names; and in which of the bins of that part of time, by lane, such events start.
Result<std::string> search_json(const View& view, const http::Request& request);

}  // namespace sonde::serve
