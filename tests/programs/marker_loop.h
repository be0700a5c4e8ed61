// The loop that all marker measurements share: N push/pop pairs on each of some threads, timed in
// thread CPU time, with constant text or with text that changes in one reused buffer. Prints the
// median thread's cost of a pair as {"pair_ns": X}.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "cpu_clock.h"

// marker_loop THREADS PAIRS constant|changing
template <typename Push, typename Pop>
int marker_loop(int argc, char** argv, Push push, Pop pop) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const int pairs = argc > 2 ? std::atoi(argv[2]) : 1000000;
  const bool changing = argc > 3 && std::strcmp(argv[3], "changing") == 0;
  std::vector<double> costs(static_cast<size_t>(threads));
  std::vector<std::thread> running;
  for (double& cost : costs) {
    running.emplace_back([&] {
      char text[32] = "iteration 0000";
      for (int i = 0; i < 1000; ++i) {  // first use: ring, interned text
        push(text);
        pop();
      }
      const double before = cpu_ns();
      for (int i = 0; i < pairs; ++i) {
        if (changing) {
          text[13] = static_cast<char>('0' + i % 10);
          text[12] = static_cast<char>('0' + i / 10 % 10);
        }
        push(text);
        pop();
      }
      cost = (cpu_ns() - before) / pairs;
    });
  }
  for (auto& thread : running) thread.join();
  std::sort(costs.begin(), costs.end());
  std::printf("{\"pair_ns\": %.2f}\n", costs[costs.size() / 2]);
  return 0;
}
