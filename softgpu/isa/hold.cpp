#include "isa/hold.h"

#include <utility>

namespace softgpu::isa {
namespace {

constexpr auto kMeanwhile = std::chrono::milliseconds(20);

}  // namespace

void WaveHold::begin() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !wanted_ || ended_; });
  ++running_;
}

void WaveHold::end() {
  std::lock_guard lock(mutex_);
  --running_;
  changed_.notify_all();
}

void WaveHold::end_parked(const StoppedGroup& group, std::function<void()> meanwhile) {
  std::lock_guard lock(mutex_);
  parked_.push_back({&group, std::move(meanwhile)});
  --running_;
  changed_.notify_all();
}

void WaveHold::begin_parked(const StoppedGroup& group) {
  std::unique_lock lock(mutex_);
  wait_while_held(lock, [] {});
  parked_.remove_if([&](const Parked& parked) { return parked.group == &group; });
  ++running_;
}

void WaveHold::forget_parked(const StoppedGroup& group) {
  std::lock_guard lock(mutex_);
  parked_.remove_if([&](const Parked& parked) { return parked.group == &group; });
}

void WaveHold::wait_while_held(std::unique_lock<std::mutex>& lock,
                               const std::function<void()>& meanwhile) {
  while (wanted_ && !ended_) {
    if (changed_.wait_for(lock, kMeanwhile, [this] { return !wanted_ || ended_; })) continue;
    meanwhile();
    for (const Parked& parked : parked_) parked.meanwhile();
  }
}

void WaveHold::stay(const StoppedGroup& group, const std::function<void()>& meanwhile) {
  std::unique_lock lock(mutex_);
  const auto own = staying_.insert(staying_.end(), &group);
  changed_.notify_all();
  wait_while_held(lock, meanwhile);
  staying_.erase(own);
}

void WaveHold::wait_until_wanted() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return wanted_ || ended_; });
}

void WaveHold::keep(const StoppedGroup& group) {
  std::lock_guard lock(mutex_);
  Kept& kept = kept_.emplace_back();
  kept.lds.assign(group.lds.begin(), group.lds.end());
  kept.group.lds = kept.lds;
  kept.group.registers = group.registers;
  for (const Wave* wave : group.waves) {
    kept.waves.push_back(std::make_unique<Wave>(*wave));
    kept.waves.back()->group = nullptr;
    kept.waves.back()->private_memory = nullptr;
    kept.group.waves.push_back(kept.waves.back().get());
  }
}

void WaveHold::hold() {
  std::lock_guard lock(mutex_);
  wanted_ = true;
  changed_.notify_all();
}

std::vector<StoppedGroup> WaveHold::groups() const {
  std::vector<StoppedGroup> all;
  for (const StoppedGroup* group : staying_) all.push_back(*group);
  for (const Parked& parked : parked_) all.push_back(*parked.group);
  for (const Kept& kept : kept_) all.push_back(kept.group);
  return all;
}

std::optional<SavedWaves> WaveHold::saved(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  const auto all_stay = [this] { return ended_ || staying_.size() == running_; };
  if (!changed_.wait_for(lock, limit, all_stay) || ended_) return std::nullopt;
  return save(groups());
}

void WaveHold::release(std::span<uint8_t> waves) {
  std::lock_guard lock(mutex_);
  if (!waves.empty() && staying_.size() == running_) restore(waves, groups());
  wanted_ = false;
  changed_.notify_all();
}

void WaveHold::end_all() {
  std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

}  // namespace softgpu::isa
