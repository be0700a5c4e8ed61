// The file <session>/processes: where a process announces itself as it starts, with a ChunkStatus
// and a kProcess behind it. Only when it records something does it get a folder.
#pragma once

namespace sonde::wire {

constexpr char kProcessesFile[] = "processes";

}  // namespace sonde::wire
