// What the page asks of the server: which traces there are, their tracks, tiles of lanes, names,
// single events, panels and SQL. Answered from the index, except panels, which read the file in a
// worker, and SQL. A trace is named by its number, never by a path. Answers but tiles are JSON; a
// refusal is {"error": "..."} with a status of 400, 404, 409, 500 or 503.
//
//   GET /api/traces        path, state, span, how much there is, whether kernels have counters
//   GET /api/state         of each trace, as it is read or grows
//   GET /api/preview?trace=0   about what there is, while it is read (preview.h)
//   GET /api/tracks?trace=0    kind, owner, number, lanes and events of each; names of threads
//   GET /api/tiles?trace=0&lanes=0,3&level=14&tile=2    bytes (timeline/tile.h)
//   GET /api/names?trace=0&ids=3,7[&short=1]      text by id, demangled
//   POST /api/names?trace=0, ["name", ...]        recorded names, short
//   GET /api/event?trace=0&table=op&row=12        table is op or api (events.h)
//   GET /api/next?trace=0&lane=3&time=7&back=0    the neighbour of an event, also by name
//   GET /api/search?trace=0&text=gemm&from=0&to=9&bins=99 events with the text in their name
//   GET /api/findings?trace=0                     what sonde check lists, and where it is seen
//   GET /api/panel?trace=0&analysis=top&from=1ms&to=2ms&gpu=0[&format=svg]
//   GET /api/info?trace=0[&environment=yes]       the same for info
//   GET /api/explain?analysis=top                 what the figures of a panel mean
//   GET /api/steps?trace=0                        the ruler (steps.h)
//   GET /api/layer?trace=0&layer=idle             tracks of an analysis (layer.h): gaps by cause,
//                                                 critical-path; tiles take the layer, too
//   GET /api/layer-event?trace=0&layer=idle&row=7 the evidence
//   GET /api/counters?trace=0                     values over time (counters.h)
//   GET /api/counter-tiles?trace=0&counters=0,3&level=14&tile=2    bytes (timeline/counter.h)
//   GET, POST /api/notes?trace=0                  notes.h
//   GET /api/diff?base=0&trace=1, /api/align?base=0&trace=1        two traces (compare.h, steps.h)
//   GET /api/ranks, /api/joint-panel?analysis=collectives          all traces together (compare.h)
//   GET /api/schema?trace=0                       what SQL can ask for
//   GET /api/sql?trace=0&sql=SELECT...            columns, rows, and whether there are more (cut)
//   POST /api/sql?trace=0, ["SELECT ..."]         the same, of a statement too long for a URL
//
// Whole numbers of SQL and origin_ns are text where a double would round them.
//
// Traces are read in the background: until then what needs more than the file is refused with 503
// and {"error", "reading": true, "what", "done"}. Times are ns from the start of the trace, as
// --from counts them: from=120ns. A trace that grows has versions (/api/state), and each numbers
// its lanes, counters and classes anew, but not its names: with &v=2 what the index answers is of
// that version, or refused with 409.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/server.h"
#include "serve/panel.h"
#include "serve/workers.h"

namespace sonde::serve {

// What a page may send at a time: all notes of a trace are sent together (notes.cpp says how many
// there may be, and how long).
constexpr size_t kMostSent = 2 << 20;

struct ApiOptions {
  std::string cache_folder;  // of indexes; "" = none is kept
  WorkLimits limits;         // of each analysis
};

class Api {
 public:
  // Begins to read the traces; fails if a file is not a trace. To be called before the process has
  // threads.
  static Result<Api> open(const std::vector<Source>& sources, const ApiOptions& options = {});
  Api(Api&&) noexcept;
  ~Api();

  // For several threads at once. At most four panels are made at a time; later requests are told to
  // ask again.
  http::Answer answer(const http::Request& request) const;

 private:
  struct State;
  explicit Api(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sonde::serve
