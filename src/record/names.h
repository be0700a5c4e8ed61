// The rank of this process in a job, and the name of its trace.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sonde::record {

struct Rank {
  int rank = 0, size = 1;
};

// From the variables of torchrun, Open MPI, PMIx, MPICH/PMI, MVAPICH and Slurm, in this order;
// nullopt outside a job. `variable` reads the environment.
std::optional<Rank> detect_rank(const std::function<const char*(const char*)>& variable);

// The values of the keys in an output's name, except those from the environment.
struct NameFacts {
  int64_t pid = 0, parent_pid = 0;  // of the command
  std::string host;
  std::optional<Rank> rank;
  std::vector<std::string> command;
  int64_t launch_s = 0;  // since 1970
};

// %p %h %r %s %j and, as in ROCm's tools, %pid% %ppid% %hostname% %rank% %size% %nid% %job% %tag%
// %argv% %argt% %args% %launch_time% %env{X}% and $env{X}; %% is a percent sign. Other text stays
// as it is. Only environment variables can add a '/' to the name.
struct FilledName {
  std::string name;
  bool has_keys = false, has_rank = false;
};
FilledName fill_name(const std::string& name, const NameFacts& facts,
                     const std::function<const char*(const char*)>& variable);

// The name of a rank's trace: run.rpd, or run.rankN.rpd in a job of several ranks, unless the file
// name already contains "rankN".
std::string output_of(const std::string& name, const std::optional<Rank>& rank);

}  // namespace sonde::record
