#include "fault/waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "fault/board.h"

namespace sonde::fault {

namespace {

constexpr size_t kMostCompleters = 16;
constexpr size_t kNobody = static_cast<size_t>(-1);

// A packet that may not have completed yet.
struct Packet {
  uint32_t position = 0;
  uint64_t completion = 0;
  uint64_t order = 0;  // number of dispatches noted before it
  const wire::BoardBarrier* barrier = nullptr;
  const wire::BoardDispatch* dispatch = nullptr;
};

class Finder {
 public:
  Finder(const wire::Board& board, const SignalValue& value_of,
         const std::function<std::string(const wire::BoardDispatch&)>& kernel_name)
      : board_(board), read_(value_of), kernel_name_(kernel_name) {
    held_.fill(kNobody);
    blocked_at_.fill(kNobody);
  }

  Waits run() {
    collect();
    drop_those_over();
    for (size_t queue = 0; queue < queues_.size(); ++queue) find_held(queue);
    find_cycle();
    return std::move(waits_);
  }

 private:
  // Where a signal is completed: a packet of a queue.
  struct Source {
    size_t queue;
    size_t index;
  };

  void collect();
  void drop_those_over();
  void find_held(size_t queue);
  void find_cycle();
  QueueWait wait_of(size_t queue, const Packet& packet);
  const std::vector<Source>& sources_of(uint64_t signal) const;
  std::optional<int64_t> value_of(uint64_t signal);
  bool has_come(uint64_t signal) { return signal == 0 || value_of(signal) == 0; }
  bool is_satisfied(const wire::BoardBarrier& barrier);
  bool is_certain(size_t queue, size_t from);
  size_t holder_of(const AwaitedSignal& signal, const std::vector<bool>& stuck) const;
  bool can_go_on(const QueueWait& wait, const std::vector<bool>& stuck) const;

  const wire::Board& board_;
  const SignalValue& read_;
  const std::function<std::string(const wire::BoardDispatch&)>& kernel_name_;
  std::array<std::vector<Packet>, wire::kBoardQueues> queues_;  // of each queue, in queue order
  // Of each queue: index into the waits.
  std::array<size_t, wire::kBoardQueues> held_;
  // Of each queue: its blocking barrier, as an index into its packets.
  std::array<size_t, wire::kBoardQueues> blocked_at_;
  std::vector<size_t> places_;  // the queue of each wait
  std::map<uint64_t, std::vector<Source>> sources_;
  std::map<uint64_t, std::optional<int64_t>> values_;
  Waits waits_;
};

std::optional<int64_t> Finder::value_of(uint64_t signal) {
  const auto known = values_.find(signal);
  if (known != values_.end()) return known->second;
  return values_[signal] = read_(signal);
}

void Finder::collect() {
  for (uint64_t i = 0; i < wire::kBoardDispatches; ++i) {
    const wire::BoardDispatch& entry = board_.dispatches[i];
    const bool is_whole = entry.number != 0 && (entry.number - 1) % wire::kBoardDispatches == i;
    if (!is_whole || wire::ended_ns(board_, i) != 0 || entry.queue >= wire::kBoardQueues) continue;
    if (board_.queues[entry.queue].gone_ns != 0) continue;
    queues_[entry.queue].push_back(
        {entry.packet, board_.completions[i], entry.number - 1, nullptr, &entry});
  }
  for (const wire::BoardBarrier& entry : board_.barriers) {
    if (!is_open(board_, entry)) continue;
    queues_[entry.queue].push_back(
        {entry.packet, entry.completion, entry.dispatches, &entry, nullptr});
  }
  for (auto& packets : queues_) {
    std::sort(packets.begin(), packets.end(), [](const Packet& a, const Packet& b) {
      return static_cast<int32_t>(a.position - b.position) < 0;
    });
  }
}

// Removes completed barriers. A signal with value 2 still waits for at most two packets: the last
// ones written, so an earlier packet that completes it, too, has ended.
void Finder::drop_those_over() {
  std::map<uint64_t, std::vector<std::pair<uint64_t, const wire::BoardBarrier*>>> by_signal;
  for (const auto& packets : queues_) {
    for (const Packet& packet : packets) {
      if (packet.completion == 0) continue;
      by_signal[packet.completion].push_back({packet.order, packet.barrier});
    }
  }
  std::map<const wire::BoardBarrier*, bool> over;
  for (auto& [signal, packets] : by_signal) {
    const auto value = value_of(signal);
    if (!value) continue;
    // The latest first. Of a dispatch and a barrier with the same order, the dispatch is the later
    // one.
    std::sort(packets.begin(), packets.end(), [](const auto& a, const auto& b) {
      if (a.first != b.first) return a.first > b.first;
      if ((a.second == nullptr) != (b.second == nullptr)) return a.second == nullptr;
      return a.second != nullptr && a.second->number > b.second->number;
    });
    for (size_t i = 0; i < packets.size(); ++i) {
      over[packets[i].second] = static_cast<int64_t>(i) >= *value;
    }
  }
  for (auto& packets : queues_) {
    std::erase_if(packets, [&](const Packet& packet) {
      return packet.barrier != nullptr && over.contains(packet.barrier) && over[packet.barrier];
    });
  }
  for (size_t queue = 0; queue < queues_.size(); ++queue) {
    for (size_t i = 0; i < queues_[queue].size(); ++i) {
      const uint64_t signal = queues_[queue][i].completion;
      if (signal != 0) sources_[signal].push_back({queue, i});
    }
  }
}

bool Finder::is_satisfied(const wire::BoardBarrier& barrier) {
  bool any = false, all = true;
  for (const uint64_t signal : barrier.depends_on) {
    if (signal == 0) continue;
    const bool come = has_come(signal);
    any = any || come;
    all = all && come;
  }
  return barrier.any != 0 ? any || all : all;
}

// Whether a packet of the queue, from an index on, has certainly not ended.
bool Finder::is_certain(size_t queue, size_t from) {
  const auto& packets = queues_[queue];
  return std::any_of(packets.begin() + static_cast<std::ptrdiff_t>(from), packets.end(),
                     [&](const Packet& packet) {
                       return packet.dispatch != nullptr ||
                              (packet.completion != 0 && value_of(packet.completion) > 0);
                     });
}

const std::vector<Finder::Source>& Finder::sources_of(uint64_t signal) const {
  static const std::vector<Source> kNone;
  const auto known = sources_.find(signal);
  return known != sources_.end() ? known->second : kNone;
}

QueueWait Finder::wait_of(size_t queue, const Packet& packet) {
  QueueWait wait;
  wait.gpu = board_.queues[queue].gpu;
  wait.queue = board_.queues[queue].id;
  wait.packet = packet.position;
  wait.any = packet.barrier->any != 0;
  for (const uint64_t signal : packet.barrier->depends_on) {
    if (has_come(signal)) continue;
    AwaitedSignal awaited{signal, value_of(signal), {}};
    for (const Source& source : sources_of(signal)) {
      if (awaited.by.size() == kMostCompleters) break;
      const Packet& by = queues_[source.queue][source.index];
      awaited.by.push_back({board_.queues[source.queue].id, by.position,
                            by.dispatch != nullptr ? kernel_name_(*by.dispatch) : ""});
    }
    wait.signals.push_back(std::move(awaited));
  }
  return wait;
}

// Finds the first barrier whose signals have not come: nothing after it has begun.
void Finder::find_held(size_t queue) {
  const auto& packets = queues_[queue];
  for (size_t i = 0; i < packets.size(); ++i) {
    if (packets[i].barrier == nullptr || is_satisfied(*packets[i].barrier)) continue;
    blocked_at_[queue] = i;
    held_[queue] = waits_.queues.size();
    places_.push_back(queue);
    waits_.queues.push_back(wait_of(queue, packets[i]));
    waits_.queues.back().certain = is_certain(queue, i);
    waits_.queues.back().ahead =
        std::count_if(packets.begin(), packets.begin() + static_cast<std::ptrdiff_t>(i),
                      [](const Packet& packet) { return packet.dispatch != nullptr; });
    return;
  }
}

// The wait that a signal depends on, if everything that could complete it is behind a blocking
// barrier.
size_t Finder::holder_of(const AwaitedSignal& signal, const std::vector<bool>& stuck) const {
  size_t holder = kNobody;
  for (const Source& source : sources_of(signal.handle)) {
    const size_t wait = held_[source.queue];
    const bool is_held = wait != kNobody && source.index >= blocked_at_[source.queue];
    if (!is_held || !stuck[wait]) return kNobody;
    if (holder == kNobody) holder = wait;
  }
  return holder;
}

bool Finder::can_go_on(const QueueWait& wait, const std::vector<bool>& stuck) const {
  const auto may_come = [&](const AwaitedSignal& signal) {
    return holder_of(signal, stuck) == kNobody;
  };
  return wait.any ? std::any_of(wait.signals.begin(), wait.signals.end(), may_come)
                  : std::all_of(wait.signals.begin(), wait.signals.end(), may_come);
}

// Repeatedly removes queues that can continue, since they let others continue. Among those that
// remain, following what each waits for leads to a cycle.
void Finder::find_cycle() {
  std::vector<bool> stuck(waits_.queues.size(), true);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < stuck.size(); ++i) {
      if (!stuck[i] || !can_go_on(waits_.queues[i], stuck)) continue;
      stuck[i] = false;
      changed = true;
    }
  }
  const auto first = std::find(stuck.begin(), stuck.end(), true);
  if (first == stuck.end()) return;
  std::vector<size_t> path;
  auto at = static_cast<size_t>(first - stuck.begin());
  auto seen = path.end();
  while (seen == path.end()) {
    path.push_back(at);
    size_t next = kNobody;
    for (const AwaitedSignal& signal : waits_.queues[at].signals) {
      if (next == kNobody) next = holder_of(signal, stuck);
    }
    at = next;
    seen = std::find(path.begin(), path.end(), at);
  }
  waits_.cycle.assign(seen, path.end());
}

}  // namespace

Waits find_waits(const wire::Board& board, const SignalValue& value_of,
                 const std::function<std::string(const wire::BoardDispatch&)>& kernel_name) {
  return Finder(board, value_of, kernel_name).run();
}

bool is_held(const std::vector<QueueWait>& waits, const Dispatch& dispatch) {
  return std::any_of(waits.begin(), waits.end(), [&](const QueueWait& wait) {
    // Only the low 32 bits of positions are known.
    const auto distance = static_cast<int32_t>(static_cast<uint32_t>(dispatch.packet) -
                                               static_cast<uint32_t>(wait.packet));
    return wait.queue == dispatch.queue && distance > 0;
  });
}

std::string signal_text(const AwaitedSignal& signal) {
  const std::string value =
      signal.value ? fmt::format("value {}", *signal.value) : std::string("its value is unknown");
  std::string text = fmt::format("signal {:#x} ({}), ", signal.handle, value);
  if (signal.by.empty()) {
    return text + "which no packet in flight completes: the host or a copy has to set it";
  }
  const Completer& first = signal.by.front();
  text += fmt::format("which {} completes, packet {} of queue {}",
                      first.kernel.empty() ? "a barrier" : "kernel " + first.kernel, first.packet,
                      first.queue);
  if (signal.by.size() > 1) text += fmt::format(", and {} more", signal.by.size() - 1);
  return text;
}

std::string wait_text(const QueueWait& wait) {
  const std::string ahead =
      wait.ahead == 0 ? "" : fmt::format(", behind {} in flight,", wait.ahead);
  std::string text = fmt::format("queue {} of GPU {} waits at packet {}{} for ", wait.queue,
                                 wait.gpu, wait.packet, ahead);
  for (size_t i = 0; i < wait.signals.size(); ++i) {
    if (i != 0) text += wait.any ? ", or for " : ", and for ";
    text += signal_text(wait.signals[i]);
  }
  return text;
}

std::string cycle_text(const std::vector<QueueWait>& waits, const std::vector<size_t>& cycle) {
  if (cycle.empty()) return {};
  if (cycle.size() == 1) {
    return fmt::format("queue {} waits for itself: what it waits for comes later in the same queue",
                       waits[cycle[0]].queue);
  }
  std::vector<uint64_t> queues;
  for (const size_t wait : cycle) queues.push_back(waits[wait].queue);
  if (queues.size() == 2) {
    std::sort(queues.begin(), queues.end());
    return fmt::format("queues {} and {} wait for each other", queues[0], queues[1]);
  }
  std::string text = fmt::format("queue {} waits", queues[0]);
  for (size_t i = 1; i < queues.size(); ++i) {
    text += fmt::format(" for queue {}{}", queues[i], i + 1 < queues.size() ? ", which waits" : "");
  }
  return text + fmt::format(", which waits for queue {}", queues[0]);
}

}  // namespace sonde::fault
