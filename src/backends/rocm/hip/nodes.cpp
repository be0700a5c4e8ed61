#include "backends/rocm/hip/nodes.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/errno_keeper.h"

namespace sonde::hip {
namespace {

constexpr int32_t kMostNodes = 128;
constexpr int16_t kNotAsked = -2;

// A CPU node's file contains "0".
bool is_gpu(int32_t node) {
  char path[80], text[16] = {};
  snprintf(path, sizeof path, "/sys/class/kfd/kfd/topology/nodes/%d/gpu_id", node);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t bytes = read(file, text, sizeof text - 1);
  close(file);
  return bytes > 0 && text[0] >= '1' && text[0] <= '9';
}

int16_t look_up(int32_t node) {
  const ErrnoKeeper keep;
  if (!is_gpu(node)) return static_cast<int16_t>(node);
  int16_t before = 0;
  for (int32_t i = 0; i < node; ++i) before = static_cast<int16_t>(before + (is_gpu(i) ? 1 : 0));
  return before;
}

}  // namespace

int32_t gpu_of_node(int32_t node) {
  static int16_t known[kMostNodes];  // + 2; a race between two threads is harmless
  if (node < 0 || node >= kMostNodes) return node;
  int16_t found = static_cast<int16_t>(__atomic_load_n(&known[node], __ATOMIC_RELAXED) + kNotAsked);
  if (found == kNotAsked) {
    found = look_up(node);
    __atomic_store_n(&known[node], static_cast<int16_t>(found - kNotAsked), __ATOMIC_RELAXED);
  }
  return found;
}

}  // namespace sonde::hip
