// Makes an .rpd of a given size for benchmarks and for the exporters' tests: calls that launch
// kernels and copies, nested calls, arguments of their own for each call, markers, counters.
//   make_rpd FILE [ROWS] [SEED]        ROWS rocpd_api and rocpd_op rows together, half of each
#include <fmt/format.h>

#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include "store/writer.h"

namespace {

using sonde::store::Writer;

[[noreturn]] void fail(const std::string& message) {
  fmt::print(stderr, "make_rpd: {}\n", message);
  std::exit(1);
}

void require(sonde::Status status) {
  if (!status) fail(status.error().to_line());
}

struct Names {
  explicit Names(Writer& writer)
      : domain(writer.string("opencl")), launch(writer.string("clEnqueueNDRangeKernel")),
        write(writer.string("clEnqueueWriteBuffer")), kernel_type(writer.string("KernelExecution")),
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
  const int64_t api = writer.api({pid, tid, start_ns, end_ns, copy ? names.write : names.launch, 0,
                                  names.domain, args});
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

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) fail("usage: make_rpd FILE [ROWS] [SEED]");
  const int64_t rows = argc > 2 ? std::atoll(argv[2]) : 1'000'000;
  std::mt19937_64 random(argc > 3 ? static_cast<uint64_t>(std::atoll(argv[3])) : 1);
  auto opened = Writer::open(argv[1], Writer::Mode::kCreate);
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
  return 0;
}
