// The README lists the instructions that are not implemented; the list must match the table.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "isa/op.h"

namespace softgpu::isa {
namespace {

std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const size_t begin = text.find(from);
  if (begin == text.npos) return {};
  const size_t end = text.find(to, begin);
  return text.substr(begin + from.size(), end - begin - from.size());
}

TEST(Table, ReadmeListsWhatHasNoFunction) {
  std::set<std::string> missing[3];
  for (const sonde::gpu::Opcode& opcode : sonde::gpu::all_opcodes()) {
    if (find_handler(opcode.name) != nullptr) continue;
    for (unsigned architecture = 0; architecture < 3; ++architecture) {
      if (opcode.architectures >> architecture & 1)
        missing[architecture].insert(std::string(opcode.name));
    }
  }
  std::string expected = "\n";
  for (const unsigned architecture : {2U, 1U, 0U}) {
    constexpr const char* kNames[] = {"gfx906", "gfx908", "gfx90a"};
    std::string row = std::string("| ") + kNames[architecture] + " |";
    for (const std::string& name : missing[architecture]) row += " `" + name + "`";
    expected += row + " |\n";
  }
  std::ifstream in("softgpu/isa/README.md");
  const std::string readme((std::istreambuf_iterator<char>(in)), {});
  const std::string found =
      between(readme, "| target | instructions without a function |\n|---|---|", "\n\n");
  EXPECT_EQ(found + "\n", expected) << "in softgpu/isa/README.md there should be:" << expected;
}

}  // namespace
}  // namespace softgpu::isa
