// Real TBB, which carries a static copy of the ITT notify library: what its flow graph reports when
// a collector is there. Prints how many node bodies it ran; each is an ITT task.
#include <oneapi/tbb/flow_graph.h>

#include <atomic>
#include <cstdio>

int main() {
  std::atomic<int> bodies = 0;
  tbb::flow::graph graph;
  tbb::flow::function_node<int, int> twice(graph, tbb::flow::unlimited, [&](int value) {
    ++bodies;
    return 2 * value;
  });
  tbb::flow::function_node<int, int> add(graph, tbb::flow::serial, [&](int value) {
    ++bodies;
    return value + 1;
  });
  tbb::flow::make_edge(twice, add);
  for (int i = 0; i < 50; ++i) twice.try_put(i);
  graph.wait_for_all();
  std::printf("{\"ranges\":%d}\n", bodies.load());
}
