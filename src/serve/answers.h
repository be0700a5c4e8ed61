// Answers about a trace that is there: tracks, tiles and names. Private to src/serve.
#pragma once

#include "base/result.h"
#include "http/server.h"
#include "serve/counters.h"
#include "serve/traces.h"
#include "timeline/timeline.h"

namespace sonde::serve {

Result<http::Answer> tracks_of(const Opened& opened);
Result<http::Answer> tiles(const timeline::Timeline& timeline, const http::Request& request);
Result<http::Answer> counter_tiles(const Counters& counters, int64_t start_ns,
                                   const http::Request& request);
// Names as they are recorded, a list of them in JSON: the same list, short. What the trace does not
// have stays as it is.
Result<http::Answer> spelled(const Opened& opened, const http::Request& request);
Result<http::Answer> names_of(const Opened& opened, const http::Request& request);

}  // namespace sonde::serve
