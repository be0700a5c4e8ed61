// Runs kernels of a code object on the engine alone, each on its own memory: INPUTS holds their
// memory blocks one after another, each of BYTES bytes, and OUTPUTS receives them afterwards.
// Kernels are read from standard input, one per line: NAME GROUPS, with 64 items per group. Their
// arguments are a pointer to their memory and its size.
//   run_instructions CODE_OBJECT INPUTS OUTPUTS BYTES
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "../kernels/machine.h"

int main(int argc, char** argv) {
  MachineCodeFile file;
  if (argc != 5 || !file.load(argv[1])) {
    std::fprintf(stderr, "run_instructions: no code object that can be run\n");
    return 1;
  }
  std::ifstream in(argv[2], std::ios::binary);
  std::ofstream out(argv[3], std::ios::binary);
  const size_t bytes = std::strtoull(argv[4], nullptr, 10);
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!in || !out || memory == MAP_FAILED) {
    std::fprintf(stderr, "run_instructions: cannot read %s or write %s\n", argv[2], argv[3]);
    return 1;
  }
  softgpu::Executor executor(2);
  const uint64_t kernarg[2] = {reinterpret_cast<uint64_t>(memory), bytes};
  std::string name;
  uint32_t groups = 0;
  while (std::cin >> name >> groups) {
    in.read(static_cast<char*>(memory), static_cast<std::streamsize>(bytes));
    softgpu::Dispatch dispatch;
    dispatch.grid[0] = 64 * groups;
    dispatch.group[0] = 64;
    dispatch.kernarg = kernarg;
    const softgpu::Outcome outcome = file.run(executor, name, dispatch);
    if (outcome.kind != softgpu::Outcome::kDone)
      std::printf("%s: %s\n", name.c_str(), outcome.detail.c_str());
    out.write(static_cast<const char*>(memory), static_cast<std::streamsize>(bytes));
  }
  return 0;
}
