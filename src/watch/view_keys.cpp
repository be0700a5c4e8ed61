// The keyboard commands.
#include <algorithm>

#include "watch/view.h"

namespace sonde::watch {

namespace {

constexpr double kIntervals[] = {0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60};

double next_interval(double now, bool longer) {
  double found = now;
  for (const double each : kIntervals) {
    if (longer && each > now) return each;
    if (!longer && each < now) found = each;
  }
  return found;
}

bool is_text(const std::string& key) {
  const bool one = key.size() == 1 && static_cast<unsigned char>(key[0]) >= 0x20;
  return one && key[0] != 0x7f;
}

}  // namespace

bool View::press_in_filter(const std::string& key) {
  if (key == "enter" || key == "tab") typing_ = false;
  if (key == "escape") {
    typing_ = false;
    filter_.clear();
  }
  if (key == "backspace" && !filter_.empty()) filter_.pop_back();
  if (is_text(key)) filter_ += key;
  process_ = 0;
  return true;
}

void View::choose_kernels() {
  const auto processes = shown_processes();
  if (kernels_ && (processes.empty() || processes[process_]->pid == kernels_->pid)) {
    kernels_wish_ = 0;
  } else if (processes.empty()) {
    tell("there is no process to show kernels of");
  } else {
    kernels_wish_ = processes[process_]->pid;
  }
}

bool View::press(const std::string& key) {
  message_.clear();
  if (typing_) return press_in_filter(key);
  if (key == "q" || key == "f10") return false;
  if (help_) {
    help_ = false;
    return true;
  }
  const size_t gpus = std::max<size_t>(1, snapshot_.gpus.size());
  const size_t processes = shown_processes().size();
  const size_t last = processes == 0 ? 0 : processes - 1;
  process_ = std::min(process_, last);
  const auto sort_by = [&](Sort sort) { sort_ = sort; };
  if (key == "?" || key == "f1") help_ = true;
  if (key == "tab" || key == "right" || key == "g") gpu_ = (gpu_ + 1) % gpus;
  if (key == "left") gpu_ = (gpu_ + gpus - 1) % gpus;
  if (key == "down" || key == "j") process_ = std::min(process_ + 1, last);
  if ((key == "up" || key == "k") && process_ > 0) --process_;
  if (key == "page-down") process_ = std::min(process_ + 10, last);
  if (key == "page-up") process_ -= std::min<size_t>(process_, 10);
  if (key == "home") process_ = 0;
  if (key == "end") process_ = last;
  if (key == "s") choose_kernels();
  if (key == "o" || key == "f6") sort_ = static_cast<Sort>((static_cast<int>(sort_) + 1) % 5);
  if (key == "M") sort_by(Sort::kMemory);
  if (key == "P") sort_by(Sort::kCpu);
  if (key == "N") sort_by(Sort::kPid);
  if (key == "U") sort_by(Sort::kUser);
  if (key == "R") reversed_ = !reversed_;
  if (key == "f" || key == "f4" || key == "/") typing_ = true;
  if (key == "h") plots_ = !plots_;
  if (key == "a") alerts_ = !alerts_;
  if (key == "p") processes_ = !processes_;
  if (key == "r" && processes > 0) wish_ = shown_processes()[process_]->pid;
  if (key == "r" && processes == 0) tell("there is no process to record");
  if (key == " ") paused_ = !paused_;
  if (key == "+") interval_s_ = next_interval(interval_s_, true);
  if (key == "-") interval_s_ = next_interval(interval_s_, false);
  return true;
}

}  // namespace sonde::watch
