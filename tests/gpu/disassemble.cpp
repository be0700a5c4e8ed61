// Reads lines of words in hexadecimal, one instruction each, and writes their assembly: what
// tests/gpu/objdump_test.py compares with LLVM's. usage: disassemble ARCHITECTURE
#include <iostream>
#include <sstream>
#include <vector>

#include "gpu/print.h"

int main(int argc, char** argv) {
  const auto architecture = sonde::gpu::architecture_of(argc > 1 ? argv[1] : "");
  if (!architecture) {
    std::cerr << "usage: disassemble gfx906|gfx908|gfx90a < WORDS\n";
    return 2;
  }
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::vector<uint32_t> words;
    for (uint32_t word = 0; in >> std::hex >> word;) words.push_back(word);
    const auto instruction = sonde::gpu::decode(*architecture, words);
    const bool is_whole = instruction && instruction->words == words.size();
    std::cout << (is_whole ? sonde::gpu::text_of(*instruction) : "unknown") << '\n';
  }
  return 0;
}
