#include "store/ingest/ingest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "sonde/backend.h"
#include "store/ingest/ingest_test_support.h"

namespace sonde::store {
namespace {

using namespace testing;
constexpr uint64_t kSpool = 0xabc;
constexpr int64_t kLast = 2'000'000'000;  // when the clocks were read last
const auto kDefinitions = ring(kSpool, 100, 0);
const auto kRing = ring(kSpool, 100, 1, 101);
const auto kOther = ring(kSpool, 100, 2, 102);

class IngestTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(feed(*file, kDefinitions, some_definitions())); }
  Recording file{1000, kLast};
};

TEST_F(IngestTest, AProcessIsDescribed) {
  ASSERT_TRUE(feed(*file, kRing,
                   thread(101, at(600), "main") + thread(77, at(650), "named", true) +
                       thread(101, at(700), "renamed") + mark(10, at(800))));
  file->ended(kSpool, 9000, "exit 3");
  file.finish();
  EXPECT_EQ(file.value("select pid, ppid, start_ns, end_ns, executable, directory, command, exit "
                       "from sonde_process"),
            "100|7|500|9000|/bin/prog|/home|prog '--x=it'\\''s'|exit 3");
  EXPECT_EQ(file.rows("select tid, name, start_ns from sonde_thread order by tid"),
            (Rows{"77|named|650", "101|renamed|600"}));
  EXPECT_EQ(file.value("select pid || ' ' || tid from rocpd_api"), "100 101");
  EXPECT_EQ(file.value("select count(*) from sonde_ingest"), "0");
}

TEST_F(IngestTest, EveryKindOfEventHasItsRow) {
  const Words domain_range =
      record(wire::RecordType::kRange, 0, wire::kHasDomain, {at(10), at(20), pair(1, 2)}) +
      text("own");
  ASSERT_TRUE(feed(*file, kRing,
                   call(5, at(1), at(2), 0, 0, {0xbeef, 3}) + range(10, at(3), at(4)) +
                       domain_range + mark(10, at(30)) + range_start(10, at(40), 1) +
                       range_stop(at(50), 1) + counter(10, at(60), 2.5)));
  file.finish();
  EXPECT_EQ(file.rows("select start, end, domain, category, apiName, args from api order by start"),
            (Rows{"1|2|test|enqueue|clEnqueue|queue = 0xbeef | n = 3", "3|4|sonde||UserMarker|text",
                  "10|20|test|enqueue|UserMarker|own", "30|30|sonde||UserMarker|text",
                  "40|50|sonde||UserMarker|text"}));
  EXPECT_EQ(file.value("select c.time_ns, c.tid, s.string, c.value from sonde_counter c join "
                       "rocpd_string s on s.id = c.name_id"),
            "60|101|text|2.5");
  EXPECT_EQ(file.value("select count(*) from sonde_drop"), "0");
  EXPECT_EQ(file->apis(), 5u);
}

TEST_F(IngestTest, SmallTablesAreFilled) {
  using wire::RecordType;
  ASSERT_TRUE(feed(*file, kRing,
                   record(RecordType::kNote, 10, 0, {at(1)}) + text("value") +
                       record(RecordType::kDiagnostic, 10, 1, {at(2)}) + text("look") +
                       record(RecordType::kDiagnostic, 10, 200, {at(3)}) + text("worse") +
                       record(RecordType::kDropped, 10, 0, {at(4), 17}) +
                       record(RecordType::kDropped, 10, 0, {at(5), 3}) +
                       counter(10, at(6), INFINITY) + counter(10, at(7), NAN) +
                       counter(999, at(8), 0)));
  file->drop("a|b", "why", 2);
  file->set_drop("c", "total", 5);
  file->set_drop("c", "total", 6);
  file->diagnostic("record", "said");
  file.restore();
  file.finish();
  EXPECT_EQ(file.value("select key || '=' || value from sonde_note"), "text=value");
  EXPECT_EQ(
      file.rows("select severity, source, text, time_ns, process_id is null from "
                "sonde_diagnostic order by id"),
      (Rows{"warning|text|look|2|0", "error|text|worse|3|0", "warning|record|said|2000000000|1"}));
  EXPECT_EQ(file.rows("select source, reason, count from sonde_drop order by source"),
            (Rows{"a|b|why|2", "c|total|6", "counters|not a number|1", "text|backend|20"}));
  EXPECT_EQ(file->lost(), 29u);
  EXPECT_EQ(file.rows("select value, s.string from sonde_counter c join rocpd_string s on "
                      "s.id = c.name_id order by time_ns"),
            (Rows{"Inf|text", "0.0|"}));
}

const char* const kLinks =
    "select a.start, o.start, k.gridX, k.workgroupX, n.string from rocpd_api_ops l join rocpd_api "
    "a "
    "on a.id = l.api_id join rocpd_op o on o.id = l.op_id join rocpd_kernelapi k on "
    "k.api_ptr_id = a.id join rocpd_string n on n.id = k.kernelName_id order by o.start";

TEST_F(IngestTest, OpsAreLinkedInWhicheverOrderTheyCome) {
  const Words before = call(5, at(1), at(2), 11), after = op(6, kernel(11, 50, 60));
  for (const bool op_first : {false, true}) {
    for (const int between : {0, 1, 2}) {  // nothing, a commit, a recorder that starts over
      Recording f(1000, kLast);
      feed(*f, kDefinitions, some_definitions());
      feed(*f, op_first ? kOther : kRing, op_first ? after : before);
      if (between == 1) {
        ASSERT_TRUE(f->commit());
      }
      if (between == 2) {
        f.restore();
        feed(*f, kDefinitions, some_definitions());
      }
      feed(*f, op_first ? kRing : kOther, op_first ? before : after);
      f.finish();
      EXPECT_EQ(f.rows(kLinks), (Rows{"1|50|7|16|kernel_a"}));
      EXPECT_EQ(f.value("select d.queued_ns, d.submitted_ns, d.grid_x, d.group_x, a.start, p.pid "
                        "from sonde_op_detail d join rocpd_api a on a.id = d.api_id join "
                        "sonde_process p on p.id = d.process_id"),
                "48|49|100|16|1|100");
    }
  }
}

TEST_F(IngestTest, ACallMayLaunchSeveralOps) {
  feed(*file, kRing, call(5, at(1), at(2), 11));
  feed(*file, kOther, op(6, kernel(11, 50, 60)));
  file.restore();
  feed(*file, kDefinitions, some_definitions());
  feed(*file, kOther, op(6, kernel(11, 60, 70)) + op(6, kernel(12, 70, 80)));
  feed(*file, kRing, call(5, at(3), at(4), 12));
  feed(*file, kOther, op(6, kernel(12, 80, 90)));
  file.finish();
  EXPECT_EQ(file.rows(kLinks), (Rows{"1|50|7|16|kernel_a", "1|60|7|16|kernel_a",
                                     "3|70|7|16|kernel_a", "3|80|7|16|kernel_a"}));
}

TEST_F(IngestTest, CopiesHaveTheirRow) {
  Op copy = kernel(11, 50, 60);
  copy.kind = SONDE_OP_COPY_D2H;
  copy.bytes = uint64_t{5} << 32;
  copy.src = 0x10;
  copy.dst = 0x20;
  copy.flags = 1;
  copy.status = -14;
  feed(*file, kRing, call(5, at(1), at(2), 11) + op(0, copy));
  file.finish();
  EXPECT_EQ(file.value("select stream, size, kind, src, dst, sync, pinned from rocpd_copyapi"),
            "0xbeef|21474836480|2|0x10|0x20|1|0");
  EXPECT_EQ(file.value("select opType, d.bytes, d.status from op join sonde_op_detail d on "
                       "d.op_id = op.id"),
            "CopyDeviceToHost|21474836480|-14");
}

TEST_F(IngestTest, ACallDescribesItsCopyHoweverManyOpsServeIt) {
  for (const bool call_first : {false, true}) {
    Recording f(1000, kLast);
    feed(*f, kDefinitions, some_definitions());
    Op part = kernel(11, 50, 60);
    part.kind = SONDE_OP_COPY_H2D;
    part.bytes = 100;
    part.flags = SONDE_OP_HAS_REQUEST;
    Op whole = part;
    whole.bytes = uint64_t{5} << 32;
    whole.src = 0x10;
    whole.dst = 0x20;
    whole.stream = 0;
    whole.src_device = -1;
    whole.dst_device = 3;
    whole.flags = SONDE_OP_BLOCKING | SONDE_OP_PINNED;
    const Words ops = op(0, part) + copy_request(whole) + op(0, part);
    const Words made = call(5, at(1), at(2), 11);
    feed(*f, kRing, call_first ? made + ops : ops + made);
    f.finish();
    EXPECT_EQ(f.rows("select stream, size, kind, src, dst, srcDevice, dstDevice, sync, pinned from "
                     "rocpd_copyapi"),
              (Rows{"0x0|21474836480|1|0x10|0x20|-1|3|1|1"}));
    EXPECT_EQ(f.value("select count(*) from rocpd_api_ops join rocpd_op o on o.id = op_id"), "2");
    EXPECT_EQ(f.value("select count(*), sum(bytes) from sonde_op_detail"), "2|200");
    EXPECT_EQ(f.value("select count(*) from sonde_drop"), "0");
  }
}

TEST_F(IngestTest, HardwareCountersBelongToTheOpBeforeThem) {
  const Op one = kernel(0, 50, 60), lost = kernel(0, 0, 70);
  feed(*file, kRing, op(6, one) + op_counter(10, one.queue, one.start, 2, {3, 4}));
  // Of another ring, of another start, and behind an op that is not in the file.
  feed(*file, kOther, op_counter(10, one.queue, one.start, 2, {1}));
  feed(*file, kRing, op_counter(10, one.queue, one.start + 1, 2, {1}));
  feed(*file, kRing, op(6, lost) + op_counter(10, one.queue, one.start, 2, {1}));
  file.finish();
  EXPECT_EQ(file.rows("select o.start, pass, xcc, engine, instance, value from sonde_op_counter c "
                      "join rocpd_op o on o.id = c.op_id order by engine"),
            (Rows{"50|2|0|0|9|3", "50|2|0|1|9|4"}));
  EXPECT_EQ(file.value("select count(*), value from rocpd_counter"), "1|7.0");
  EXPECT_EQ(file.value("select count from sonde_drop where source = 'hardware counters'"), "3");
}

TEST_F(IngestTest, OpsWithoutTimesAreCounted) {
  feed(*file, kRing, op(6, kernel(0, 0, 60)) + op(6, kernel(0, 60, 50)) + op(6, kernel(0, 60, 60)));
  file.finish();
  EXPECT_EQ(file.value("select count(*) from rocpd_op"), "1");
  EXPECT_EQ(file.value("select source, count from sonde_drop"), "ops|2");
}

TEST_F(IngestTest, FailedOpsAreCountedByTheirError) {
  Op fill = kernel(0, 0, 0);
  fill.kind = SONDE_OP_FILL;
  fill.status = -14;
  Op odd = fill;
  odd.status = INT32_MIN;
  feed(*file, kRing, op(6, fill) + op(6, odd) + op(6, fill));
  file.finish();
  EXPECT_EQ(file.rows("select reason, count from sonde_drop order by count"),
            (Rows{"ended with an error|1", "FillBuffer ended with error -14|2"}));
}

TEST_F(IngestTest, RangesOfTwoThreads) {
  feed(*file, kOther, range_stop(at(50), 1));
  file.restore();
  feed(*file, kDefinitions, some_definitions());
  feed(*file, kRing,
       range_start(10, at(40), 1) + range_start(10, at(41), ~uint64_t{0}) +
           range_start(10, at(70), 3));
  file.restore();
  feed(*file, kDefinitions, some_definitions());
  feed(*file, kOther, range_stop(at(51), ~uint64_t{0}) + range_stop(at(52), 99));
  file->ended(kSpool, 9000, "signal 9");
  file->ended(kSpool, 9999, "exit 0");
  file.finish();
  EXPECT_EQ(file.rows("select start, end, tid, u.api_id is not null from rocpd_api a left join "
                      "sonde_unfinished u on u.api_id = a.id order by start"),
            (Rows{"40|50|101|0", "41|51|101|0", "70|9000|101|1"}));
  EXPECT_EQ(file.value("select end_ns || exit from sonde_process"), "9000signal 9");
}

TEST_F(IngestTest, WhatWasOpenIsNoted) {
  feed(*file, kRing, range(10, at(30), at(31)) + call(5, at(32), at(33)));
  auto header = kRing;
  const std::string own = "own text";
  std::memcpy(header.open_text + 100, own.data(), own.size());
  const auto open = [&](int64_t begin, uint32_t id, uint16_t state = 0) {
    wire::OpenRange range{};
    range.begin = at(begin);
    range.id = id;
    range.state = state;
    range.text_offset = 100;
    range.text_length = static_cast<uint32_t>(own.size());
    file->unfinished(header, range);
  };
  const auto open_call = [&](int64_t begin, uint32_t function) {
    file->unfinished(header, wire::OpenCall{at(begin), function, 1});
  };
  open(10, 10);
  open(11, 0);
  open_call(12, 5);
  open(13, 10, wire::kRangeMuted);  // was muted
  open_call(32, 5);                 // written already
  open_call(14, 999);               // no such function
  wire::OpenRange beyond{};
  beyond.begin = at(15);
  beyond.text_offset = 65535;
  beyond.text_length = 0xffffffff;
  file->unfinished(header, beyond);
  file.finish();
  EXPECT_EQ(file.rows("select start, end, tid, apiName, args from api join sonde_unfinished u on "
                      "u.api_id = api.id order by start"),
            (Rows{"10|2000000000|101|UserMarker|text", "11|2000000000|101|UserMarker|own text",
                  "12|2000000000|101|clEnqueue|", "15|2000000000|101|UserMarker|"}));
}

TEST_F(IngestTest, ProcessesWithEqualNumbersStayApart) {
  const auto definitions = ring(0xdef, 200, 0);
  const auto events = ring(0xdef, 200, 1, 201);
  feed(*file, definitions,
       process(1, at(1), std::string_view("/b\0/\0b\0", 7)) + string(1, "other") +
           string(3, "launch") + string(4, "size:x") + function(5, 1, 1, 3, 4) +
           string(6, "kernel_b") + string(7, "device") + string(8, "bus 2") +
           device(8, 0, 1, 7, 8) + queue(9, 8, 0xbeef));
  feed(*file, kRing, call(5, at(1), at(2), 11, 0, {16}) + range_start(10, at(5), 1));
  feed(*file, events,
       call(5, at(3), at(4), 11, 0, {16}) + op(6, kernel(11, 50, 60)) + range_stop(at(6), 1));
  feed(*file, kRing, op(6, kernel(11, 70, 80)) + range_stop(at(7), 1));
  file.finish();
  EXPECT_EQ(file.rows("select pid, start, apiName, args from api where apiName <> 'UserMarker' "
                      "order by start"),
            (Rows{"100|1|clEnqueue|queue = 0x10", "200|3|launch|size = 0x10"}));
  EXPECT_EQ(file.rows(kLinks), (Rows{"3|50|7|16|kernel_b", "1|70|7|16|kernel_a"}));
  EXPECT_EQ(file.value("select start || ' ' || end from api where apiName = 'UserMarker'"), "5 7");
  EXPECT_EQ(
      file.rows("select d.gpu_id, d.location, q.queue_id from sonde_device d join sonde_queue "
                "q on q.gpu_id = d.gpu_id order by d.gpu_id"),
      (Rows{"0||0", "1|bus 2|1"}));
  EXPECT_EQ(file.rows("select gpuId, queueId from rocpd_op order by start"), (Rows{"1|1", "0|0"}));
}

TEST_F(IngestTest, TheSameDeviceInTwoProcessesIsOneGpu) {
  feed(*file, ring(0xdef, 200, 0), string(1, "test") + string(7, "device") + device(8, 0, 1, 7, 0));
  file.restore();
  feed(*file, ring(0xeee, 300, 0), string(1, "test") + string(7, "device") + device(8, 0, 1, 7, 0));
  file.finish();
  EXPECT_EQ(file.value("select count(*) from sonde_device"), "1");
}

TEST_F(IngestTest, ASecondRecordingIntoAFileKeepsTheFirst) {
  file->drop("x", "lost", 3);
  feed(*file, kRing, op(6, kernel(0, 50, 60)));
  file.finish();
  file.crash();  // a finished file, opened again
  file->drop("x", "lost", 4);
  const auto definitions = ring(0xdef, 200, 0);
  feed(*file, definitions,
       string(1, "other") + string(7, "device 2") + device(8, 0, 1, 7, 0) + queue(9, 8, 1));
  feed(*file, ring(0xdef, 200, 1), op(0, kernel(0, 70, 80)));
  EXPECT_EQ(file->lost(), 4u);
  file.finish();
  EXPECT_EQ(file.value("select count from sonde_drop"), "7");
  EXPECT_EQ(file.rows("select gpuId, queueId from rocpd_op order by start"), (Rows{"0|0", "1|1"}));
}

TEST_F(IngestTest, UnknownNumbersAreHarmless) {
  const uint32_t huge = 0xffffffff;
  Op strange = kernel(~uint64_t{0}, 50, 60);
  strange.kind = huge;
  strange.queue = huge;
  strange.clock = huge;
  feed(*file, kDefinitions,
       string(huge, "x") + string(0, "x") + function(huge, huge, huge, huge, 1) +
           string(1 << 21, "far beyond the others") + device(huge, huge, huge, huge, huge) +
           queue(huge, 77, ~0ull) + clock(huge, huge) + function(20, huge, 21, 22, 23));
  feed(*file, kRing,
       call(huge, at(1), at(2), ~uint64_t{0}, -7, {1, 2}) + mark(huge, at(3)) + op(huge, strange) +
           thread(huge, at(4), "") +
           record(wire::RecordType::kRange, 0, wire::kHasDomain, {at(5), at(6), ~uint64_t{0}}) +
           call(20, at(7), at(8)));
  file.restore();
  feed(*file, kRing, op(huge, strange));  // of the call before
  file.finish();
  EXPECT_EQ(file.rows("select start, apiName, args from api order by start"),
            (Rows{"1||ret = -7", "3|UserMarker|", "5|UserMarker|", "7||"}));
  EXPECT_EQ(file.value("select count(*) from rocpd_api_ops"), "2");
  EXPECT_EQ(file.rows("select opType, start from op"), (Rows{"Other|50", "Other|50"}));
  EXPECT_EQ(file.value("select count from sonde_drop where source = 'definitions'"), "4");
}

TEST_F(IngestTest, ArgumentsAreStoredOnce) {
  feed(*file, kDefinitions, function(11, 1, 2, 3, 10));  // no arguments described
  for (int i = 0; i < 100; ++i) {
    feed(*file, kRing,
         call(5, at(i), at(i + 1), 0, 0, {7, 8}) + call(5, at(i), at(i + 1), 0, -3, {7, 8}) +
             call(5, at(i), at(i + 1), 0, -3) + call(5, at(i), at(i + 1)) +
             call(11, at(i), at(i + 1), 0, 0, {7, 8}) + call(5, at(i), at(i + 1), 0, 0, {7, 9}) +
             call(5, at(i), at(i + 1), 0, 0, {7}));
  }
  file.finish();
  EXPECT_EQ(
      file.rows("select args, count(*) from api group by 1 order by 1"),
      (Rows{"|200", "queue = 0x7|100", "queue = 0x7 | n = 8|100",
            "queue = 0x7 | n = 8 | ret = -3|100", "queue = 0x7 | n = 9|100", "ret = -3|100"}));
  EXPECT_EQ(file.value("select count(*) from rocpd_ustring"), "6");
}

TEST_F(IngestTest, ArgumentsAreThoseOfTheFunctionAlsoInReusedMemory) {
  // The tables of functions grow, and another process' table may get the memory of an older one.
  for (uint64_t p = 0; p < 50; ++p) {
    const auto definitions = ring(0x1000 + p, 1000, 0), events = ring(0x1000 + p, 1000, 1, 1);
    const std::string name = "a" + std::to_string(p);
    feed(*file, definitions, string(1, name + ":u") + string(2, "f") + function(3, 2, 2, 2, 1));
    feed(*file, events, call(3, at(1), at(2), 0, 0, {7}));
    for (uint32_t id = 4; id < 200; id += 31) feed(*file, definitions, function(id, 2, 2, 2, 1));
    feed(*file, events, call(3, at(1), at(2), 0, 0, {7}));
  }
  file.finish();
  for (uint64_t p = 0; p < 50; ++p) {
    EXPECT_EQ(file.value("select count(*) from api where args = 'a" + std::to_string(p) + " = 7'"),
              "2");
  }
}

TEST_F(IngestTest, ClocksAreConverted) {
  // The device's clock: 1 tick = 10 ns, 0 at 1000 s.
  feed(*file, kDefinitions, string(20, "gpu clock") + clock(21, 20));
  feed(*file, kRing,
       snapshot(21, 1'000'000, at(9'999'990), at(10'000'010)) +
           snapshot(21, 3'000'000, at(29'999'990), at(30'000'010)) +
           snapshot(21, 4'000'000, at(50), at(40)));  // after lies before
  const auto at_clock = [](uint32_t clock, uint64_t start, uint64_t end) {
    Op op = kernel(0, start, end);
    op.clock = clock;
    op.queued = op.submitted = 0;
    return op;
  };
  const Words ops = op(6, at_clock(SONDE_CLOCK_TICKS, at(100), at(110))) +
                    op(6, at_clock(SONDE_CLOCK_MONOTONIC, 200, 210)) +
                    op(6, at_clock(SONDE_CLOCK_MONOTONIC_RAW, 1300, 1310)) +
                    op(6, at_clock(SONDE_CLOCK_REALTIME, 5400, 5410)) +
                    op(6, at_clock(SONDE_CLOCK_BOOTTIME, 7500, 7510)) +
                    op(6, at_clock(21, 2'000'000, 2'000'001)) + op(6, at_clock(22, 600, 610));
  const Rows expected = {"100|110", "200|210", "300|310",          "400|410",
                         "500|510", "600|610", "20000000|20000010"};
  feed(*file, kOther, ops);
  file.restore();
  feed(*file, kOther, ops);  // also by a recorder that knows the snapshots from the file alone
  file.finish();
  EXPECT_EQ(file.rows("select distinct start, end from rocpd_op order by start"), expected);
  EXPECT_EQ(file.value("select count(*) from rocpd_op"), "14");
  EXPECT_EQ(file.rows("select distinct clock from sonde_clock_snapshot order by 1"),
            (Rows{"boottime", "gpu clock", "monotonic_raw", "realtime", "ticks"}));
}

TEST_F(IngestTest, ExtremeTimesDoNotHurt) {
  const uint64_t extremes[] = {0, 1, ~uint64_t{0}, uint64_t{1} << 63, (uint64_t{1} << 63) - 1};
  for (const uint64_t a : extremes) {
    for (const uint64_t b : extremes) {
      for (const uint64_t c : extremes) feed(*file, kRing, snapshot(21, a, b, c));
      Op op = kernel(0, a, b);
      op.clock = 21;
      feed(*file, kRing, range(10, a, b) + sonde::store::testing::op(6, op) + snapshot(3, a, b, b));
    }
  }
  file.finish();
  EXPECT_EQ(file.value("select count(*) from rocpd_api"), "25");
}

TEST_F(IngestTest, TextIsAlwaysUtf8) {
  const std::string wrong = "caf\xe9 \xff", right = "caf\xc3\xa9 \xf0\x9f\x98\x80";
  const std::string repaired = "caf\xef\xbf\xbd \xef\xbf\xbd", longest(100'000, 'x');
  feed(*file, kDefinitions,
       string(20, wrong) + string(21, longest) + string(22, right) + string(23, "s:s") +
           function(24, 20, 20, 20, 23) + device(25, 0, 20, 20, 20));
  const auto own = [&](std::string_view content) {
    return record(wire::RecordType::kMark, 0, 0, {at(1), 0}) + text(content);
  };
  feed(*file, kRing,
       mark(20, at(1)) + mark(21, at(1)) + mark(22, at(1)) + own(wrong) + own(longest) +
           own(right) + call(24, at(1), at(2), 0, 0, Words{wrong.size()} + packed(wrong)) +
           thread(5, at(1), wrong) + record(wire::RecordType::kNote, 20, 0, {1}) + text(wrong));
  auto header = kRing;
  std::memcpy(header.open_text, wrong.data(), wrong.size());
  wire::OpenRange span{};
  span.begin = at(77);
  span.text_length = static_cast<uint32_t>(wrong.size());
  file->unfinished(header, span);
  file.finish();
  EXPECT_EQ(file.rows("select args, count(*) from api group by 1 order by 2, length(args)"),
            (Rows{"s = \"" + repaired + "\"|1", right + "|2", longest + "|2", repaired + "|3"}));
  EXPECT_EQ(file.value("select name from sonde_thread"), repaired);
  EXPECT_EQ(file.value("select key || value from sonde_note"), repaired + repaired);
  EXPECT_EQ(
      file.value("select name || backend || location from sonde_device where backend <> 'test'"),
      repaired + repaired + repaired);
  EXPECT_EQ(file.value("select distinct apiName from api where apiName <> 'UserMarker'"), repaired);
}

TEST_F(IngestTest, TheFirstDefinitionOfAStringStays) {
  feed(*file, kDefinitions, string(10, "another"));
  feed(*file, kRing, mark(10, at(1)));
  file.finish();
  EXPECT_EQ(file.value("select args from api"), "text");
}

TEST_F(IngestTest, AnEmptyDefinitionIsHarmless) {
  feed(*file, ring(0xdef, 200, 0), process(0, 0, "") + string(1, "") + function(2, 1, 1, 1, 1));
  feed(*file, ring(0xdef, 200, 1), call(2, at(1), at(2), 0, 0, {1}) + mark(1, at(3)));
  file.finish();
  EXPECT_EQ(file.rows("select apiName, domain, args from api order by start"),
            (Rows{"||", "UserMarker|sonde|"}));
}

TEST_F(IngestTest, TheChunkTellsTheThreadWhereTheRecordWasLost) {
  feed(*file, kRing, thread(101, at(1), "a") + mark(10, at(2)));
  feed(*file, ring(kSpool, 100, 1, 555, 2),
       mark(10, at(3)) + thread(556, at(4), "b") + mark(10, at(5)));
  file.restore();
  feed(*file, ring(kSpool, 100, 1, 555, 2), mark(10, at(6)));
  file.finish();
  EXPECT_EQ(file.rows("select tid from rocpd_api order by start"),
            (Rows{"101", "555", "556", "556"}));
}

TEST_F(IngestTest, OpsWhoseCallsAreLostDoNotPileUp) {
  for (uint64_t i = 1; i <= 150'000; ++i) feed(*file, kRing, op(6, kernel(i, 50, 60)));
  ASSERT_TRUE(file->commit());
  EXPECT_LT(
      std::stoll(file.value("select length(value) from sonde_ingest where key like 'pending%'")),
      80'000'000);
  feed(*file, kRing, call(5, at(1), at(2), 150'000) + call(5, at(3), at(4), 1));
  file.finish();
  EXPECT_EQ(file.value("select a.start from rocpd_api_ops l join rocpd_api a on a.id = l.api_id"),
            "1");
}

}  // namespace
}  // namespace sonde::store
