// The functions for programs, sonde_functions, are a subset of those for backends.
#pragma once

#include "sonde/backend.h"
#include "sonde/sonde.h"

namespace sonde::agent {

constexpr struct sonde_functions functions_of(const struct sonde_agent& agent) {
  return {sizeof(struct sonde_functions),
          agent.recording,
          agent.intern,
          agent.range_push,
          agent.range_pop,
          agent.range_start,
          agent.range_stop,
          agent.mark,
          agent.counter,
          agent.metadata,
          agent.start,
          agent.stop,
          agent.flush};
}

}  // namespace sonde::agent
