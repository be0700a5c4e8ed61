// What holds for every exporter; what is in their files is judged by tests/support/export_test.py
// and table_exports_test.py.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/test_support.h"
#include "export/exporter.h"
#include "store/writer.h"

namespace sonde::exporting {
namespace {

TEST(Exporters, NeverWriteOverAFile) {
  const test::TemporaryDirectory folder;
  const std::string input = folder / "in.rpd", output = folder / "out.json";
  auto writer = store::Writer::open(input, store::Writer::Mode::kCreate).value();
  const int64_t name = writer.string("tile"), kind = writer.string("KernelExecution");
  writer.op({0, 1, 0, 2000, 2500, name, kind});
  ASSERT_TRUE(writer.finish().ok());
  std::ofstream(output) << "mine";
  auto reader = store::Reader::open(input);
  for (const Exporter& exporter : all_exporters()) {
    EXPECT_FALSE(exporter.write(*reader, output, {}).ok()) << exporter.name;
  }
  EXPECT_EQ(std::filesystem::file_size(output), 4u);
}

}  // namespace
}  // namespace sonde::exporting
