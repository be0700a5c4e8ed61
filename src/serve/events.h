// Single events of a trace, and events by name: what the page shows after a click, an arrow key or
// a search. Answers are JSON; times count as in api.h. Private to src/serve.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/server.h"
#include "serve/connection.h"
#include "timeline/index.h"

namespace sonde::serve {

// What answers are made of.
struct View {
  const timeline::Index& index;
  const std::vector<std::string>& names;  // of the index, demangled
  Connection& details;                    // to the file: one event at a time is read there
};

std::string_view name_of(const View& view, uint32_t name);
// An event of the tables: rows count operations, or calls, by time.
struct Placed {
  uint32_t lane = 0;
  timeline::Event event;
  const timeline::Track* track = nullptr;
};
std::optional<Placed> place_of(const View& view, bool is_op, uint32_t row);

// "name": ..., "start_ns": ..., "duration_ns", "table", "row", "lane": what every event has; of an
// operation of a GPU whose queues are packed also its lane there, "packed".
std::string basics_json(const View& view, bool is_op, const Placed& placed);
// ?table=op|api&row=N: all that is known of it, and the call that launched it or the operations
// that it launched, 256 at most.
Result<std::string> event_json(const View& view, const http::Request& request);
// ?lane=N&time=NS&back=0|1: the next event of a lane that starts after the time, or the last one
// that starts before it. null: there is none. With text=: of all lanes, from that lane on where
// several start at once.
Result<std::string> next_json(const View& view, const http::Request& request);
// ?text=T&from=NS&to=NS&bins=N: how many events have the text in their name, ignoring case; which
// names; and in which of the bins of that part of time, by lane, such events start.
Result<std::string> search_json(const View& view, const http::Request& request);

}  // namespace sonde::serve
