// The events of one window of a Chrome trace as plain values, in the order of the file. Parsing is
// separate from what the events mean (reader.h), so that it can run on threads of its own.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "importers/input/json_windows.h"
#include "importers/sink/sink.h"

namespace sonde::importers {

// What a category stands for. PyTorch's older versions write them with capitals.
enum class Category : uint8_t {
  kOther,
  kKernel,
  kMemcpy,
  kMemset,
  kGpuOp,    // of no other kind: Sonde's exports have it
  kRuntime,  // calls that launch: cuda_runtime, cuda_driver (also on AMD)
  kCpuOp,
  kPython,
  kAnnotation,
  kGpuAnnotation,
};
struct NamedCategory {
  std::string_view text;
  Category category;
};
constexpr NamedCategory kCategories[] = {
    {"cpu_op", Category::kCpuOp},
    {"python_function", Category::kPython},
    {"kernel", Category::kKernel},
    {"cuda_runtime", Category::kRuntime},
    {"cuda_driver", Category::kRuntime},
    {"gpu_memcpy", Category::kMemcpy},
    {"gpu_memset", Category::kMemset},
    {"gpu_op", Category::kGpuOp},
    {"user_annotation", Category::kAnnotation},
    {"gpu_user_annotation", Category::kGpuAnnotation},
    {"Kernel", Category::kKernel},
    {"Memcpy", Category::kMemcpy},
    {"Memset", Category::kMemset},
    {"Runtime", Category::kRuntime},
    {"Operator", Category::kCpuOp},
    {"", Category::kOther},  // all others
};
constexpr uint8_t kNoName = std::size(kCategories) - 1;
inline bool is_gpu_op(Category category) {
  return category >= Category::kKernel && category <= Category::kGpuOp;
}

// The arguments that say what a GPU operation is and who launched it; kNone = not there.
struct LaunchArgs {
  static constexpr int64_t kNone = INT64_MIN;
  int64_t device = kNone, stream = kNone, context = kNone, correlation = kNone;
  int64_t bytes = kNone, shared_bytes = kNone, queued = kNone;
  int64_t private_bytes = kNone, status = kNone;  // Sonde's exports say these, and the items
  int64_t grid[3] = {kNone, kNone, kNone};
  int64_t block[3] = {kNone, kNone, kNone};
  int64_t items[3] = {kNone, kNone, kNone};
  int64_t process = 0;  // of Sink::process(); 0 = that of the call
  int64_t queued_ns = -1, submitted_ns = -1;
  std::string_view kind, kernel;
};

struct Event {
  // Texts are views of the window, or of EventBatch::texts, without their quotes and escapes.
  std::string_view name, category_text, id, scope;
  std::string_view args;                // the JSON object as it stands in the file; "" = none
  std::string_view pid_text, tid_text;  // where they are not numbers
  int64_t pid = 0, tid = 0;
  int64_t ts = 0, dur = 0;  // ns
  uint32_t offset = 0;      // of the event in the window
  int32_t launch = -1;      // index into EventBatch::launches
  char phase = 0;           // 0 = missing
  Category category = Category::kOther;
  uint8_t spelling = kNoName;  // of the category, index into kCategories
  bool has_tid = false, has_ts = false, has_dur = false;
  bool local_id = false;  // the id counts within its process
};

// What was wrong with events of a window.
struct EventProblems {
  struct Problem {
    uint64_t count = 0;
    uint32_t first = 0;  // offset in the window
    void add(uint32_t offset) {
      if (count++ == 0) first = offset;
    }
  };
  Problem broken;       // no valid JSON; left out
  Problem not_objects;  // numbers or texts among the events; left out
  Problem bad_text;     // invalid UTF-8 or control characters; repaired
  Problem twice;        // a key twice; the last one counts
  Problem bad_time;     // ts or dur are not numbers, or too large
  Problem not_json;     // NaN or Infinity in the arguments; null instead
};

struct EventBatch {
  JsonWindow window;
  std::vector<Event> events;
  std::vector<LaunchArgs> launches;
  std::vector<std::unique_ptr<char[]>> texts;  // repaired and unescaped
  EventProblems problems;
};

// Parses windows. One for each thread.
class EventParser {
 public:
  explicit EventParser(const Wants& wants);
  EventParser(EventParser&&) noexcept;
  ~EventParser();
  EventBatch parse(JsonWindow window);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sonde::importers
