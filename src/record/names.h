// Which rank of a job this is, and what its trace is called.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace sonde::record {

struct Rank {
  int rank = 0, size = 1;
  std::string source;  // the variable that said so
};

// From the variables of torchrun, Open MPI, PMIx, MPICH/PMI, MVAPICH and Slurm, in this order;
// nullopt outside of a job. `variable` reads the environment.
std::optional<Rank> detect_rank(const std::function<const char*(const char*)>& variable);

// trace.rpd, or trace.rankN.rpd in a job of several ranks.
std::string default_output(const std::optional<Rank>& rank);

}  // namespace sonde::record
