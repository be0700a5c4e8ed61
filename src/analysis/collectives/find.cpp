#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/arguments.h"
#include "analysis/collectives/collectives.h"
#include "analysis/recorded_ranks.h"
#include "base/strings.h"
#include "trace/op_tree.h"

namespace sonde::analysis {
namespace {

using trace::Category;
using trace::kNone;
using trace::Row;

// ncclAllReduce, and not nccl:all_reduce or ncclDevKernel_AllReduce.
bool is_rccl_call(std::string_view name) {
  return name.size() > 4 && name.substr(0, 4) == "nccl" &&
         std::isupper(static_cast<unsigned char>(name[4])) != 0 && !collective_op(name).empty() &&
         name.find_first_of("_(") == name.npos;
}

bool begins_group(std::string_view name) { return name == "ncclGroupStart"; }
bool ends_group(std::string_view name) { return name == "ncclGroupEnd"; }

// The calls of each group, by the outermost call that ends it, which launches what they ask for.
class Groups {
 public:
  explicit Groups(const trace::Trace& trace) : trace_(trace) {
    struct Open {
      int depth = 0;
      std::vector<Row> calls;
    };
    std::map<size_t, Open> threads;
    for (size_t api = 0; api < trace.apis.size(); ++api) {  // in the order of their beginning
      const std::string& name = name_of_call(api);
      Open& open = threads[trace.apis.thread[api]];
      if (begins_group(name)) ++open.depth;
      if (open.depth != 0 && is_rccl_call(name)) open.calls.push_back(static_cast<Row>(api));
      if (!ends_group(name) || open.depth == 0) continue;
      if (--open.depth == 0) calls_[static_cast<Row>(api)] = std::exchange(open.calls, {});
    }
  }

  // Launch is the call that launched the kernel, in the group that ends so.
  void add_kernel(Row end, Row launch) {
    if (end != kNone) launches_[end].push_back(launch);
  }
  bool is_one_each(Row end) const { return launches_.at(end).size() == calls_.at(end).size(); }

  // One of the calls, if all are of the same communicator, or kNone.
  Row of_one_communicator(Row end) const {
    const auto found = calls_.find(end);
    if (found == calls_.end() || found->second.empty()) return kNone;
    const auto communicator = [&](Row call) {
      return argument(trace_.texts[trace_.apis.args[static_cast<size_t>(call)]], "comm");
    };
    const std::vector<Row>& calls = found->second;
    const bool all_same = std::all_of(calls.begin(), calls.end(), [&](Row call) {
      return communicator(call) == communicator(calls.front());
    });
    return all_same ? calls.front() : kNone;
  }

  // Where each call has a kernel, they are launched in the order of the calls; else one of the
  // calls, if all do the same, or kNone.
  Row call_of(Row end, Row launch) const {
    const auto found = calls_.find(end);
    if (found == calls_.end() || found->second.empty()) return kNone;
    const std::vector<Row>& calls = found->second;
    if (is_one_each(end)) {
      const auto& launches = launches_.at(end);
      const auto before = std::count_if(launches.begin(), launches.end(),
                                        [&](Row other) { return other < launch; });
      return calls[static_cast<size_t>(before)];
    }
    const std::string op = collective_op(name_of_call(calls.front()));
    const bool all_same = std::all_of(calls.begin(), calls.end(), [&](Row call) {
      return collective_op(name_of_call(call)) == op;
    });
    return all_same ? calls.front() : kNone;
  }

 private:
  template <typename Api>
  const std::string& name_of_call(Api api) const {
    return trace_.names[trace_.apis.name[static_cast<size_t>(api)]];
  }

  const trace::Trace& trace_;
  std::map<Row, std::vector<Row>> calls_, launches_;
};

class Finder {
 public:
  explicit Finder(std::span<const trace::Trace> traces) : traces_(traces), ranks_(traces) {}

  Collectives find() {
    for (size_t file = 0; file < traces_.size(); ++file) {
      const trace::Trace& trace = traces_[file];
      std::set<int32_t> with_kernels;  // processes
      for (size_t op = 0; op < trace.ops.size(); ++op) {
        if (trace.ops.category[op] == Category::kCommunication) {
          with_kernels.insert(trace.ops.process[op]);
        }
      }
      if (!with_kernels.empty()) add_kernels(file);
      if (with_kernels.count(kNone) == 0) add_calls(file, with_kernels);
    }
    order_members();
    std::stable_sort(found_.list.begin(), found_.list.end(),
                     [](const Collective& a, const Collective& b) {
                       return a.member != b.member ? a.member < b.member : a.start_ns < b.start_ns;
                     });
    return std::move(found_);
  }

 private:
  // By rank, not by arrival: the others are compared with the clock of the first.
  void order_members() {
    std::vector<size_t> order(found_.members.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const Member &of_a = found_.members[a], &of_b = found_.members[b];
      return std::pair(of_a.rank, of_a.gpu) < std::pair(of_b.rank, of_b.gpu);
    });
    std::vector<Member> members;
    std::vector<size_t> place(order.size());
    for (const size_t old : order) {
      place[old] = members.size();
      members.push_back(found_.members[old]);
    }
    found_.members = std::move(members);
    for (Collective& one : found_.list) one.member = place[one.member];
  }

  int64_t first_gpu_of(size_t file, int32_t process) const {
    if (process == kNone) return 0;
    const int64_t pid = traces_[file].processes[static_cast<size_t>(process)].pid;
    return trace::first_gpu_of_file(trace::file_of(pid));
  }

  size_t member_of(size_t file, int32_t process, int64_t gpu) {
    const RecordedRanks::Place first = ranks_.first({file, process});
    // GPUs of a merged file have numbers of their own.
    const int64_t of_file = gpu == kNone ? 0 : first_gpu_of(file, process);
    const auto [entry, is_new] =
        members_.try_emplace({first.first, first.second, gpu - of_file}, found_.members.size());
    if (is_new) {
      const auto number = static_cast<int64_t>(found_.members.size());
      const auto& processes = traces_[file].processes;
      const auto rank =
          process == kNone ? std::nullopt : processes[static_cast<size_t>(process)].rank;
      found_.members.push_back({file, process, rank.value_or(number), gpu});
    }
    return entry->second;
  }

  // A communicator has one rank for each GPU: a process that communicates on several is as many.
  std::set<int32_t> add_gpus_of_processes(size_t file) {
    const trace::Ops& ops = traces_[file].ops;
    std::map<int32_t, std::set<int64_t>> gpus;
    for (size_t op = 0; op < ops.size(); ++op) {
      if (ops.category[op] == Category::kCommunication) gpus[ops.process[op]].insert(ops.gpu[op]);
    }
    std::set<int32_t> with_several;
    for (const auto& [process, of_process] : gpus) {
      if (of_process.size() < 2) continue;
      with_several.insert(process);
      for (const int64_t gpu : of_process) member_of(file, process, gpu);
    }
    return with_several;
  }

  void add_kernels(size_t file) {
    const trace::Trace& trace = traces_[file];
    const trace::OpTree tree = trace::build_op_tree(trace);
    const std::set<int32_t> with_several = add_gpus_of_processes(file);
    const auto describes = [&](size_t api) {
      return collectives_want_args(trace.names[trace.apis.name[api]]);
    };
    Groups groups(trace);
    const auto end_of_group = [&](size_t op) {
      return tree.nearest(trace.ops.api[op], [&](size_t api) {
        return ends_group(trace.names[trace.apis.name[api]]);
      });
    };
    for (size_t op = 0; op < trace.ops.size(); ++op) {
      if (trace.ops.category[op] != Category::kCommunication) continue;
      groups.add_kernel(end_of_group(op), trace.ops.api[op]);
    }
    for (size_t op = 0; op < trace.ops.size(); ++op) {
      if (trace.ops.category[op] != Category::kCommunication) continue;
      Collective one;
      const int32_t process = trace.ops.process[op];
      one.row = static_cast<Row>(op);
      one.file = file;
      one.process = process;
      one.gpu = trace.ops.gpu[op];
      one.member = member_of(file, process, with_several.count(process) != 0 ? one.gpu : kNone);
      one.op = op_or_name(trace.names[trace.label(op)]);
      one.start_ns = trace.ops.start_ns[op];
      one.end_ns = trace.ops.end_ns[op];
      const Row described = tree.nearest(trace.ops.api[op], describes);
      const Row end = described == kNone ? end_of_group(op) : kNone;
      const Row call = end == kNone ? described : groups.call_of(end, trace.ops.api[op]);
      const auto args_of = [&](Row api) -> const std::string& {
        return trace.texts[trace.apis.args[static_cast<size_t>(api)]];
      };
      if (call != kNone) {
        const std::string& name = trace.names[trace.apis.name[static_cast<size_t>(call)]];
        if (is_rccl_call(name)) one.op = collective_op(name);
      }
      if (call != kNone && (end == kNone || groups.is_one_each(end))) {
        describe(args_of(call), one);
      } else if (const Row any = groups.of_one_communicator(end); any != kNone) {
        describe_communicator(args_of(any), one);
      }
      found_.list.push_back(std::move(one));
    }
  }

  // Adds the calls of processes without kernels.
  void add_calls(size_t file, const std::set<int32_t>& with_kernels) {
    const trace::Trace& trace = traces_[file];
    std::vector<bool> wanted;
    for (const std::string& name : trace.names) {
      wanted.push_back(is_collective_call(name));
    }
    for (size_t api = 0; api < trace.apis.size(); ++api) {
      const int32_t process = trace.threads[trace.apis.thread[api]].process;
      if (!wanted[trace.apis.label[api]] || with_kernels.count(process) != 0) continue;
      Collective one;
      one.file = file;
      one.process = process;
      one.member = member_of(file, process, kNone);
      one.op = op_or_name(trace.names[trace.apis.label[api]]);
      one.start_ns = trace.apis.start_ns[api];
      one.end_ns = trace.apis.end_ns[api];
      found_.list.push_back(std::move(one));
    }
  }

  static std::string op_or_name(const std::string& name) {
    const std::string op = collective_op(name);
    return op.empty() ? name : op;
  }

  // As a call of RCCL tells it.
  static void describe_communicator(const std::string& args, Collective& one) {
    one.communicator = std::string(argument(args, "comm").value_or(""));
    const auto group = argument(args, "group");
    if (group && *group != "0x0") one.group = std::string(*group);  // 0: not known
    one.group_size = integer_argument(args, "ranks").value_or(0);
  }

  static void describe(const std::string& args, Collective& one) {
    describe_communicator(args, one);
    one.bytes = integer_argument(args, "bytes").value_or(-1);
    if (one.op == "allgather") one.bytes = -1;  // what it gets out is not told
    const auto name = argument(args, "Collective name");
    if (name && !collective_op(*name).empty()) one.op = collective_op(*name);
    const auto group = argument(args, "Process Group Name");
    const auto ranks = argument(args, "Process Group Ranks");
    if (group) one.group = std::string(*group);
    if (ranks && !ranks->empty()) one.group += " " + std::string(*ranks);
    one.group_size = integer_argument(args, "Group size").value_or(one.group_size);
    one.sequence = integer_argument(args, "Seq").value_or(-1);
    const char* key = one.op == "allgather" ? "Out msg nelems" : "In msg nelems";
    const auto elements = integer_argument(args, key);
    const int64_t width = bytes_of_type(argument(args, "dtype").value_or(""));
    if (elements && width != 0) one.bytes = *elements * width;
  }

  std::span<const trace::Trace> traces_;
  const RecordedRanks ranks_;
  std::map<std::tuple<size_t, int32_t, int64_t>, size_t> members_;
  Collectives found_;
};

}  // namespace

std::string name_of(const Member& member) {
  const std::string rank = fmt::format("rank {}", member.rank);
  return member.gpu == kNone ? rank : fmt::format("{} (GPU {})", rank, member.gpu);
}

std::string collective_op(std::string_view name) {
  std::string letters;
  for (const char c : name.substr(0, name.find('('))) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  // Servers' own kernels, in which all GPUs get the sum.
  for (const char* all_get_it : {"crossdevicereduce", "quickreduce"}) {
    if (letters.find(all_get_it) != letters.npos) return "allreduce";
  }
  // Those whose names are part of others' come later.
  for (const char* op : {"allreduce", "allgather", "reducescatter", "alltoall", "sendrecv",
                         "broadcast", "barrier", "gather", "scatter", "reduce", "send", "recv"}) {
    if (letters.find(op) != letters.npos) return op;
  }
  return "";
}

bool leaves_together(const Collective& one) {
  return one.op == "allreduce" || one.op == "allgather" || one.op == "reducescatter" ||
         one.op == "alltoall" || one.op == "barrier";
}

// PyTorch's gloo:all_reduce, mpi:..., ucc:..., and MPI_Allreduce, which waits; MPI_Iallreduce
// returns at once, and MPI_Send is between two.
bool is_collective_call(std::string_view name) {
  if (starts_with_any(name, {"gloo:", "mpi:", "ucc:"})) return true;
  if (!starts_with_any(name, {"MPI_"}) || starts_with_any(name, {"MPI_I"})) return false;
  const std::string op = collective_op(name);
  return !op.empty() && op != "send" && op != "recv" && op != "sendrecv";
}

std::optional<double> bus_factor(std::string_view op, int64_t n) {
  if (n < 1) return std::nullopt;
  const auto ranks = static_cast<double>(n);
  if (op == "allreduce") return 2 * (ranks - 1) / ranks;
  if (op == "allgather" || op == "reducescatter" || op == "alltoall") return (ranks - 1) / ranks;
  if (op == "broadcast" || op == "reduce" || op == "sendrecv") return 1.0;
  return std::nullopt;
}

int64_t bytes_of_type(std::string_view type) {
  struct Type {
    std::string_view name;
    int64_t bytes;
  };
  constexpr Type kTypes[] = {
      {"Float", 4},         {"Half", 2},        {"BFloat16", 2},        {"Double", 8},
      {"Long", 8},          {"Int", 4},         {"Short", 2},           {"Char", 1},
      {"Byte", 1},          {"Bool", 1},        {"ComplexFloat", 8},    {"ComplexDouble", 16},
      {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}, {"Float8_e4m3fnuz", 1}, {"Float8_e5m2fnuz", 1}};
  for (const Type& known : kTypes) {
    if (known.name == type) return known.bytes;
  }
  return 0;
}

bool collectives_want_args(std::string_view name) {
  return name == "record_param_comms" || is_rccl_call(name);
}

Collectives find_collectives(std::span<const trace::Trace> traces) { return Finder(traces).find(); }

}  // namespace sonde::analysis
