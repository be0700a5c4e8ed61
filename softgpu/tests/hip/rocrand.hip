// rocrand: generates random numbers with AMD's library and writes them to stdout in binary, for
// libraries/rocrand_test.py to compare. The library is the system's; no part of it is built here.
//
// usage: rocrand TYPE KIND COUNT SEED; TYPE as rocrand_rng_type, KIND a key of kKinds. Exit status
// 77 without the library.
#include <dlfcn.h>
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using Generator = void*;

void* library = nullptr;

template <class... Arguments>
int call(const char* name, Arguments... arguments) {
  auto* function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  if (function == nullptr) {
    std::fprintf(stderr, "librocrand has no %s\n", name);
    std::exit(1);
  }
  const int status = function(arguments...);
  if (status != 0) {
    std::fprintf(stderr, "%s: status %d\n", name, status);
    std::exit(1);
  }
  return status;
}

int make(const char* kind, Generator generator, void* out, size_t count) {
  const auto is = [&](const char* name) { return std::strcmp(kind, name) == 0; };
  auto* words = static_cast<unsigned*>(out);
  auto* floats = static_cast<float*>(out);
  auto* doubles = static_cast<double*>(out);
  if (is("uint")) return call("rocrand_generate", generator, words, count);
  if (is("uniform")) return call("rocrand_generate_uniform", generator, floats, count);
  if (is("uniform_double")) {
    return call("rocrand_generate_uniform_double", generator, doubles, count);
  }
  if (is("normal")) return call("rocrand_generate_normal", generator, floats, count, 1.0f, 2.0f);
  if (is("log_normal")) {
    return call("rocrand_generate_log_normal", generator, floats, count, 0.0f, 0.5f);
  }
  if (is("normal_double")) {
    return call("rocrand_generate_normal_double", generator, doubles, count, -1.0, 0.25);
  }
  if (is("char")) {
    return call("rocrand_generate_char", generator, static_cast<unsigned char*>(out), 4 * count);
  }
  if (is("short")) {
    return call("rocrand_generate_short", generator, static_cast<unsigned short*>(out), 2 * count);
  }
  if (std::strncmp(kind, "poisson:", 8) == 0) {
    return call("rocrand_generate_poisson", generator, words, count, std::atof(kind + 8));
  }
  std::fprintf(stderr, "no kind %s\n", kind);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  library = dlopen("librocrand.so.1", RTLD_NOW);
  if (library == nullptr) return 77;
  const int type = std::atoi(argv[1]);
  const size_t count = std::strtoull(argv[3], nullptr, 10);
  const size_t bytes = count * (std::strstr(argv[2], "double") != nullptr ? 8 : 4);
  Generator generator = nullptr;
  call("rocrand_create_generator", &generator, type);
  constexpr int kFirstQuasi = 500;  // quasi-random generators, which have no seed
  if (type < kFirstQuasi) call("rocrand_set_seed", generator, std::strtoull(argv[4], nullptr, 10));
  void* memory = nullptr;
  if (hipMalloc(&memory, bytes) != hipSuccess) return 1;
  std::vector<char> host(bytes);
  for (int turn = 0; turn < 2; ++turn) {  // the second continues where the first ended
    if (make(argv[2], generator, memory, count) != 0) return 1;
    if (hipMemcpy(host.data(), memory, bytes, hipMemcpyDeviceToHost) != hipSuccess) return 1;
    if (std::fwrite(host.data(), 1, bytes, stdout) != bytes) return 1;
  }
  return 0;
}
