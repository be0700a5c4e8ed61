// Which rank of a job this is, and what its trace is called.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace sonde::record {

struct Rank {
  int rank = 0, size = 1;
  std::string source;  // the variable that said so
};

// From the variables of torchrun, Open MPI, PMIx, MPICH/PMI, MVAPICH and Slurm, in this order;
// nullopt outside of a job. `variable` reads the environment.
std::optional<Rank> detect_rank(const std::function<const char*(const char*)>& variable);

// What the keys of an output's name stand for, but for those of the environment.
struct NameFacts {
  int64_t pid = 0, parent_pid = 0;  // of the command
  std::string host;
  std::optional<Rank> rank;
  std::vector<std::string> command;
  int64_t launch_s = 0;  // since 1970
};

// %p %h %r %s %j and, as ROCm's tools have them, %pid% %ppid% %hostname% %rank% %size% %nid% %job%
// %tag% %argv% %argt% %args% %launch_time% %env{X}% and $env{X}; %% is a percent sign. What is no
// key stays as it is. Only a variable of the environment brings a '/' into the name.
struct FilledName {
  std::string name;
  bool has_keys = false, has_rank = false;
};
FilledName fill_name(const std::string& name, const NameFacts& facts,
                     const std::function<const char*(const char*)>& variable);

// The name of a rank's trace: run.rpd, or run.rankN.rpd in a job of several ranks, unless "rankN"
// is in the file's name already.
std::string output_of(const std::string& name, const std::optional<Rank>& rank);

}  // namespace sonde::record
