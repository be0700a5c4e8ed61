// link: sonde_gpu
// The reader of code objects takes untrusted files.
#include <cstddef>
#include <cstdint>

#include "gpu/code_object.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  for (const auto image : {sonde::gpu::Image::kFile, sonde::gpu::Image::kLoaded}) {
    static_cast<void>(sonde::gpu::read_code_object(bytes, image).ok());
  }
  static_cast<void>(sonde::gpu::find_bundled(bytes).size());
  return 0;
}
