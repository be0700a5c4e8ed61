// Questions to several traces together: what changed from one to the other, collectives and ranks,
// and how their times align. Used by api.h.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "serve/panel.h"

namespace sonde::serve {

// `sonde NAME TRACE... --format json` for diff, collectives and ranks, byte for byte, as
// panel_json() is.
Result<std::string> joint_panel_json(const std::vector<Source>& sources, const std::string& name,
                                     const PanelOptions& options);

// Where each trace stands on the axis of the first one, and who was late: {"traces": [{"trace",
// "rank", "by", "shift_ns"}], "ranks": [{"name", "trace", "collectives", "last", "late_ns",
// "caused_ns", "waited_ns"}]}. By the collectives that they share, which end together; else by
// their clocks, if they ran at the same time; else by their starts.
Result<std::string> ranks_json(const std::vector<Source>& sources);

}  // namespace sonde::serve
