#include "driver/pc_sampling.h"

#include <algorithm>
#include <cerrno>

namespace softgpu {
namespace {

using kfd::PcSampleOp;

constexpr kfd::PcSampleInfo kOffered{.interval = 0,
                                     .least = 1,
                                     .most = ~uint64_t{0},
                                     .flags = 0,
                                     .method = kfd::PcSampleMethod::kHostTrap,
                                     .unit = kfd::PcSampleUnit::kMicroseconds};

std::chrono::nanoseconds interval_of(const kfd::PcSampleInfo& info) {
  constexpr uint64_t kMost = uint64_t{1} << 50;  // several years
  return std::chrono::microseconds(std::min(info.interval, kMost));
}

}  // namespace

int PcSampling::answer(kfd::PcSample& request) {
  if (!is_possible_) return EOPNOTSUPP;
  std::lock_guard lock(mutex_);
  switch (request.op) {
    case PcSampleOp::kQuery:
      return query(request);
    case PcSampleOp::kCreate:
      return create(request);
    case PcSampleOp::kDestroy:
    case PcSampleOp::kStart:
    case PcSampleOp::kStop:
      return change(request.session, request.op);
  }
  return EINVAL;
}

int PcSampling::query(kfd::PcSample& request) const {
  const bool has_room = request.info != 0 && request.count != 0;
  request.count = 1;
  if (!has_room) return 0;
  const bool all = (request.flags & kfd::kPcSampleQueryAll) != 0;
  *reinterpret_cast<kfd::PcSampleInfo*>(request.info) =
      sessions_.empty() || all ? kOffered : current_;
  return 0;
}

// Sessions of a GPU share an interval.
int PcSampling::create(kfd::PcSample& request) {
  const auto* wanted = reinterpret_cast<const kfd::PcSampleInfo*>(request.info);
  if (wanted == nullptr || request.count != 1) return EINVAL;
  if (wanted->method != kOffered.method || wanted->unit != kOffered.unit) return EOPNOTSUPP;
  if (wanted->interval < kOffered.least) return EINVAL;
  if (!sessions_.empty() && wanted->interval != current_.interval) return EBUSY;
  current_ = kOffered;
  current_.interval = wanted->interval;
  request.session = ++last_session_;
  sessions_[request.session] = false;
  return 0;
}

int PcSampling::change(uint32_t session, PcSampleOp op) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return EINVAL;
  if (op == PcSampleOp::kDestroy) {
    if (found->second) return EBUSY;
    sessions_.erase(found);
    return 0;
  }
  const bool starts = op == PcSampleOp::kStart;
  if (found->second == starts) return EALREADY;
  found->second = starts;
  const bool is_any =
      std::any_of(sessions_.begin(), sessions_.end(), [](const auto& each) { return each.second; });
  if (is_any) {
    traps_.start(interval_of(current_));
  } else {
    traps_.stop();
  }
  return 0;
}

}  // namespace softgpu
