// Diagnostics of the preloaded library on stderr, a single write each: "softgpu: TEXT". Level 1 is
// for users (something is not emulated), 2 and 3 trace what happens.
#pragma once

namespace softgpu {

void set_log_level(int level);
[[gnu::format(printf, 2, 3)]] void log(int level, const char* format, ...);

}  // namespace softgpu
