// The full screen of `sonde monitor` at a terminal: raw mode, keys, signals and the loop.
#pragma once

#include "base/result.h"
#include "watch/watcher.h"

namespace sonde::cli {

// Whether stdin and stdout are a terminal that can place its cursor.
bool can_show_screen();
Result<int> show_monitor_screen(const watch::WatchOptions& options, double interval_s);

}  // namespace sonde::cli
