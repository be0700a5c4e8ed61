#include "backends/cpu/packing.h"

#include <string.h>

#include "backends/cpu/modules.h"

namespace sonde::cpu {

namespace {

char* put_number(char* place, uint64_t value) {
  for (; value >= 128; value >>= 7) *place++ = static_cast<char>(value | 128);
  *place++ = static_cast<char>(value);
  return place;
}

// Packs frames as FORMAT.md describes.
class Packer {
 public:
  Packer(const struct sonde_agent* agent, uint32_t own_module, char* place, sonde_stack& packed)
      : agent_(agent), own_module_(own_module), begin_(place), end_(place), packed_(packed) {}

  // False: the module could not be defined now.
  bool native(const Frame& frame) {
    if (frame.module != 0 && frame.module == own_module_) return true;  // thread_main
    const uint32_t definition = module_definition(frame.module, agent_);
    if (frame.module != 0 && definition == 0) return false;
    put(uint64_t{definition} << 1,
        frame.address - (definition != 0 ? module_at(frame.module).bias : 0));
    return true;
  }
  void python(const PythonFrame& frame) { put(uint64_t{frame.code} << 1 | 1, frame.offset); }

  void finish() {
    packed_.packed_frames = begin_;
    packed_.frame_bytes = static_cast<uint32_t>(end_ - begin_);
  }

 private:
  void put(uint64_t which, uint64_t offset) {
    end_ = put_number(put_number(end_, which), offset);
    ++packed_.frames;
  }
  const struct sonde_agent* agent_;
  uint32_t own_module_;
  char *begin_, *end_;
  sonde_stack& packed_;
};

}  // namespace

// Python frames replace the native frame of the interpreter loop that runs them. If the native
// unwind ended before that loop, they come last.
bool pack(const struct sonde_agent* agent, uint32_t own_module, const Moment& moment, char* room,
          sonde_stack& packed) {
  packed = {.ticks = moment.ticks,
            .flags = moment.stack.flags,
            .frames = 0,
            .frame_bytes = 0,
            .packed_frames = room};
  Packer packer(agent, own_module, room, packed);
  const PythonStack& python = moment.python;
  uint32_t run = 0, next = 0;
  for (uint32_t i = 0; i < moment.stack.count; ++i) {
    bool replaced = false;
    while (run < python.run_count && belongs(python.runs[run], moment.stack, i)) {
      for (; next < python.runs[run].end; ++next) packer.python(python.frames[next]);
      replaced = true;
      if (python.runs[run++].place == 0) break;  // each Python frame has its own native frame
    }
    if (!replaced && !packer.native(moment.stack.frames[i])) return false;
  }
  for (; next < python.frame_count; ++next) packer.python(python.frames[next]);
  packer.finish();
  return true;
}

void copy_moment(Moment& to, const Moment& from) {
  to.ticks = from.ticks;
  to.stack.count = from.stack.count;
  to.stack.flags = from.stack.flags;
  memcpy(to.stack.frames, from.stack.frames, sizeof(Frame) * from.stack.count);
  to.python.frame_count = from.python.frame_count;
  to.python.run_count = from.python.run_count;
  memcpy(to.python.frames, from.python.frames, sizeof(PythonFrame) * from.python.frame_count);
  memcpy(to.python.runs, from.python.runs, sizeof(PythonStack::Run) * from.python.run_count);
}

}  // namespace sonde::cpu
