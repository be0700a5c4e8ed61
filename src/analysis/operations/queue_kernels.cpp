#include "analysis/operations/queue_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/join.h"
#include "report/layout.h"
#include "report/names.h"

namespace sonde::analysis {
namespace {

// "at::native::reduce_kernel<512, Mean>" -> "reduce_kernel<512, Mean>", each half cut by itself, so
// that the arguments are seen.
std::string brief(const std::string& name) {
  constexpr size_t kHead = 32;
  constexpr size_t kArguments = 26;
  const size_t end = std::min(name.find('<'), name.size());
  const size_t colons = name.rfind("::", end);
  const size_t begin = colons == name.npos ? 0 : colons + 2;
  const std::string head = name.substr(begin, end - begin);
  const std::string arguments = name.substr(end);
  return report::ellipsize(head, kHead) + report::ellipsize(arguments, kArguments);
}

}  // namespace

std::vector<std::vector<size_t>> kernels_of_queues(const trace::Trace& trace) {
  std::vector<std::vector<size_t>> queues(trace.queues.size());
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    if (trace.class_of(op) == trace::OpClass::kKernel) queues[trace.ops.queue[op]].push_back(op);
  }
  return queues;
}

KernelNames::KernelNames(const trace::Trace& trace) {
  std::map<std::string, trace::NameId> kernels;  // by name, so that numbers do not go by the rows
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    if (trace.class_of(op) != trace::OpClass::kKernel) continue;
    const trace::NameId name = trace.label(op);
    if (text_of_.try_emplace(name).second) kernels.emplace(trace.names[name], name);
  }
  std::vector<std::string> whole;
  for (const auto& [name, id] : kernels) whole.push_back(name);
  const std::vector<std::string> shortened = report::short_names(whole);
  std::map<std::string, std::vector<trace::NameId>> alike;
  for (size_t i = 0; i < whole.size(); ++i) {
    alike[brief(shortened[i])].push_back(kernels.at(whole[i]));
  }
  for (const auto& [text, ids] : alike) {
    for (size_t i = 0; i < ids.size(); ++i) {
      text_of_[ids[i]] = ids.size() == 1 ? text : fmt::format("{} #{}", text, i + 1);
    }
  }
}

std::string KernelNames::joined(std::span<const trace::NameId> names) const {
  return join(names, " + ", [&](trace::NameId name) { return text_of_.at(name); });
}

}  // namespace sonde::analysis
