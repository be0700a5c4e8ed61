// Writes what Sonde reads in the code objects of a file, a line for each kernel: what
// tests/gpu/kernels_test.py compares with LLVM's reading. usage: list_kernels FILE
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "gpu/code_object.h"

int main(int argc, char** argv) {
  std::ifstream in(argc > 1 ? argv[1] : "", std::ios::binary);
  const std::vector<char> file((std::istreambuf_iterator<char>(in)), {});
  const auto object = sonde::gpu::read_code_object(
      {reinterpret_cast<const uint8_t*>(file.data()), file.size()}, sonde::gpu::Image::kFile);
  if (!object) {
    std::fprintf(stderr, "%s\n", object.error().to_line().c_str());
    return 1;
  }
  for (const auto& kernel : object->kernels) {
    std::printf("%s %s %llx %u %u %u", object->head.architecture.c_str(), kernel.name.c_str(),
                static_cast<unsigned long long>(kernel.entry), kernel.descriptor.kernarg_bytes,
                kernel.descriptor.group_bytes, kernel.descriptor.private_bytes);
    for (const auto& argument : kernel.arguments) {
      std::printf(" %s:%u:%u", argument.kind.c_str(), argument.offset, argument.bytes);
    }
    std::printf("\n");
  }
  return 0;
}
