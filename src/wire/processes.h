// The file <session>/processes: each process announces itself there as it starts, with a
// ChunkStatus followed by a kProcess record. It gets a folder only when it records something.
#pragma once

namespace sonde::wire {

constexpr char kProcessesFile[] = "processes";

}  // namespace sonde::wire
