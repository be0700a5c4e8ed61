#include "watch/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "watch/judge.h"
#include "watch/tables.h"

namespace sonde::watch {

namespace {

constexpr size_t kHistory = 600;
constexpr int kNameAt = 4, kPercentWidth = 6, kMemoryWidth = 16, kPowerWidth = 10;
constexpr double kPlottedW = 500;  // the height of the plot of power where no cap is known
constexpr int kWide = 100;         // columns of a terminal with room for the optional columns

// Where the columns of the GPU table begin.
struct Columns {
  explicit Columns(int width) {
    const bool wide = width >= kWide;
    bar = kNameAt + (wide ? 24 : 13);
    bar_width = wide ? 22 : 9;
    memory = bar + bar_width + kPercentWidth;
    power = memory + kMemoryWidth;
    temperature = power + kPowerWidth;
    clock = temperature + 4;
    held = clock + 8;
  }
  int bar, bar_width, memory, power, temperature, clock, held;
};
constexpr const char* kSorts[] = {"VRAM", "PID", "CPU", "CUs", "user"};

double known(const Real& value) { return value.value_or(-1); }

void keep(std::deque<double>& values, double value) {
  values.push_back(value);
  if (values.size() > kHistory) values.pop_front();
}

Style style_of(Severity severity) {
  return severity == Severity::kTrouble   ? Style::kBad
         : severity == Severity::kWarning ? Style::kWarn
                                          : Style::kDim;
}

std::string size_text(const Whole& bytes) {
  return bytes ? format_size(static_cast<uint64_t>(std::max<int64_t>(*bytes, 0))) : "-";
}

// "10.0/64.0 GiB"
std::string memory_text(const Gpu& gpu) {
  if (!gpu.vram_used_bytes || !gpu.vram_total_bytes) return size_text(gpu.vram_used_bytes);
  constexpr double kGib = 1 << 30;
  return fmt::format("{:.1f}/{:.1f} GiB", static_cast<double>(*gpu.vram_used_bytes) / kGib,
                     static_cast<double>(*gpu.vram_total_bytes) / kGib);
}

std::string number_text(const Real& value, const char* unit) {
  return value ? fmt::format("{:.0f}{}", *value, unit) : "-";
}

}  // namespace

void View::take(Snapshot snapshot) {
  for (const Gpu& gpu : snapshot.gpus) {
    History& history = histories_[gpu.address];
    Real memory;
    if (gpu.vram_used_bytes && gpu.vram_total_bytes.value_or(0) > 0) {
      memory = 100 * static_cast<double>(*gpu.vram_used_bytes) /
               static_cast<double>(*gpu.vram_total_bytes);
    }
    keep(history.busy, known(gpu.busy_percent));
    keep(history.memory, known(memory));
    keep(history.power, known(power_sensor(snapshot, gpu).power_w));
  }
  snapshot_ = std::move(snapshot);
  if (gpu_ >= snapshot_.gpus.size()) gpu_ = 0;
}

// The GPUs come first, then the minimum of each part; rows that the processes do not need go to the
// plots and the alerts.
View::Room View::divide(int rows) const {
  Room room;
  int left = rows - 2;  // the title and the keys
  const auto take = [&](int wanted) {
    const int got = std::max(0, std::min(wanted, left));
    left -= got;
    return got;
  };
  const int gpus = std::max<int>(1, static_cast<int>(snapshot_.gpus.size()));
  const int least = processes_ ? 4 : 0;  // rows for the processes
  room.gpus = take(std::min(gpus + 1, std::max(2, left - least)));
  const int wanted =
      processes_ ? std::max<int>(least, static_cast<int>(shown_processes().size()) + 1) : 0;
  const int alerts = alerts_ ? static_cast<int>(snapshot_.alerts.size()) : 0;
  const int plots = std::max(5, rows / 4);
  const int kernels =
      kernels_ ? std::max<int>(8, static_cast<int>(kernels_->kernels.size()) + 2) : 0;
  if (alerts > 0 && left > least + 1) {
    const int spare = left - wanted - (kernels_ ? kernels : plots_ ? plots : 0) - 1;
    room.alerts = take(std::min(alerts, std::max(left / 4, spare)) + 1);
  }
  if (kernels_ && left >= 4) {
    room.plot = take(std::max(4, std::min(kernels, std::max(left - wanted, left / 2))));
  } else if (plots_ && left - least >= 5) {
    const int share = std::max(std::min(left / 2, plots), std::min(left - wanted, rows / 2));
    room.plot = take(processes_ ? share : left);
  }
  room.processes = processes_ ? left : 0;
  return room;
}

Cells View::draw(int columns, int rows) const {
  Cells cells(columns, rows);
  if (columns < 30 || rows < 6) {
    cells.put(0, 0, "too small for sonde monitor");
    return cells;
  }
  draw_title(cells);
  draw_keys(cells);
  if (help_) {
    draw_help(cells);
    return cells;
  }
  const Room room = divide(rows);
  int row = draw_gpus(cells, 1, room.gpus);
  row = kernels_ ? draw_kernels(cells, row, room.plot) : draw_plots(cells, row, room.plot);
  row = draw_alerts(cells, row, room.alerts);
  draw_processes(cells, row, room.processes);
  return cells;
}

void View::draw_title(Cells& cells) const {
  cells.fill(0, Style::kTitle);
  const Host& host = snapshot_.host;
  std::string text = " sonde monitor  " + time_text(snapshot_.unix_time_ns).substr(11, 8) + " UTC";
  text += paused_ ? "  paused" : fmt::format("  every {:g} s", interval_s_);
  if (host.cpu_percent) text += fmt::format("  CPU {:.0f} %", *host.cpu_percent);
  if (host.load1) text += fmt::format("  load {:.1f}", *host.load1);
  const auto bytes = [](const Real& value) { return format_size(static_cast<uint64_t>(*value)); };
  if (host.memory_used_bytes && host.memory_available_bytes) {
    text += "  memory " + bytes(host.memory_used_bytes) + " of " +
            bytes(*host.memory_used_bytes + *host.memory_available_bytes);
  }
  if (host.io_pressure) text += fmt::format("  I/O waits {:.0f} %", *host.io_pressure);
  if (host.disk_read_bytes_s) {
    text += "  disk " + bytes(host.disk_read_bytes_s) + "/s read";
    if (host.disk_written_bytes_s) text += " " + bytes(host.disk_written_bytes_s) + "/s written";
  }
  if (host.received_bytes_s && host.sent_bytes_s) {
    text +=
        "  net " + bytes(host.received_bytes_s) + "/s in " + bytes(host.sent_bytes_s) + "/s out";
  }
  cells.put(0, 0, text, Style::kTitle);
}

void View::draw_keys(Cells& cells) const {
  const int row = cells.rows() - 1;
  cells.fill(row, Style::kTitle);
  if (typing_) {
    cells.put(row, 0, " only processes with: " + filter_ + "_", Style::kTitle);
    return;
  }
  if (!message_.empty()) {
    cells.put(row, 0, " " + message_, Style::kTitle);
    return;
  }
  cells.put(row, 0,
            fmt::format(" q quit  ? help  tab GPU  s kernels  r record  F6 sort ({}{})  f filter{}",
                        kSorts[static_cast<int>(sort_)], reversed_ ? ", reversed" : "",
                        filter_.empty() ? "" : " (" + filter_ + ")"),
            Style::kTitle);
}

void View::draw_help(Cells& cells) const {
  constexpr const char* kLines[] = {
      "q, F10, Ctrl-C     leave",
      "tab, left, right   select the GPU to plot",
      "up, down, j, k     mark a process; also page up, page down, home, end",
      "s                  show its kernels, live; again: stop",
      "r                  record it for ten seconds into a file",
      "F6, o              sort by the next column; M memory, P CPU, N PID, U user",
      "R                  reverse the order",
      "f, F4, /           only processes with a text in their command, user or job",
      "h, a, p            plots, alerts, processes: on or off",
      "space              pause, or continue",
      "+, -               refresh less often, more often",
      "?, F1              this page",
      "",
      "Plots: one column per refresh, the newest on the right.",
      "CUs: compute units that had waves of the process at the refresh.",
      "The kernel does not know the GPU time of a process; s and r measure it, by",
      "attaching to it (sonde record --pid).",
  };
  int row = 2;
  for (const char* line : kLines) cells.put(row++, 2, line);
  if (row < cells.rows()) return;
}

void View::draw_bar(Cells& cells, int row, int column, int width, Real percent) const {
  cells.set(row, column, U'[', Style::kDim);
  cells.set(row, column + width - 1, U']', Style::kDim);
  if (!percent) return;
  const double share = std::clamp(*percent / 100, 0.0, 1.0);
  const int full = static_cast<int>(std::lround(share * (width - 2)));
  for (int i = 0; i < full; ++i) cells.set(row, column + 1 + i, utf8_ ? U'■' : U'|', Style::kBar);
}

int View::draw_gpus(Cells& cells, int row, int rows) const {
  if (rows == 0) return row;
  const Columns columns(cells.columns());
  cells.put(row, 0, "GPU", Style::kBold);
  cells.put(row, kNameAt, "Name", Style::kBold);
  cells.put(row, columns.bar, "Busy", Style::kBold);
  cells.put_right(row, columns.memory, kMemoryWidth, "VRAM", Style::kBold);
  cells.put_right(row, columns.power, kPowerWidth, "Power W", Style::kBold);
  cells.put_right(row, columns.temperature, 4, "C", Style::kBold);
  cells.put_right(row, columns.clock, 6, "MHz", Style::kBold);
  cells.put(row, columns.held, cells.columns() < kWide ? "Limit" : "Throttled by", Style::kBold);
  if (snapshot_.gpus.empty()) {
    if (rows > 1) cells.put(row + 1, 2, "no GPU found");
    return row + rows;
  }
  const size_t room = static_cast<size_t>(rows - 1);
  const size_t first = gpu_ >= room ? gpu_ - room + 1 : 0;  // keeps the selected GPU visible
  for (size_t i = 0; i < room && first + i < snapshot_.gpus.size(); ++i) {
    draw_gpu(cells, row + 1 + static_cast<int>(i), snapshot_.gpus[first + i]);
  }
  return row + rows;
}

void View::draw_gpu(Cells& cells, int row, const Gpu& gpu) const {
  const bool marked = &gpu == &snapshot_.gpus[gpu_];
  cells.put(row, 0, fmt::format("{}{:>2}", marked ? ">" : " ", gpu.number),
            marked ? Style::kBold : Style::kPlain);
  const Columns columns(cells.columns());
  cells.put(row, kNameAt, gpu.name, Style::kPlain, columns.bar - kNameAt - 1);
  if (gpu.state != GpuState::kAwake) {
    const Style style = gpu.state == GpuState::kGone ? Style::kBad : Style::kDim;
    cells.put(row, columns.bar, state_text(gpu.state), style);
    return;
  }
  draw_bar(cells, row, columns.bar, columns.bar_width, gpu.busy_percent);
  cells.put_right(row, columns.bar + columns.bar_width, kPercentWidth,
                  number_text(gpu.busy_percent, " %"));
  cells.put_right(row, columns.memory, kMemoryWidth, memory_text(gpu));
  const std::string power =
      gpu.power_of ? fmt::format("with {}", *gpu.power_of)
                   : number_text(gpu.power_w, "") + "/" + number_text(gpu.power_cap_w, "");
  cells.put_right(row, columns.power, kPowerWidth, power);
  cells.put_right(row, columns.temperature, 4, number_text(hottest_c(gpu), ""));
  cells.put_right(row, columns.clock, 6, number_text(gpu.sclk_mhz, ""));
  cells.put(row, columns.held, throttle_text(gpu), Style::kWarn);
}

int View::draw_plots(Cells& cells, int row, int rows) const {
  if (rows == 0 || snapshot_.gpus.empty()) return row + rows;
  const Gpu& gpu = snapshot_.gpus[gpu_];
  const auto history = histories_.find(gpu.address);
  if (history == histories_.end()) return row + rows;
  const int details = draw_details(cells, row + 1, rows >= 9 ? 2 : rows >= 6 ? 1 : 0);
  const int width = cells.columns() / 3;
  const auto last = [](const std::deque<double>& values) {
    return values.empty() || values.back() < 0 ? "-" : fmt::format("{:.0f}", values.back());
  };
  const History& past = history->second;
  const double cap = power_sensor(snapshot_, gpu).power_cap_w.value_or(0);
  const bool is_capped = cap > 0;
  const std::string of = is_capped ? fmt::format(" of {:.0f}", cap) : "";
  const auto plot = [&](int column, const std::string& title, const std::deque<double>& values,
                        double full) {
    cells.put(row, column + 1, title, Style::kBold, width - 2);
    draw_plot(cells, row + 1 + details, rows - 1 - details, column, width, values, full);
  };
  plot(0, fmt::format("GPU {}: busy {} %", gpu.number, last(past.busy)), past.busy, 100);
  plot(width, fmt::format("VRAM {} %", last(past.memory)), past.memory, 100);
  plot(2 * width, fmt::format("power {}{} W", last(past.power), of), past.power,
       is_capped ? cap : kPlottedW);
  return row + rows;
}

void View::draw_plot(Cells& cells, int row, int height, int column, int width,
                     const std::deque<double>& values, double most) const {
  const int room = width - 2;
  const auto count = static_cast<int>(values.size());
  for (int i = 0; i < room && i < count; ++i) {
    const double value = values[static_cast<size_t>(count - 1 - i)];
    if (value < 0) continue;
    const int eighths =
        static_cast<int>(std::lround(std::clamp(value / most, 0.0, 1.0) * height * 8));
    for (int y = 0; y < height; ++y) {
      const int part = std::clamp(eighths - 8 * y, 0, 8);
      if (part == 0 && (y != 0)) continue;
      const char32_t block = utf8_ ? (part == 0 ? U'▁' : U'▁' + static_cast<char32_t>(part - 1))
                                   : (part == 0  ? U'_'
                                      : part < 5 ? U'.'
                                                 : U'#');
      cells.set(row + height - 1 - y, column + 1 + room - 1 - i, block, Style::kBar);
    }
  }
}

int View::draw_alerts(Cells& cells, int row, int rows) const {
  if (rows == 0) return row;
  std::vector<const Alert*> alerts;
  for (const Alert& alert : snapshot_.alerts) alerts.push_back(&alert);
  std::stable_sort(alerts.begin(), alerts.end(),
                   [](const Alert* a, const Alert* b) { return a->severity > b->severity; });
  cells.put(row, 0, fmt::format("Alerts ({})", alerts.size()), Style::kBold);
  for (int i = 0; i + 1 < rows && i < static_cast<int>(alerts.size()); ++i) {
    const Alert& alert = *alerts[static_cast<size_t>(i)];
    const std::string gpu = alert.gpu ? fmt::format("GPU {} ", *alert.gpu) : "";
    cells.put(row + 1 + i, 2, gpu + alert.what + ": " + alert.why, style_of(alert.severity));
  }
  return row + rows;
}

std::vector<const Process*> View::shown_processes() const {
  std::vector<const Process*> shown;
  for (const Process& each : snapshot_.processes) {
    const auto has = [&](const std::string& text) { return text.find(filter_) != text.npos; };
    if (has(each.command) || has(each.name) || has(each.user) || has(each.job)) {
      shown.push_back(&each);
    }
  }
  const auto cus = [](const Process& process) {
    int64_t sum = 0;
    for (const GpuUse& use : process.gpus) sum += use.cus.value_or(0);
    return sum;
  };
  const auto before = [&](const Process* a, const Process* b) {
    if (reversed_) std::swap(a, b);
    switch (sort_) {
      case Sort::kMemory:
        return a->vram_bytes() > b->vram_bytes();
      case Sort::kPid:
        return a->pid < b->pid;
      case Sort::kCpu:
        return known(a->cpu_percent) > known(b->cpu_percent);
      case Sort::kCus:
        return cus(*a) > cus(*b);
      case Sort::kUser:
        return a->user < b->user;
    }
    return false;
  };
  std::stable_sort(shown.begin(), shown.end(), before);
  return shown;
}

void View::draw_processes(Cells& cells, int row, int rows) const {
  if (rows == 0) return;
  const auto shown = shown_processes();
  cells.put(
      row, 0,
      fmt::format("{:>8} {:<9}{:<9}{:>10}{:>5}{:>7}{:>6}{:>11}  {:<12}{:<5}{}", "PID", "User",
                  "GPUs", "VRAM", "CUs", "SDMA %", "CPU %", "Memory", "Job", "Rank", "Command"),
      Style::kBold);
  if (shown.empty()) {
    if (rows > 1) {
      cells.put(row + 1, 2, filter_.empty() ? "no process uses a GPU" : "no such process");
    }
    return;
  }
  const size_t room = static_cast<size_t>(rows - 1);
  const size_t marked = std::min(process_, shown.size() - 1);
  const size_t first = room == 0 || marked < room ? 0 : marked - room + 1;
  for (size_t i = 0; i < room && first + i < shown.size(); ++i) {
    const Process& process = *shown[first + i];
    const int at = row + 1 + static_cast<int>(i);
    std::string gpus;
    Whole cus;
    Real sdma;
    for (const GpuUse& use : process.gpus) {
      gpus += (gpus.empty() ? "" : ",") + std::to_string(use.gpu);
      if (use.cus) cus = cus.value_or(0) + *use.cus;
      if (use.sdma_percent) sdma = sdma.value_or(0) + *use.sdma_percent;
    }
    const Style style = first + i == marked ? Style::kTitle : Style::kPlain;
    if (style == Style::kTitle) cells.fill(at, style);
    cells.put_right(at, 0, 8, std::to_string(process.pid), style);
    cells.put(at, 9, process.user, style, 8);
    cells.put(at, 18, gpus, style, 8);
    cells.put_right(at, 27, 10, size_text(process.vram_bytes()), style);
    cells.put_right(at, 37, 5, cus ? std::to_string(*cus) : "-", style);
    cells.put_right(at, 42, 7, number_text(sdma, ""), style);
    cells.put_right(at, 49, 6, number_text(process.cpu_percent, ""), style);
    cells.put_right(at, 55, 11, size_text(process.rss_bytes), style);
    cells.put(at, 68, process.job, style, 11);
    cells.put(at, 80, process.rank, style, 4);
    const std::string where = process.container.empty() ? "" : "(" + process.container + ") ";
    // On a narrow terminal, the command matters more than the owner.
    const int command_at = cells.columns() < kWide ? 68 : 85;
    if (command_at == 68) cells.put(at, 68, std::string(60, ' '), style);
    cells.put(at, command_at, where + (process.command.empty() ? process.name : process.command),
              style);
  }
  if (cells.columns() < kWide) {
    cells.put(row, 68, std::string(60, ' '));
    cells.put(row, 68, "Command", Style::kBold);
  }
}

}  // namespace sonde::watch
