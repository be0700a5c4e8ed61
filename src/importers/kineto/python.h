// PythonThreads: Python frames of threads that ran no operator of torch have the thread number 0.
// Their parents tell which of them belong together. Private to the kineto importer.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "importers/sink/sink.h"

namespace sonde::importers {

class PythonThreads {
 public:
  // A frame; ids are INT64_MIN where the file has none. The args are copied.
  void add(const Api& row, int64_t id, int64_t parent);
  // Passes all frames to the sink. Trees of frames that overlap in time are on threads of their
  // own, numbered -1, -2 ...
  void finish(Sink& sink);

 private:
  struct Frame {
    Api row;
    std::string args;
    int64_t id, parent;
  };
  size_t root_of(size_t frame) const;

  std::vector<Frame> frames_;
  std::unordered_map<int64_t, size_t> frame_of_;  // by Python id
};

}  // namespace sonde::importers
