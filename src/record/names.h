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

// The name of a rank's trace: run.rpd, or run.rankN.rpd in a job of several ranks, unless "rankN"
// is in the file's name already.
std::string output_of(const std::string& name, const std::optional<Rank>& rank);

}  // namespace sonde::record
