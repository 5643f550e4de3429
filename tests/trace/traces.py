#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Loads a Perfetto trace, or its text as 'protoc --decode' prints it, into SQLite, and asks questions.

The tables slice, track, flow and counter have the names and columns of Perfetto's trace processor, so
that the same queries run there.

Usage: traces.py TRACE|TEXT [--why WHY.json] [QUERY...]
Without queries, checks what every trace of gpreempt must keep; with --why, that it agrees with the
output of 'gpreempt why --json'. A query must return rows; they are printed.
"""
import json
import sqlite3
import struct
import sys

# The fields that gpreempt writes: number: (name, type); a dictionary is the type of a message.
ANNOTATION = {10: ("name", str), 3: ("uint_value", int), 4: ("int_value", int), 6: ("string_value", str)}
TYPES = {1: "TYPE_SLICE_BEGIN", 2: "TYPE_SLICE_END", 3: "TYPE_INSTANT", 4: "TYPE_COUNTER"}
EVENT = {4: ("debug_annotations", ANNOTATION), 9: ("type", TYPES.get), 11: ("track_uuid", int),
         22: ("categories", str), 23: ("name", str), 30: ("counter_value", int), 47: ("flow_ids", int),
         48: ("terminating_flow_ids", int)}
TRACK = {1: ("uuid", int), 2: ("name", str), 5: ("parent_uuid", int), 8: ("counter", {}),
         11: ("child_ordering", int), 12: ("sibling_order_rank", int)}
CLOCK = {1: ("clock_id", int), 2: ("timestamp", int)}
SNAPSHOT = {1: ("clocks", CLOCK), 2: ("primary_trace_clock", int)}
PACKET = {6: ("clock_snapshot", SNAPSHOT), 8: ("timestamp", int), 10: ("trusted_packet_sequence_id", int),
          11: ("track_event", EVENT), 13: ("sequence_flags", int), 58: ("timestamp_clock_id", int),
          60: ("track_descriptor", TRACK), 87: ("first_packet_on_sequence", int)}
TRACE = {1: ("packet", PACKET)}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def decode(data, schema):
    """A message of protocol buffers, as parse() yields them. A field that is not in the schema is a fault."""
    message, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        name, kind = schema[key >> 3]
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            (value,), at = struct.unpack_from("<Q", data, at), at + 8
        else:
            assert key & 7 == 2, f"wire type {key & 7}"
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "the message ends early"
        if isinstance(kind, dict):
            value = decode(value, kind)
        elif kind is str:
            value = json.dumps(value.decode())
        else:
            value = str(kind(value))
        message.setdefault(name, []).append(value)
    return message


def parse(lines):
    """Yields packets: dictionaries of lists."""
    stack = [{}]
    for line in lines:
        line = line.strip()
        if line.endswith("{"):
            message = {}
            stack[-1].setdefault(line[:-1].strip(), []).append(message)
            stack.append(message)
        elif line == "}":
            stack.pop()
            if len(stack) == 1:
                yield from stack[0].pop("packet", [])
        elif line:
            name, value = line.split(": ", 1)
            stack[-1].setdefault(name, []).append(value)


def text(message, name, default=None):
    value = message.get(name, [default])[0]
    return json.loads(value) if value and value.startswith('"') else value


def annotations(event):
    for one in event.get("debug_annotations", []):
        for key in ("string_value", "uint_value", "int_value"):
            if key in one:
                yield text(one, "name"), text(one, key)


def packets(path):
    with open(path, "rb") as file:
        data = file.read()
    if data.startswith(b"packet {"):
        yield from parse(data.decode().splitlines())
    else:
        yield from decode(data, TRACE).get("packet", [])


class Trace:
    def __init__(self, path):
        self.db = sqlite3.connect(":memory:")
        self.db.executescript("""
            CREATE TABLE track (id INTEGER PRIMARY KEY, name TEXT, parent_id INT);
            CREATE TABLE slice (id INTEGER PRIMARY KEY, ts INT, dur INT, track_id INT, name TEXT,
                                category TEXT, parent_id INT, depth INT);
            CREATE TABLE args (slice_id INT, key TEXT, value TEXT);
            CREATE TABLE flow (slice_out INT, slice_in INT);
            CREATE INDEX args_of ON args (slice_id);
            CREATE TABLE counter (ts INT, track_id INT, value INT);
        """)
        self.tracks = {}
        self.flows = {}
        events = []
        for packet in packets(path):
            for track in packet.get("track_descriptor", []):
                self.add_track(track)
            for event in packet.get("track_event", []):
                events.append((int(packet["timestamp"][0]), event))
        # The trace processor sorts by time, and keeps the order of what has the same time.
        self.open = {}
        for ts, event in sorted(events, key=lambda e: e[0]):
            self.take(ts, event)
        left = [s for stack in self.open.values() for s in stack]
        assert not left, f"{len(left)} slices have no end"

    def add_track(self, track):
        uuid = int(track["uuid"][0])
        if uuid not in self.tracks:
            self.tracks[uuid] = len(self.tracks) + 1
            parent = self.tracks.get(int(track.get("parent_uuid", [0])[0]))
            assert parent or "parent_uuid" not in track, "a track comes before its parent"
            self.db.execute("INSERT INTO track VALUES (?, ?, ?)",
                            (self.tracks[uuid], text(track, "name"), parent))

    def take(self, ts, event):
        kind = event["type"][0]
        track = self.tracks[int(event["track_uuid"][0])]
        stack = self.open.setdefault(track, [])
        if kind == "TYPE_COUNTER":
            self.db.execute("INSERT INTO counter VALUES (?, ?, ?)",
                            (ts, track, int(event["counter_value"][0])))
        elif kind == "TYPE_SLICE_END":
            assert stack, f"an end without a beginning at {ts}"
            slice_id, begun = stack.pop()
            self.db.execute("UPDATE slice SET dur = ? WHERE id = ?", (ts - begun, slice_id))
        else:
            slice_id = self.add_slice(ts, track, event, stack)
            if kind == "TYPE_SLICE_BEGIN":
                stack.append((slice_id, ts))

    def add_slice(self, ts, track, event, stack):
        cursor = self.db.execute(
            "INSERT INTO slice (ts, dur, track_id, name, category, parent_id, depth)"
            " VALUES (?, 0, ?, ?, ?, ?, ?)",
            (ts, track, text(event, "name"), text(event, "categories"),
             stack[-1][0] if stack else None, len(stack)))
        slice_id = cursor.lastrowid
        self.db.executemany("INSERT INTO args VALUES (?, ?, ?)",
                            [(slice_id, k, v) for k, v in annotations(event)])
        for flow in event.get("flow_ids", []):
            assert flow not in self.flows, f"flow {flow} begins twice"
            self.flows[flow] = slice_id
        for flow in event.get("terminating_flow_ids", []):
            self.db.execute("INSERT INTO flow VALUES (?, ?)", (self.flows.pop(flow), slice_id))
        return slice_id

    def one(self, query, *values):
        return self.db.execute(query, values).fetchone()[0]


# Each must count nothing.
RULES = {
    "a hold has no flow from its cause": """
        SELECT COUNT(*) FROM slice WHERE category = 'gpreempt' AND name LIKE 'held: %'
        AND id NOT IN (SELECT slice_in FROM flow)""",
    "a flow does not begin at or before the hold": """
        SELECT COUNT(*) FROM flow JOIN slice a ON a.id = slice_out JOIN slice b ON b.id = slice_in
        WHERE a.ts > b.ts""",
    "a hold has no rule": """
        SELECT COUNT(*) FROM slice WHERE category = 'gpreempt' AND name LIKE 'held: %' AND name !=
        'held: ' || (SELECT value FROM args WHERE slice_id = slice.id AND key = 'rule')""",
    "a hold for a group does not have the flow of that group": """
        SELECT COUNT(*) FROM args JOIN flow ON slice_in = args.slice_id
        JOIN slice a ON a.id = slice_out JOIN track t ON t.id = a.track_id
        LEFT JOIN track p ON p.id = t.parent_id
        WHERE args.key = 'by_group' AND t.name LIKE 'queue %: work'
        AND p.name NOT LIKE '%group ' || args.value || ' (%'""",
    "a group runs while it is held": """
        SELECT COUNT(*) FROM (SELECT ts + dur AS ends, LEAD(ts) OVER (PARTITION BY track_id ORDER BY ts, id)
        AS next FROM slice WHERE depth = 0 AND (name = 'run' OR name LIKE 'held: %')) WHERE next < ends""",
    "a slice of waiting is outside a hold": """
        SELECT COUNT(*) FROM slice s LEFT JOIN slice p ON p.id = s.parent_id
        WHERE s.name = 'waiting' AND (p.name IS NULL OR p.name NOT LIKE 'held: %')""",
    "a duration is negative": "SELECT COUNT(*) FROM slice WHERE dur < 0",
    "a counter is negative": "SELECT COUNT(*) FROM counter WHERE value < 0",
}


def near(what, mine, other):
    print(f"{what}: {mine:.3f} ms in the trace, {other:.3f} ms by why")
    assert abs(mine - other) <= max(0.01 * other, 0.01), what


def compare(trace, why):
    """Sums of a whole log against those of the daemon."""
    for group in why["groups"]:
        name = f"%group {group['group']} (%"
        total = "SELECT COALESCE(SUM(dur), 0) / 1e6 FROM slice JOIN track t ON t.id = track_id" \
                " WHERE t.name LIKE ? AND slice.name "
        near(f"group {group['group']} waited", trace.one(total + "= 'waiting'", name), group["held_ms"])
        count = trace.one(
            "SELECT COUNT(*) FROM slice JOIN track t ON t.id = track_id"
            " WHERE t.name LIKE ? AND slice.name LIKE 'held: %'", name)
        assert count == group["holds"], f"{count} holds in the trace, {group['holds']} by why"
        if len(group["history"]) == group["holds"]:
            near(f"group {group['group']} held", trace.one(total + "LIKE 'held: %'", name),
                 sum(h["held_ms"] for h in group["history"]))


def main():
    arguments = sys.argv[1:]
    trace = Trace(arguments.pop(0))
    for what, query in RULES.items():
        count = trace.one(query)
        assert not count, f"{what}: {count}"
    if arguments[:1] == ["--why"]:
        with open(arguments[1], encoding="utf-8") as file:
            compare(trace, json.load(file))
        arguments = arguments[2:]
    for query in arguments:
        rows = trace.db.execute(query).fetchall()
        assert rows, f"no rows: {query}"
        for row in rows:
            print("|".join(map(str, row)))


if __name__ == "__main__":
    main()
