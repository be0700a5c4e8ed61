// Prints what a program can find out about itself and then ends through static destructors and
// atexit: byte for byte the same with and without a recorder.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <string>

namespace {

struct Noisy {
  explicit Noisy(const char* name) : name_(name) { std::cout << "made " << name_ << "\n"; }
  ~Noisy() { std::cout << "ended " << name_ << std::endl; }
  const char* name_;
};
Noisy g_first("first");
Noisy g_second("second");
thread_local Noisy t_third("of the thread");

void print_status_lines() {
  static const std::set<std::string> kShown = {"SigBlk",     "SigIgn",  "SigCgt", "Threads",
                                               "NoNewPrivs", "Seccomp", "Umask",  "State"};
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    const std::string name = line.substr(0, line.find(':'));
    if (name == "SigCgt") {  // but for the sampler's, which cannot be hidden
      const auto caught = std::stoull(line.substr(name.size() + 1), nullptr, 16);
      line = name + " " + std::to_string(caught & ~(1ull << (SIGURG - 1)));
    }
    if (kShown.count(name) != 0) std::cout << line << "\n";
  }
}

void print_descriptors() {
  for (int fd = 0; fd < 1024; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    if (flags >= 0) std::cout << "descriptor " << fd << " flags " << flags << "\n";
  }
}

void print_limits() {
  for (int resource = 0; resource < RLIMIT_NLIMITS; ++resource) {
    rlimit limit;
    if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0) {
      std::cout << "limit " << resource << " " << limit.rlim_cur << " " << limit.rlim_max << "\n";
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::cout << "errno " << errno << "\n";
  (void)t_third.name_;
  std::atexit([] { std::cout << "atexit\n"; });
  for (int i = 0; i < argc; ++i) std::cout << "argument " << argv[i] << "\n";
  char folder[4096];
  std::cout << "folder " << getcwd(folder, sizeof folder) << "\n";
  print_descriptors();
  print_status_lines();
  print_limits();
  int subreaper = -1;
  prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
  std::cout << "subreaper " << subreaper << " dumpable " << prctl(PR_GET_DUMPABLE) << "\n";
  std::cerr << "to stderr\n";
  return 42;
}
