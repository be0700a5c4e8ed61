// Which hardware counters of which GPUs: what `sonde profile` and `sonde avail` share.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "metrics/collect/plan.h"

namespace sonde::cli {

// "gfx90a" ..., each once, of the GPUs that the driver shows.
std::vector<std::string> gpus_of_this_machine(const std::string& sys_root = "/sys");

struct CounterChoice {
  metrics::Catalogue catalogue;  // the plan points into it
  metrics::Plan plan;
  std::vector<std::string> gpus;
  std::string set;  // "" where only counters were named
};
// Plans what --set, --counter, --single-pass and --gpu wish for. `softgpu`: the command runs on
// software GPUs.
Result<CounterChoice> choose_counters(const Arguments& arguments, bool softgpu);

// Fails if there is a GPU that this user cannot open.
Status check_gpu_access();

}  // namespace sonde::cli
