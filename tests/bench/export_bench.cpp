// link: sonde_export sonde_store fmt::fmt
// How much CPU time an export of 1 M rows takes (rocpd_api and rocpd_op together, half of each):
// calls of four threads that launch kernels and copies on two queues, each with arguments of its
// own.
//   export_bench [ROWS] [SEED] [FILE]        with FILE it only makes that .rpd
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

#include "cpu_time.h"
#include "export/exporter.h"
#include "store/reader.h"
#include "store/writer.h"

namespace {

using sonde::exporting::Exporter;
using sonde::store::Writer;

[[noreturn]] void fail(const std::string& message) {
  fmt::print(stderr, "make_rpd: {}\n", message);
  std::exit(1);
}

void require(const sonde::Status& status) {
  if (!status) fail(status.error().to_line());
}

struct Names {
  explicit Names(Writer& writer)
      : domain(writer.string("opencl")),
        launch(writer.string("clEnqueueNDRangeKernel")),
        write(writer.string("clEnqueueWriteBuffer")),
        kernel_type(writer.string("KernelExecution")),
        copy_type(writer.string("CopyHostToDevice")) {
    for (int i = 0; i < 20; ++i) {
      kernels[i] = writer.string(fmt::format(
          "void tiled_product<float, {0}>(float const*, float const*, float*, unsigned int)", i));
    }
  }
  int64_t domain, launch, write, kernel_type, copy_type;
  int64_t kernels[20];
};

void add_pair(Writer& writer, const Names& names, int64_t i, std::mt19937_64& random,
              int64_t (&gpu_free_ns)[2]) {
  const bool copy = random() % 8 == 0;
  const int64_t start_ns = 5'000'000'000'000 + i * 2'500 + static_cast<int64_t>(random() % 800);
  const int64_t end_ns = start_ns + 400 + static_cast<int64_t>(random() % 1000);
  const int64_t pid = 4711, tid = 4711 + i % 4;
  const int64_t args = writer.ustring(fmt::format(
      "queue=0x55d0c0ffee00 kernel=0x55d0deadbeef dim=2 event=0x7f{:010x} events=0", i * 64));
  const int64_t api = writer.api(
      {pid, tid, start_ns, end_ns, copy ? names.write : names.launch, 0, names.domain, args});
  int64_t& free_ns = gpu_free_ns[i % 2];
  const int64_t op_start_ns = std::max(end_ns, free_ns);
  free_ns = op_start_ns + 700 + static_cast<int64_t>(random() % 3000);
  const int64_t kernel = names.kernels[random() % 20];
  const int64_t op = writer.op({0, i % 2, 0, op_start_ns, free_ns, copy ? 0 : kernel,
                                copy ? names.copy_type : names.kernel_type});
  writer.api_op(api, op);
  sonde::store::OpDetailRow detail;
  detail.op_id = op;
  detail.process_id = 1;
  detail.api_id = api;
  if (copy) {
    detail.bytes = 4096 * static_cast<int64_t>(1 + random() % 1000);
  } else {
    detail.grid[0] = 1024 << (random() % 3);
    detail.grid[1] = 1024;
    detail.group[0] = detail.group[1] = 16;
  }
  writer.op_detail(detail);
}

void generate(const std::string& path, int64_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  auto opened = Writer::open(path, Writer::Mode::kCreate);
  if (!opened) fail(opened.error().to_line());
  Writer writer = std::move(opened).value();
  const Names names(writer);
  require(writer.database().exec(
      "INSERT INTO sonde_process(id, pid, start_ns, command) VALUES(1, 4711, 5000000000000, "
      "'/usr/bin/generated --rows')"));
  int64_t gpu_free_ns[2] = {0, 0};
  for (int64_t i = 0; i < rows / 2; ++i) {
    add_pair(writer, names, i, random, gpu_free_ns);
    if (i % 100'000 == 99'999) require(writer.commit());
  }
  require(writer.finish());
}

// CPU seconds of opening `input` and writing all of it.
double export_seconds(const Exporter& exporter, const std::string& input,
                      const std::string& output) {
  const double before = cpu_seconds();
  auto reader = sonde::store::Reader::open(input);
  if (!reader) fail(reader.error().to_line());
  const auto counts = exporter.write(*reader, output, {});
  if (!counts) fail(counts.error().to_line());
  return cpu_seconds() - before;
}

// Of a file, or of the files of a folder.
uint64_t bytes_of(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return std::filesystem::file_size(path);
  uint64_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(path)) {
    if (file.is_regular_file()) bytes += file.file_size();
  }
  return bytes;
}

// Only the formats for timelines have one.
std::string goal_text(const std::string& name, int64_t rows) {
  if (name != "chrome" && name != "perfetto") return "";
  const double seconds_per_million = name == "chrome" ? 1.5 : 0.8;
  return fmt::format(", \"goal\": {}", seconds_per_million * static_cast<double>(rows) / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t rows = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  const uint64_t seed = argc > 2 ? static_cast<uint64_t>(std::atoll(argv[2])) : 1;
  const std::string input = argc > 3 ? argv[3] : "export_bench.rpd";
  generate(input, rows, seed);
  if (argc > 3) return 0;
  for (const Exporter& exporter : sonde::exporting::all_exporters()) {
    const std::string output = "export_bench" + exporter.extensions[0];
    const double seconds = export_seconds(exporter, input, output);
    fmt::print(
        "{{\"name\": \"export {} rows, {}\", \"value\": {:.3f}, \"unit\": \"s CPU\"{}, "
        "\"note\": \"{} MB\"}}\n",
        rows, exporter.name, seconds, goal_text(exporter.name, rows), bytes_of(output) / 1'000'000);
    std::filesystem::remove_all(output);
  }
  std::filesystem::remove(input);
  return 0;
}
