// What packets of a .pftrace refer to by number: texts, each kept once (TextPool), and what a
// packet sequence defined (PerfettoSequence). Used by the Perfetto importer.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sonde::importers {

// Valid UTF-8, by number from 0, which is "".
class TextPool {
 public:
  TextPool() { id({}); }
  uint32_t id(std::string_view text);
  std::string_view at(uint32_t id) const { return texts_[id]; }
  size_t size() const { return texts_.size(); }
  uint64_t repaired() const { return repaired_; }

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, uint32_t> ids_;
  uint64_t repaired_ = 0;
};

struct PerfettoSequence {
  enum Kind {
    kCategory,
    kEventName,
    kAnnotationName,
    kStringValue,
    kFunction,
    kKernel,
    kArgument,
    kKinds
  };
  struct Specification {
    uint32_t name = 0;
    uint64_t category = 0;
  };
  struct Context {
    int64_t pid = -1;
    uint64_t api = 0;
  };

  uint32_t number = 0;
  bool cleared = false;
  uint64_t packets = 0;
  uint64_t clock = 0, track = 0;  // defaults of its packets; 0 = none
  std::vector<uint64_t> counter_tracks, real_counter_tracks;
  std::unordered_map<uint64_t, uint32_t> texts[kKinds];  // id in the pool by iid
  std::unordered_map<uint64_t, uint32_t> frames;         // function by iid
  std::unordered_map<uint64_t, std::vector<uint32_t>> call_stacks;
  std::unordered_map<uint64_t, Specification> specifications;
  std::unordered_map<uint64_t, Context> contexts;
  std::unordered_map<uint64_t, std::string> counter_descriptors;
  uint64_t unknown_iids = 0;

  void clear();
  void set_defaults(std::string_view message);
  void intern(std::string_view message, TextPool& pool);
  // 0 where the file does not define it, which is counted.
  uint32_t text(Kind kind, uint64_t iid);

 private:
  void intern_other(uint32_t field, std::string_view entry, TextPool& pool);
};

}  // namespace sonde::importers
