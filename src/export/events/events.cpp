#include "export/events/events.h"

#include <algorithm>

#include "export/events/event_loader.h"
#include "export/events/keep.h"
#include "store/api_domain.h"

namespace sonde::exporting {

std::vector<std::vector<uint32_t>> Events::calls_by_thread() const {
  std::vector<std::vector<uint32_t>> by_thread(threads.size());
  for (uint32_t i = 0; i < api_count(); ++i) by_thread[apis[i].thread].push_back(i);
  for (std::vector<uint32_t>& calls : by_thread) {
    std::sort(calls.begin(), calls.end(), [&](uint32_t a, uint32_t b) {
      const Api &x = apis[a], &y = apis[b];
      if (x.start_ns != y.start_ns) return x.start_ns < y.start_ns;
      return x.end_ns != y.end_ns ? x.end_ns > y.end_ns : a < b;
    });
  }
  return by_thread;
}

std::string_view Events::title(const Api& api) const {
  if (is_mark(api) && api.args != kNone) return args.at(api.args);
  return names.at(api.name);
}

std::string_view Events::arguments(const Api& api) const {
  return is_mark(api) ? std::string_view() : args.at(api.args);
}

std::string_view Events::domain(const Api& api) const {
  if (const auto text = names.at(api.domain); !text.empty()) return text;
  if (is_mark(api)) return "marker";
  const std::string_view told = store::domain_of_api(names.at(api.name));
  return told.empty() ? "api" : told;
}

uint32_t Events::device_of(const Queue& queue) const {
  const auto at =
      std::lower_bound(devices.begin(), devices.end(), queue.gpu_id,
                       [](const Device& device, int64_t gpu_id) { return device.gpu_id < gpu_id; });
  return static_cast<uint32_t>(at - devices.begin());
}

const KernelCode& Events::code_of(const Op& op) const {
  static const KernelCode kUnknown;
  const std::pair<int64_t, std::string_view> wanted{queues[op.queue].gpu_id, names.at(op.name)};
  const auto at = std::lower_bound(kernel_codes.begin(), kernel_codes.end(), wanted,
                                   [](const KernelCode& code, const auto& other) {
                                     return std::pair<int64_t, std::string_view>(
                                                code.gpu_id, code.kernel) < other;
                                   });
  const bool found =
      at != kernel_codes.end() && at->gpu_id == wanted.first && at->kernel == wanted.second;
  return found ? *at : kUnknown;
}

Result<Events> load_events(store::Reader& reader, const Options& options, OfOps of_ops,
                           const CallSamples* call_samples) {
  SONDE_ASSIGN(Events events, EventLoader(reader, options).load(of_ops, call_samples));
  keep_wanted(events, options);
  return events;
}

}  // namespace sonde::exporting
