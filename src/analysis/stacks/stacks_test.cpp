// Sampled stacks and calls by path, on traces that a test writes down.
#include "analysis/analysis_test_support.h"
#include "analysis/stacks/call_tree.h"
#include "analysis/stacks/sample_totals.h"

namespace sonde::analysis {
namespace {

using trace::FrameKind;
using trace::kNone;

// Samples of one process, written down as paths from the outermost frame on. A frame that begins
// with '*' is a library's.
class Sampled {
 public:
  Sampled() {
    trace_.path = "test";
    trace_.names.emplace_back();
    trace_.processes.push_back({7, {}});
  }

  Sampled& add(const std::vector<std::string>& path, int64_t cpu_ns, int64_t blocked_ns = 0,
               int64_t tid = 1) {
    int32_t node = kNone;
    for (const std::string& text : path) {
      const bool is_library = text.front() == '*';
      node = add_frame(trace_, node, text.substr(is_library ? 1 : 0), {.is_library = is_library});
    }
    if (cpu_ns != 0) {
      trace_.samples.time_ns.push_back(0);
      trace_.samples.cpu_ns.push_back(cpu_ns);
      trace_.samples.thread.push_back(thread(tid));
      trace_.samples.stack.push_back(node);
    } else {
      trace_.blocked.time_ns.push_back(0);
      trace_.blocked.wall_ns.push_back(blocked_ns);
      trace_.blocked.thread.push_back(thread(tid));
      trace_.blocked.stack.push_back(node);
    }
    return *this;
  }

  report::Report ask(const Settings& settings) const {
    return value_of(answer("stacks", trace_, settings));
  }
  Lines lines(const Settings& settings, const std::vector<std::string>& keys) const {
    return lines_of(ask(settings), "stacks", keys);
  }
  trace::Trace& trace() { return trace_; }

 private:
  uint32_t thread(int64_t tid) {
    for (size_t i = 0; i < trace_.threads.size(); ++i) {
      if (trace_.threads[i].tid == tid) return static_cast<uint32_t>(i);
    }
    trace_.threads.push_back({0, tid});
    return static_cast<uint32_t>(trace_.threads.size() - 1);
  }

  trace::Trace trace_;
};

Sampled program() {
  Sampled rows;
  rows.add({"*start", "main", "work", "*memcpy"}, 30)
      .add({"*start", "main", "work"}, 20)
      .add({"*start", "main", "rest", "*memcpy"}, 10)
      .add({"*start", "main", "rest", "*wait"}, 0, 40, 2);
  return rows;
}

TEST(Stacks, tree_is_indented_below_what_all_have_in_common) {
  EXPECT_EQ(program().lines({{"weight", "cpu"}, {"by", "tree"}},
                            {"depth", "frame", "total_ns", "self_ns", "count", "kind"}),
            (Lines{"0|work|50|20|1|user", "1|memcpy|30|30|1|library", "0|rest|10|0|0|user",
                   "1|memcpy|10|10|1|library"}));
  const auto report = program().ask({{"weight", "cpu"}, {"by", "tree"}});
  EXPECT_EQ(report.sections[0].remarks, (Lines{"Left out above all paths: start > main."}));
  const std::string text = report::find_renderer("text")->render(report, {});
  EXPECT_TRUE(has(text, "\n memcpy "));
}

TEST(Stacks, flat_rows_have_total_and_self) {
  Sampled rows;
  rows.add({"main", "work", "again", "work"}, 30).add({"main", "work"}, 20).add({"main"}, 5);
  EXPECT_EQ(rows.lines({{"weight", "cpu"}, {"by", "leaf"}}, {"frame", "total_ns", "inclusive_ns"}),
            (Lines{"work|50|50", "main|5|55"}));
}

TEST(Stacks, interpreter_is_folded_into_what_it_executes) {
  Sampled rows;
  rows.add({"main", "step", "_PyEval_EvalFrameDefault", "kernel"}, 30)
      .add({"main", "step", "_PyEval_EvalFrameDefault"}, 20);
  trace::Trace& trace = rows.trace();
  for (trace::CodeFrame& frame : trace.stacks.frames) {
    frame.is_interpreter = trace.names[frame.function].starts_with("_Py");
  }
  const std::vector<std::string> keys = {"depth", "frame", "total_ns", "self_ns"};
  EXPECT_EQ(rows.lines({{"weight", "cpu"}, {"by", "tree"}}, keys),
            (Lines{"0|step|50|20", "1|kernel|30|30"}));
  EXPECT_EQ(rows.lines({{"weight", "cpu"}, {"by", "tree"}, {"native", "yes"}}, keys),
            (Lines{"0|_PyEval_EvalFrameDefault|50|20", "1|kernel|30|30"}));
}

TEST(Stacks, callers_are_the_tree_turned_round) {
  EXPECT_EQ(program().lines({{"weight", "cpu"}, {"by", "callers"}}, {"depth", "frame", "total_ns"}),
            (Lines{"0|memcpy|40", "1|work|30", "2|main|30", "3|start|30", "1|rest|10", "2|main|10",
                   "3|start|10", "0|work|20", "1|main|20", "2|start|20"}));
}

TEST(Stacks, flat_rows_are_the_users_frames_or_the_leaves) {
  EXPECT_EQ(program().lines({{"weight", "cpu"}}, {"frame", "total_ns", "count"}),
            (Lines{"work|50|2", "rest|10|1"}));
  EXPECT_EQ(program().lines({{"weight", "cpu"}, {"by", "leaf"}}, {"frame", "total_ns"}),
            (Lines{"memcpy|40", "work|20"}));
  EXPECT_EQ(program().lines({{"weight", "cpu"}, {"by", "stack"}}, {"frame", "total_ns"}),
            (Lines{"main;work|50", "main;rest|10"}));
  EXPECT_EQ(program().lines({{"weight", "cpu"}, {"user", "main"}}, {"frame", "total_ns"}),
            (Lines{"main|60"}));
}

TEST(Stacks, wall_time_has_what_was_blocked) {
  EXPECT_EQ(program().lines({{"weight", "wall"}, {"by", "leaf"}}, {"frame", "total_ns"}),
            (Lines{"memcpy|40", "wait|40", "work|20"}));
  // Chosen by itself where the file has it.
  EXPECT_EQ(program().lines({{"by", "leaf"}, {"tid", "2"}}, {"frame", "total_ns"}),
            (Lines{"wait|40"}));
  EXPECT_EQ(program().lines({{"by", "leaf"}, {"pid", "8"}}, {"frame"}), Lines{});
}

TEST(Stacks, threads_are_roots_if_asked_for) {
  EXPECT_EQ(program().lines({{"weight", "wall"}, {"by", "tree"}, {"threads", "yes"}},
                            {"depth", "frame", "total_ns"}),
            (Lines{"0|thread 1 of 7|60", "1|start|60", "2|main|60", "3|work|50", "4|memcpy|30",
                   "3|rest|10", "4|memcpy|10", "0|thread 2 of 7|40", "1|start|40", "2|main|40",
                   "3|rest|40", "4|wait|40"}));
}

TEST(Stacks, small_shares_are_left_out_and_counted) {
  const auto report = program().ask({{"weight", "cpu"}, {"by", "tree"}, {"min-share", "20"}});
  EXPECT_EQ(lines_of(report.sections[0].table, {"frame"}), (Lines{"work", "memcpy"}));
  EXPECT_EQ(report.sections[0].remarks.back(),
            "2 paths of smaller shares are left out (--min-share 0 shows all).");
  for (const char* wrong : {"", "x", "-1", "101", "1x", "nan"}) {
    EXPECT_FALSE(
        answer("stacks", program().trace(), {{"weight", "cpu"}, {"min-share", wrong}}).ok())
        << wrong;
  }
}

TEST(Stacks, calls_have_wall_time_of_their_own_and_launch_gpu_time) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"python_function", "train.py(3): step", 0, 100});
  rows.add(ApiRow{"cuda_runtime", "cudaLaunchKernel", 10, 40}, OpRow{"k", 50, 57});
  rows.add(OpRow{"lost", 60, 61});
  EXPECT_EQ(lines_of(ask("stacks", rows, {{"weight", "wall"}, {"by", "tree"}}), "stacks",
                     {"depth", "frame", "total_ns", "self_ns", "count", "kind"}),
            (Lines{"0|train.py(3): step|100|70|1|user", "1|cudaLaunchKernel|30|30|1|call"}));
  EXPECT_EQ(lines_of(ask("stacks", rows, {{"by", "tree"}}), "stacks",
                     {"depth", "frame", "total_ns", "kind"}),
            (Lines{"0|train.py(3): step|7|user", "1|cudaLaunchKernel|7|call", "2|k|7|device",
                   "0|(unattributed)|1|call", "1|lost|1|device"}));
}

// main -> solve, at which a kernel is launched in an operator, and one more without a stack. The
// outermost frame of the stack is Python's, so that the call's Python frame is not shown again.
trace::Trace launched() {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"python_function", "train.py(3): step", 0, 100});
  rows.add(ApiRow{"cpu_op", "aten::mm", 5, 50});
  rows.add(ApiRow{"cuda_runtime", "hipLaunchKernel", 10, 40}, OpRow{"k", 50, 57},
           OpRow{"k2", 57, 60});
  rows.add(ApiRow{"cuda_runtime", "hipMemcpyAsync", 60, 70}, OpRow{"copy", 80, 91});
  trace::Trace trace = rows.build();
  const trace::CodeFrame python{.line = 9, .kind = FrameKind::kPython};
  const trace::CodeFrame native{.line = 12, .kind = FrameKind::kNative};
  const trace::CodeFrame library{.kind = FrameKind::kNative, .is_library = true};
  add_frame(trace, kNone, "main", python, "train.py");
  add_frame(trace, 0, "solve", native, "/src/solve.cpp");
  add_frame(trace, 1, "stub", library, "/usr/lib/libx.so");
  trace.apis.stack.assign(trace.apis.size(), kNone);
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    if (trace.names[trace.apis.name[i]] == "hipLaunchKernel") trace.apis.stack[i] = 2;
  }
  return trace;
}

Lines launched_by(const Settings& settings, const std::vector<std::string>& keys) {
  return lines_of(value_of(answer("stacks", launched(), settings)), "stacks", keys);
}

TEST(Stacks, gpu_time_hangs_below_the_stack_in_which_it_was_launched) {
  EXPECT_EQ(
      launched_by({{"by", "tree"}}, {"depth", "frame", "total_ns", "kind"}),
      (Lines{"0|train.py(3): step|11|user", "1|hipMemcpyAsync|11|call", "2|copy|11|device",
             "0|main|10|user", "1|solve|10|user", "2|stub|10|library", "3|aten::mm|10|library",
             "4|hipLaunchKernel|10|call", "5|k|7|device", "5|k2|3|device"}));
  EXPECT_EQ(launched_by({{"by", "callers"}}, {"depth", "frame", "total_ns"})[3], "0|k|7");
}

TEST(Stacks, flat_rows_of_gpu_time_are_lines_of_the_stack) {
  EXPECT_EQ(launched_by({}, {"frame", "total_ns", "ops"}),
            (Lines{"train.py(3): step|11|1", "/src/solve.cpp(12): solve|10|2"}));
  EXPECT_EQ(launched_by({{"by", "leaf"}}, {"frame", "total_ns"}),
            (Lines{"train.py(3): step|11", "/usr/lib/libx.so: stub|10"}));
  EXPECT_EQ(launched_by({{"by", "stack"}}, {"frame", "total_ns"}),
            (Lines{"train.py(3): step|11", "train.py(9): main;/src/solve.cpp(12): solve|10"}));
  EXPECT_EQ(launched_by({{"user", "stub"}}, {"frame", "total_ns"}),
            (Lines{"(no user code)|11", "/usr/lib/libx.so: stub|10"}));
}

// As when Python starts and ends: libc's function that calls main() is not what takes the time.
TEST(Stacks, an_interpreter_without_python_is_not_what_called_it) {
  Sampled rows;
  rows.add({"*_start", "*__libc_start_call_main", "*Py_RunMain", "*PyGC_Collect"}, 30)
      .add({"*_start", "main", "*Py_RunMain"}, 20)
      .add({"*_start", "*__libc_start_call_main"}, 10);
  for (trace::CodeFrame& code : rows.trace().stacks.frames) {
    code.is_interpreter = rows.trace().names[code.function].starts_with("Py");
  }
  const StackPlaces places(rows.trace());
  EXPECT_EQ(places.function(3), "PyGC_Collect");
  EXPECT_EQ(places.function(6), "main");
  EXPECT_EQ(places.function(8), "__libc_start_call_main");
}

TEST(Stacks, a_flame_graph_has_a_box_for_each_path) {
  const auto report = program().ask({{"weight", "cpu"}, {"by", "tree"}});
  ASSERT_EQ(report.sections[0].flames.size(), 1u);
  const report::FlameGraph& flame = report.sections[0].flames[0];
  Lines boxes;
  for (const auto& box : flame.boxes) {
    boxes.push_back(fmt::format("{}|{}|{}", box.text, box.parent, box.total_ns));
  }
  EXPECT_EQ(boxes, (Lines{"all|-1|60", "start|0|60", "main|1|60", "work|2|50", "memcpy|3|30",
                          "rest|2|10", "memcpy|5|10"}));
}

}  // namespace
}  // namespace sonde::analysis
