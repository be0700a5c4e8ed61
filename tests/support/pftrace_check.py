#!/usr/bin/python3
"""Decodes a Perfetto protobuf export and prints what it holds as one JSON object; fails on what a
viewer would drop or show wrongly. Shares no code with the exporter: standard library only.

    pftrace_check.py FILE

Printed: ops, apis, slices, instants, flows, counters, processes, threads, lanes, max_nesting, names
{"api|op name": [count, total ns]}, ops_ns and apis_ns, gpus, gpu_tracks, api_tracks, packets,
largest_packet, args_texts, clocks, first_ns, last_ns, process_names {pid: name}, command_lines {pid:
text}, real {"pid N"|"tid PID/N": the number in the file}, thread_names {"pid/tid": name}, counter_tracks
{name: [parent's name, unit]}, kernels {shown name: recorded name}.
Failures: broken wire format, packets of 512 KB and more, packets that need state that was never
set, no clock, unknown iids and tracks, an iid that is given twice, text that is not UTF-8, slices
that end without beginning, do not end, or are not in time order, launches of operations that are
not there, two operations with one id, pids and tids that are no 31-bit numbers (viewers make 0 of
them), a thread 0 of a process, samples and contexts of processes and threads without a name, counters
without a unit that their name says.
"""
import json
import struct
import sys
import zlib
from collections import defaultdict

from malformed import Malformed, require

MAX_PACKET = 512 * 1024
MONOTONIC, BOOTTIME, REALTIME = 3, 6, 1
# InternedData: field -> (name, field of the text)
INTERNED = {1: "category", 2: "event name", 3: "annotation name", 23: "context",
            24: "specification", 29: "string value", 1000: "kernel", 1001: "argument name"}


def varint(data, at):
    value = shift = 0
    while True:
        require(at < len(data) and shift < 70, "broken varint")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
        shift += 7


def fields(data):
    """Yields (field, value): int for varints, bytes otherwise."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        field, wire = key >> 3, key & 7
        require(field > 0, "field number 0")
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = data[at:at + 8], at + 8
        elif wire == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            require(len(value) == size, "message is cut")
        else:
            raise Malformed(f"wire type {wire}")
        require(at <= len(data), "message is cut")
        yield field, value


def message(data):
    """The fields as {field: [values]}."""
    result = defaultdict(list)
    for field, value in fields(data):
        result[field].append(value)
    return result


def one(values, field, default=None):
    found = values.get(field, [])
    require(len(found) <= 1, f"field {field} more than once")
    return found[0] if found else default


def text(data):
    return data.decode("utf-8")  # strict


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Decoder:
    def __init__(self):
        self.interned = {name: {} for name in INTERNED.values()}
        self.cleared = False
        self.clock = None
        self.clocks = {}
        self.tracks = {}
        self.events = defaultdict(list)  # track -> [(time, type, name)] in the order of the file
        self.ops = {}
        self.launched = []
        self.flow_starts, self.flow_ends = set(), set()
        self.names = defaultdict(lambda: [0, 0])
        self.counters = self.packets = self.instants = 0
        self.gpus = []
        self.gpu_tracks = set()
        self.largest = 0
        self.args_texts = 0
        self.times = []
        self.process_names, self.command_lines, self.real, self.thread_names = {}, {}, {}, {}
        self.counter_tracks, self.kernels = {}, {}
        self.sampled, self.contexts = set(), set()

    def read(self, data):
        for field, packet in fields(data):
            require(field == 1, f"field {field} in the trace")
            require(len(packet) < MAX_PACKET, f"packet of {len(packet)} bytes")
            self.largest = max(self.largest, len(packet))
            values = message(packet)
            compressed = one(values, 50)
            if compressed is None:
                self.packet(values)
                continue
            require(len(values) == 1, "compressed packet with other fields")
            engine = zlib.decompressobj()
            inner = engine.decompress(compressed)
            require(engine.eof and not engine.unused_data, "compressed block is cut")
            self.read(inner)

    def packet(self, values):
        self.packets += 1
        require(one(values, 10) == 1, "packet without sequence")
        flags = one(values, 13, 0)
        if flags & 1:
            require(one(values, 87) == 1, "state cleared, but not the first packet")
            self.cleared = True
        require(self.cleared and flags & 2, "packet without the state it needs")
        defaults = one(values, 59)
        if defaults is not None:
            self.clock = one(message(defaults), 58)
        data = one(values, 12)
        if data is not None:
            self.intern(data)
        time = one(values, 8)
        for data in values[66]:
            sample = message(data)
            self.sampled.add((one(sample, 2), one(sample, 3)))
        for field, handler in ((2, self.process_tree), (6, self.snapshot), (60, self.descriptor),
                               (128, self.gpu_info)):
            if (body := one(values, field)) is not None:
                handler(message(body))
        for field, handler in ((11, self.track_event), (53, self.render_stage)):
            if (body := one(values, field)) is not None:
                require(time is not None, "event without time")
                require(self.clock in self.clocks, "event in an unknown clock")
                self.times.append(time)
                handler(time, message(body))

    def intern(self, data):
        for field, entry in fields(data):
            if 5 <= field <= 7 or 16 <= field <= 19:  # of sampled stacks
                continue
            require(field in INTERNED, f"interned data {field}")
            kind = INTERNED[field]
            values = message(entry)
            iid = one(values, 1)
            require(iid and iid not in self.interned[kind], f"{kind} {iid} is given twice or 0")
            if kind == "context":
                self.interned[kind][iid] = (one(values, 2), one(values, 3))
                if one(values, 2) is not None:
                    self.contexts.add(self.small(one(values, 2)))
            elif kind == "kernel":
                recorded = text(one(values, 2, b""))
                self.interned[kind][iid] = text(one(values, 3)) if 3 in values else recorded
                self.kernels[self.interned[kind][iid]] = recorded
            else:
                self.interned[kind][iid] = text(one(values, 2, b""))

    def lookup(self, kind, iid):
        require(iid in self.interned[kind], f"unknown {kind} {iid}")
        return self.interned[kind][iid]

    def snapshot(self, values):
        require(not self.times, "clock snapshot after events")
        for clock in values[1]:
            entry = message(clock)
            self.clocks[one(entry, 1)] = one(entry, 2)
        require(one(values, 2) == MONOTONIC, "primary clock is not CLOCK_MONOTONIC")

    @staticmethod
    def small(number):
        require(number < 1 << 31, f"{signed(number)} is no number that viewers keep")
        return number

    def process_tree(self, values):
        for data in values[1]:
            process = message(data)
            words = [text(word) for word in process[3]]
            self.command_lines[self.small(one(process, 1))] = " ".join(words)
            # Viewers take the first word as the name, before all others.
            self.process_names[one(process, 1)] = words[0]

    def described_process(self, values, description):
        body = message(one(values, 3))
        pid = self.small(one(body, 1))
        name = one(body, 6)
        if name is not None:
            known = self.process_names.setdefault(pid, text(name))
            require(known == text(name), f"process {pid} is {known} and {text(name)}")
        if description.startswith("sonde pid "):
            self.real[f"pid {pid}"] = int(description[10:])
        for command in body[2]:
            text(command)
        return name

    def described_thread(self, values, description):
        body = message(one(values, 4))
        pid, tid = self.small(one(body, 1)), self.small(one(body, 2))
        require(tid != 0 or pid == 0, f"thread 0 of process {pid}")
        require(f"{pid}/{tid}" not in self.thread_names, f"thread {pid}/{tid} twice")
        name = one(body, 5)
        self.thread_names[f"{pid}/{tid}"] = text(name or b"")
        if description.startswith("sonde tid "):
            self.real[f"tid {pid}/{tid}"] = int(description[10:])
        return name

    def described_counter(self, values, parent):
        name, unit = text(one(values, 2)), message(one(values, 8))
        require(parent in self.tracks, f"counter {name} has no parent")
        kind = {1: "ns", 2: "count", 3: "bytes"}.get(one(unit, 3)) or text(one(unit, 6, b""))
        for end in ("_bytes", "_percent", "mhz", " sclk", "_w", "_ms"):
            require(kind or not name.endswith(end), f"counter {name} has no unit")
        self.counter_tracks[name] = [self.tracks[parent][1], kind]

    def descriptor(self, values):
        uuid = one(values, 1)
        require(uuid and uuid not in self.tracks, f"track {uuid} described twice")
        parent = one(values, 5, 0)
        require(parent == 0 or parent in self.tracks, f"track {uuid}: parent {parent} is unknown")
        kind = "process" if 3 in values else "thread" if 4 in values else \
            "counter" if 8 in values else "lane"
        if kind == "lane" and parent == 0:
            kind = "gpu"
        elif kind == "lane" and self.tracks[parent][0] == "gpu":
            kind = "queue"
        elif kind == "lane":
            require(self.tracks[parent][0] == "thread", "lane outside a thread")
        name = one(values, 2)
        description = text(one(values, 14, b""))
        if kind == "process":
            name = self.described_process(values, description)
        elif kind == "thread":
            name = self.described_thread(values, description)
        elif kind == "counter":
            self.described_counter(values, parent)
        require(name, f"track {uuid} has no name")
        self.tracks[uuid] = (kind, text(name))

    def gpu_info(self, values):
        for gpu in values[1]:
            self.gpus.append(text(one(message(gpu), 1)))

    def annotation(self, data):
        values = message(data)
        name = self.lookup("annotation name", one(values, 1))
        require((17 in values) + (6 in values) + (4 in values) + (9 in values) == 1,
                f"annotation {name} has not one value")
        if 9 in values:
            json.loads(text(one(values, 9)))
        if 4 in values or 9 in values:
            return None
        if name == "mangled_name":
            return text(one(values, 6))
        if 17 in values:
            self.lookup("string value", one(values, 17))
        else:
            text(one(values, 6))
        self.args_texts += 1

    def track_event(self, time, values):
        kind, track = one(values, 9), one(values, 11)
        require(track in self.tracks, f"unknown track {track}")
        if kind == 4:
            require(self.tracks[track][0] == "counter", "counter on a track of slices")
            struct.unpack("<d", one(values, 44))
            self.counters += 1
            return
        require(self.tracks[track][0] in ("thread", "lane", "queue"),
                "slice on a track of another kind")
        name = None
        if kind in (1, 3):
            require((10 in values) != (23 in values), "event has not one name")
            name = self.lookup("event name", one(values, 10)) if 10 in values \
                else text(one(values, 23))
            self.lookup("category", one(values, 3))
        for data in values[4]:
            mangled = self.annotation(data)
            if mangled is not None:
                self.kernels[name] = mangled
        for data in values[3000]:
            self.launched += message(data)[1]
        for flow in values[47]:
            require(flow not in self.flow_starts, "flow starts twice")
            self.flow_starts.add(flow)
        self.flow_ends.update(values[48])
        require(kind in (1, 2, 3), f"event type {kind}")
        self.events[track].append((time, kind, name))

    def dimensions(self, data):
        values = message(data)
        require(all(one(values, axis) is not None for axis in (1, 2, 3)), "dimension is missing")

    def render_stage(self, time, values):
        event = one(values, 1)
        require(event and event not in self.ops, f"operation {event} twice")
        duration = signed(one(values, 2))
        require(duration >= 0, "negative duration")
        name = self.lookup("event name", one(values, 20))
        queue = one(values, 13)
        self.lookup("specification", queue)
        self.lookup("specification", one(values, 14))
        self.lookup("context", one(values, 5))
        gpu = one(values, 11)
        require(gpu < len(self.gpus), f"unknown GPU {gpu}")
        self.gpu_tracks.add((gpu, queue))
        if 19 in values:
            require(self.lookup("kernel", one(values, 19)) == name, "kernel has another name")
        launch = message(one(values, 21))
        for field in (1, 2):
            for data in launch[field]:
                self.dimensions(data)
        given = {}
        for data in launch[3]:
            argument = message(data)
            given[self.lookup("argument name", one(argument, 1))] = signed(one(argument, 3))
        require({"device", "stream"} <= given.keys(), "operation without device or stream")
        self.ops[event] = (time, duration)
        self.count(f"op {name}", duration)

    def count(self, name, duration):
        self.names[name][0] += 1
        self.names[name][1] += duration

    def slices(self):
        """Plays each track in time order, as a viewer does, which must be the order in which the
        writer meant begins and ends to pair. Returns (count, total ns, deepest)."""
        count = total = deepest = 0
        for track, events in self.events.items():
            if self.tracks[track][0] == "queue":
                self.queue_slices(track, events)
                continue
            in_order = sorted(events, key=lambda event: event[0])  # stable
            require(in_order == events, f"track {track}: events are not in time order")
            stack = []
            for time, kind, name in events:
                if kind == 2:
                    require(stack, f"track {track}: end without begin at {time}")
                    start, started = stack.pop()
                    self.count(f"api {started}", time - start)
                    count += 1
                    total += time - start
                elif kind == 1:
                    stack.append((time, name))
                    deepest = max(deepest, len(stack))
                else:
                    self.instants += 1
                    self.count(f"api {name}", 0)
            require(not stack, f"track {track}: slice without end")
        return count, total, deepest

    def queue_slices(self, track, events):
        """Operations as slices: one after the other, never nested."""
        began = None
        for time, kind, name in events:
            if kind == 1:
                require(began is None, f"queue track {track}: operations overlap")
                began = (time, name)
                continue
            require((began is not None) == (kind == 2), f"queue track {track}: stray end")
            start, name = began if began else (time, name)
            began = None
            self.ops[len(self.ops) + 1] = (start, time - start)
            self.count(f"op {name}", time - start)

    def result(self):
        require(self.cleared and MONOTONIC in self.clocks, "no clock snapshot")
        count, total, deepest = self.slices()
        for event in self.launched:
            require(event in self.ops, f"a launch points to the unknown operation {event}")
        require(self.flow_starts == self.flow_ends, "a flow has one end")
        for pid, tid in self.sampled:
            require(self.thread_names.get(f"{pid}/{tid}"), f"sampled thread {pid}/{tid} has no name")
        for pid in self.contexts:
            require(pid in self.process_names, f"process {pid} of a queue has no name")
        kinds = [kind for kind, _ in self.tracks.values()]
        ends = [time + duration for time, duration in self.ops.values()]
        return {"ops": len(self.ops), "ops_ns": sum(d for _, d in self.ops.values()),
                "slices": count, "apis": count + self.instants, "apis_ns": total,
                "instants": self.instants, "flows": len(self.launched) + len(self.flow_ends), "counters": self.counters,
                "processes": kinds.count("process"), "threads": kinds.count("thread"),
                "lanes": kinds.count("lane"), "api_tracks": len(self.events) - kinds.count("queue"),
                "gpus": self.gpus, "gpu_tracks": len(self.gpu_tracks), "packets": self.packets,
                "largest_packet": self.largest, "args_texts": self.args_texts,
                "max_nesting": deepest, "first_ns": min(self.times, default=0),
                "last_ns": max(self.times + ends, default=0), "clocks": self.clocks,
                "names": dict(self.names), "process_names": self.process_names,
                "command_lines": self.command_lines, "real": self.real,
                "thread_names": self.thread_names, "counter_tracks": self.counter_tracks,
                "kernels": self.kernels}


def main():
    try:
        with open(sys.argv[1], "rb") as file:
            decoder = Decoder()
            decoder.read(file.read())
        print(json.dumps(decoder.result()))
    except (Malformed, ValueError, TypeError, zlib.error, struct.error) as error:
        sys.exit(f"{sys.argv[1]}: {type(error).__name__}: {str(error)[:500]}")


if __name__ == "__main__":
    main()
