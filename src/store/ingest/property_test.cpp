// Any sequence of records, commits and crashes of the recorder gives the tables that an
// uninterrupted recording gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "store/ingest/ingest_test_support.h"

namespace sonde::store {
namespace {

using namespace testing;

struct Item {
  wire::ChunkHeader header;
  Words words;
};

// What one event of process `p` writes, at once (`first`) and later (`second`); what it needs to be
// defined goes to `items`.
void random_records(std::mt19937& random, uint32_t p, uint64_t n,
                    std::map<uint32_t, uint32_t>& next_id, std::vector<Item>& items, Words& first,
                    Words& second) {
  const uint64_t time = 1000 + n * 100;
  switch (random() % 8) {
    case 0: {
      Op o = kernel(n, time, time + 5);
      o.queue = random() % 2 == 0 ? 9 : 24;
      first = call(5, at(static_cast<int64_t>(time)), at(static_cast<int64_t>(time + 1)), n,
                   random() % 3 == 0 ? -5 : 0, {random() % 3, 1});
      second = op(6, o);
      break;
    }
    case 1: {
      Op o = kernel(0, time, time + 5);
      o.kind = static_cast<uint32_t>(random() % 14);
      o.clock = 21;
      first = op(6, o);
      break;
    }
    case 2: {
      first = range_start(10, at(static_cast<int64_t>(time)), n);
      if (random() % 4 != 0) second = range_stop(at(static_cast<int64_t>(time + 50)), n);
      break;
    }
    case 3: {
      const uint32_t id = next_id[p]++;
      items.push_back({ring(p, p * 10, 0), string(id, "defined late " + std::to_string(id))});
      first = mark(id, at(static_cast<int64_t>(time)));
      break;
    }
    case 4:
      first = counter(10, at(static_cast<int64_t>(time)), static_cast<double>(n));
      break;
    case 5:
      first = record(wire::RecordType::kDropped, 10, 0, {1, n});
      break;
    case 6:
      first = range(10, at(static_cast<int64_t>(time)), at(static_cast<int64_t>(time + 9)));
      break;
    default: {
      const uint32_t id = next_id[p]++;
      items.push_back({ring(p, p * 10, 0), queue(id, 23, 1000 + id)});
      Op o = kernel(0, time, time);
      o.queue = id;
      first = op(6, o);
    }
  }
}

// Definitions come before what uses them; everything else is in random order.
std::vector<Item> random_items(std::mt19937& random) {
  std::vector<Item> items;
  constexpr uint32_t kProcesses = 3;
  std::map<uint32_t, uint32_t> next_id;
  std::vector<Item> late;  // second halves, put in anywhere
  for (uint32_t p = 1; p <= kProcesses; ++p) {
    items.push_back(
        {ring(p, p * 10, 0), some_definitions() + string(20, "clock " + std::to_string(p)) +
                                 clock(21, 20) + string(22, "gpu " + std::to_string(p)) +
                                 device(23, 0, 1, 22, 0) + queue(24, 23, p)});
    for (uint32_t r = 1; r <= 2; ++r) {
      items.push_back({ring(p, p * 10, r, p * 100 + r),
                       thread(p * 100 + r, at(p), "thread") + snapshot(21, 0, at(0), at(0)) +
                           snapshot(21, 1'000'000, at(500'000'000), at(500'000'000))});
    }
    next_id[p] = 30;
  }
  for (uint64_t n = 1; n <= 150; ++n) {
    const uint32_t p = 1 + random() % kProcesses;
    const auto any_ring = [&] {
      const uint32_t r = 1 + random() % 2;
      return ring(p, p * 10, r, p * 100 + r);
    };
    Words first, second;
    random_records(random, p, n, next_id, items, first, second);
    if (!second.empty() && random() % 2 == 0) std::swap(first, second);
    items.push_back({any_ring(), first});
    if (!second.empty()) late.push_back({any_ring(), second});
    if (!late.empty() && random() % 2 == 0) {
      std::swap(late[random() % late.size()], late.back());
      items.push_back(late.back());
      late.pop_back();
    }
  }
  items.insert(items.end(), late.begin(), late.end());
  return items;
}

// What must be equal, without the numbers that depend on the order of reading.
Rows content(Recording& file) {
  const char* const queries[] = {
      "select 'api', pid, tid, start, end, domain, category, apiName, args from api",
      "select 'op', p.pid, o.start, o.end, o.description, o.opType, q.handle, v.name, d.queued_ns, "
      "d.submitted_ns, d.bytes, d.grid_x, d.status, a.start from op o join sonde_op_detail d on "
      "d.op_id = o.id join sonde_process p on p.id = d.process_id left join sonde_queue q on "
      "q.queue_id = o.queueId left join sonde_device v on v.gpu_id = o.gpuId left join rocpd_api a "
      "on a.id = d.api_id",
      "select 'link', a.pid, a.start, o.start from rocpd_api_ops l join rocpd_api a on a.id = "
      "l.api_id join rocpd_op o on o.id = l.op_id",
      "select 'kernel', a.pid, a.start, k.stream, k.gridX, k.workgroupX, n.string from "
      "rocpd_kernelapi k join rocpd_api a on a.id = k.api_ptr_id join rocpd_string n on n.id = "
      "k.kernelName_id",
      "select 'copy', a.start, c.stream, c.size from rocpd_copyapi c join rocpd_api a on a.id = "
      "c.api_ptr_id",
      "select 'unfinished', a.pid, a.start, a.end from sonde_unfinished u join rocpd_api a on a.id "
      "= u.api_id",
      "select 'process', pid, start_ns, end_ns, executable, command, exit from sonde_process",
      "select 'thread', p.pid, tid, name, t.start_ns from sonde_thread t join sonde_process p on "
      "p.id = t.process_id",
      "select 'device', name, backend from sonde_device",
      "select 'queue', p.pid, q.handle, v.name from sonde_queue q join sonde_process p on p.id = "
      "q.process_id join sonde_device v on v.gpu_id = q.gpu_id",
      "select 'counter', p.pid, tid, time_ns, s.string, value from sonde_counter c join "
      "sonde_process p on p.id = c.process_id join rocpd_string s on s.id = c.name_id",
      "select 'drop', source, reason, count from sonde_drop",
      "select 'ingest', count(*) from sonde_ingest"};
  Rows all;
  for (const char* query : queries) {
    const auto rows = file.rows(query);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  std::sort(all.begin(), all.end());
  return all;
}

void finish(Recording& file) {
  for (uint64_t p = 1; p <= 3; ++p) {
    file->ended(p, 1'000'000 + static_cast<int64_t>(p), "exit " + std::to_string(p));
  }
  file.finish();
}

using Fed = std::map<std::string, uint64_t>;  // how many items of each ring there were

// Feeds an item, unless its rows are in the file.
void feed_once(Recording& file, const Item& item, Fed& fed) {
  const std::string name =
      std::to_string(item.header.spool) + "-" + std::to_string(item.header.ring);
  const uint64_t number = ++fed[name];
  if (item.header.ring != 0 && number <= file->position(name).offset) return;
  feed(*file, item.header, item.words);
  if (item.header.ring != 0) file->set_position(name, {0, number});
}

// What a new recorder does: definitions again, then each ring from where its rows end.
void replay(Recording& file, const std::vector<Item>& items, size_t count, Fed& fed) {
  fed.clear();
  for (const bool definitions : {true, false}) {
    for (size_t i = 0; i < count; ++i) {
      if ((items[i].header.ring == 0) == definitions) feed_once(file, items[i], fed);
    }
  }
}

TEST(IngestProperty, CrashesAndCommitsChangeNothing) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    const auto items = random_items(random);
    Recording whole(1000, 2'000'000'000), broken(1000, 2'000'000'000);
    Fed fed;
    for (size_t i = 0; i < items.size(); ++i) {
      feed(*whole, items[i].header, items[i].words);
      feed_once(broken, items[i], fed);
      if (random() % 12 == 0) {
        ASSERT_TRUE(broken->commit());
      }
      if (random() % 20 == 0) {
        broken.crash();
        broken->clocks(reading(1000));
        broken->clocks(reading(2'000'000'000));
        replay(broken, items, i + 1, fed);
      }
    }
    finish(whole);
    finish(broken);
    ASSERT_EQ(content(whole), content(broken)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sonde::store
