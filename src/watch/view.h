// The full screen of `sonde monitor`: turns snapshots and keys into a screen of cells. Does no
// terminal I/O, so that tests can inspect it.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "watch/cells.h"
#include "watch/live_kernels.h"
#include "watch/snapshot.h"

namespace sonde::watch {

// The history of one GPU, one value per poll; -1 if unknown.
struct History {
  std::deque<double> busy, memory, power;
};

enum class Sort { kMemory, kPid, kCpu, kCus, kUser };

class View {
 public:
  explicit View(bool utf8) : utf8_(utf8) {}

  void take(Snapshot snapshot);
  Cells draw(int columns, int rows) const;
  // Handles a key: a character, or "up", "down", "left", "right", "page-up", "page-down", "home",
  // "end", "tab", "enter", "escape", "backspace", "f1" ... "f10". False: the user quits.
  bool press(const std::string& key);

  // Shows a line at the bottom until the next key.
  void tell(std::string message) { message_ = std::move(message); }
  // The process that the user asked to record; returned once.
  std::optional<int64_t> take_wish() { return std::exchange(wish_, std::nullopt); }

  // The process whose kernels the user asked to see, or 0 to stop showing them; returned once.
  std::optional<int64_t> take_kernels_wish() { return std::exchange(kernels_wish_, std::nullopt); }
  void show(std::optional<LiveKernels> kernels) { kernels_ = std::move(kernels); }

  bool paused() const { return paused_; }
  double interval_s() const { return interval_s_; }
  void set_interval(double seconds) { interval_s_ = seconds; }

 private:
  struct Room {  // rows of each part
    int gpus = 0, plot = 0, alerts = 0, processes = 0;
  };
  Room divide(int rows) const;
  std::vector<const Process*> shown_processes() const;
  bool press_in_filter(const std::string& key);
  void draw_title(Cells& cells) const;
  int draw_gpus(Cells& cells, int row, int rows) const;
  void draw_gpu(Cells& cells, int row, const Gpu& gpu) const;
  int draw_plots(Cells& cells, int row, int rows) const;
  int draw_details(Cells& cells, int row, int rows) const;
  void draw_plot(Cells& cells, int row, int height, int column, int width,
                 const std::deque<double>& values, double most) const;
  int draw_kernels(Cells& cells, int row, int rows) const;
  void choose_kernels();
  int draw_alerts(Cells& cells, int row, int rows) const;
  void draw_processes(Cells& cells, int row, int rows) const;
  void draw_help(Cells& cells) const;
  void draw_keys(Cells& cells) const;
  void draw_bar(Cells& cells, int row, int column, int width, Real percent) const;

  bool utf8_;
  Snapshot snapshot_;
  std::map<std::string, History> histories_;  // by address
  size_t gpu_ = 0;                            // the plotted one
  size_t process_ = 0;                        // the selected one
  Sort sort_ = Sort::kMemory;
  bool reversed_ = false, paused_ = false, help_ = false;
  bool plots_ = true, alerts_ = true, processes_ = true;
  bool typing_ = false;
  std::string filter_, message_;
  std::optional<int64_t> wish_, kernels_wish_;
  std::optional<LiveKernels> kernels_;
  double interval_s_ = 1;
};

}  // namespace sonde::watch
