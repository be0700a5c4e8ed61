// Names that stand for one thing with a number: the steps of a loop, the layers of a model. Where
// calls and operations are grouped by names, those of one group are one row.
#pragma once

#include <string>
#include <vector>

#include "trace/trace.h"

namespace sonde::trace {

// "ProfilerStep#12" -> "ProfilerStep#N", "nn.Module: Linear_3" -> "nn.Module: Linear_N"; other
// names stay as they are.
std::string group_name(const std::string& name);

// Groups the names of a trace. A name that is the only one of its group stays as it is.
class GroupNames {
 public:
  explicit GroupNames(const Trace& trace);
  // Which of Trace::names stands for a name; text() says how it is shown.
  NameId of(NameId name) const { return group_[name]; }
  const std::string& text(NameId name) const;

 private:
  const Trace& trace_;
  std::vector<NameId> group_;
  std::vector<std::string> texts_;  // by name; "": that of the trace
};

}  // namespace sonde::trace
