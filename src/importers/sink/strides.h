// Where the numbers of several machines or files begin in one trace, as rocpd_metadata says: those
// of processes and GPUs of the n-th, from 0, at n times these. Used by StoreSink, and by importers
// whose files hold several machines, which StoreSink then leaves room for.
#pragma once

#include <cstdint>

namespace sonde::importers {

constexpr int64_t kPidStride = 10'000'000;
constexpr int64_t kGpuStride = 1000;

}  // namespace sonde::importers
