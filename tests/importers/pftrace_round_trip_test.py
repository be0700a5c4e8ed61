#!/usr/bin/python3
"""Exports an .rpd to .pftrace, in both of its forms, imports that, and compares the rows of both
files; what the format cannot carry is listed in docs/formats.md.

    pftrace_round_trip_test.py --sonde PATH [unittest options]"""

import round_trip_test as base
from round_trip_test import APIS, LINKS, OPS, ToolCase, main
from tool_case import change

EXACT_OPS = """SELECT o.gpuId, o.queueId, o.start, o.end, n.string, ot.string FROM rocpd_op o
               JOIN rocpd_string n ON n.id = o.description_id
               JOIN rocpd_string ot ON ot.id = o.opType_id"""
QUEUES = "SELECT gpuId, queueId, start, end FROM rocpd_op"
DOMAINS = """SELECT a.start, a.tid, d.string FROM rocpd_api a
             JOIN rocpd_string d ON d.id = a.domain_id"""
ARGUMENTS = """SELECT a.start, a.tid, u.string FROM rocpd_api a JOIN {ustring} u ON u.id = a.args_id
               JOIN rocpd_string n ON n.id = a.apiName_id"""
SHAPES = """SELECT o.start, d.grid_x, d.grid_y, d.grid_z, d.group_x, d.group_y, d.group_z
            FROM sonde_op_detail d JOIN rocpd_op o ON o.id = d.op_id WHERE grid_x > 0"""
DETAILS = """SELECT o.start, p.pid, d.bytes, d.group_segment_bytes, d.private_segment_bytes, d.status
             FROM sonde_op_detail d JOIN rocpd_op o ON o.id = d.op_id
             JOIN sonde_process p ON p.id = d.process_id WHERE d.api_id"""
COUNTERS = """SELECT p.pid, c.time_ns, n.string, c.value FROM sonde_counter c
              JOIN rocpd_string n ON n.id = c.name_id JOIN sonde_process p ON p.id = c.process_id"""
MONITORS = "SELECT deviceType, deviceId, monitorType, start, value FROM rocpd_monitor"
PROCESSES = "SELECT pid, command, rank FROM sonde_process WHERE command IS NOT NULL"
THREADS = """SELECT p.pid, t.tid, t.name FROM sonde_thread t
             JOIN sonde_process p ON p.id = t.process_id WHERE t.name IS NOT NULL"""
DEVICES = "SELECT gpu_id, backend, name, vendor FROM sonde_device"
CLOCK = """SELECT DISTINCT value - monotonic_ns FROM sonde_clock_snapshot
           WHERE lower(clock) LIKE '%realtime'"""


class PftraceRoundTrip(ToolCase):
    fixture, back, same = base.RoundTrip.fixture, base.RoundTrip.back, base.RoundTrip.same

    def test_pftrace(self):
        """In both of its forms. Render stages have the type as it was."""
        for source in self.both():
            made = self.back(source, "perfetto")
            self.same(source, made, EXACT_OPS, APIS, ARGUMENTS, LINKS)
            made = self.back(source, "perfetto", options=["--track-events"])
            self.same(source, made, OPS, QUEUES, APIS, ARGUMENTS, LINKS)

    def test_pftrace_of_an_import(self):
        """Everything an .rpd of Sonde can say that the format has a place for."""
        source = self.back(self.fixture(), "rocpd")  # a file with Sonde's own tables
        change(source, """
            UPDATE sonde_process SET command = 'train.py -x', rank = 3 WHERE pid = 100;
            UPDATE sonde_thread SET name = 'main' WHERE tid = 100;
            DELETE FROM sonde_device; DELETE FROM sonde_op_detail; DELETE FROM sonde_clock_snapshot;
            INSERT INTO sonde_device (gpu_id, backend, name, vendor)
              VALUES (0, 'hip', 'Test GPU', 'AMD'), (1, 'hip', 'Other GPU', 'AMD');
            INSERT INTO rocpd_string (string) VALUES ('Task'), ('Barrier'), ('loss');
            UPDATE rocpd_op SET queueId = 5, opType_id =
              (SELECT id FROM rocpd_string WHERE string = 'Task') WHERE id = 1;
            INSERT INTO rocpd_op (gpuId, queueId, sequenceId, start, end, description_id,
              opType_id) SELECT 1, 6, 0, 400, 410, 1, id FROM rocpd_string
              WHERE string = 'Barrier';
            INSERT INTO sonde_op_detail (op_id, process_id, api_id, bytes, grid_x, grid_y, grid_z,
              group_x, group_y, group_z, group_segment_bytes, private_segment_bytes, status)
              SELECT op_id, (SELECT id FROM sonde_process WHERE pid = 100), api_id,
              op_id * 8, 512, 4, 2, 64, 2, 1, 128, 16, op_id % 2 FROM rocpd_api_ops;
            INSERT INTO sonde_counter (process_id, tid, time_ns, name_id, value)
              SELECT p.id, 100, 1000 + value, s.id, value + 0.5 FROM rocpd_string s,
                sonde_process p,
                (SELECT 1 AS value UNION SELECT 2) WHERE s.string = 'loss' AND p.pid = 100;
            INSERT INTO rocpd_monitor (deviceType, deviceId, monitorType, start, end, value)
              VALUES ('gpu', 1, 'sclk', 1500, 1510, '1700'), ('gpu', 1, 'sclk', 1600, 1610, '1.5');
            INSERT INTO sonde_clock_snapshot (process_id, clock, value, monotonic_ns)
              VALUES (1, 'CLOCK_REALTIME', 1700000000000001000, 1000);
        """)
        made = self.back(source, "perfetto")
        self.same(source, made, EXACT_OPS, APIS, DOMAINS, ARGUMENTS, LINKS, SHAPES, DETAILS, COUNTERS,
                  MONITORS, PROCESSES, THREADS, DEVICES, CLOCK)
        made = self.back(source, "perfetto", options=["--track-events"])
        self.same(source, made, QUEUES, APIS, DOMAINS, ARGUMENTS, LINKS, COUNTERS, MONITORS,
                  PROCESSES, THREADS, CLOCK)


if __name__ == "__main__":
    main()
