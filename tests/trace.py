"""Checks a Chrome trace: TRACE NAME... It is JSON, has spans of each NAME, spans of one
track nest, and what begins ends."""
import json
import sys

with open(sys.argv[1]) as file:
    trace = json.load(file)
tracks, names, open_ids = {}, set(), set()
for event in trace["traceEvents"]:
    names.add(event["name"])
    if event["ph"] == "X":
        assert event["ts"] >= 0 and event["dur"] > 0, event
        tracks.setdefault(event["tid"], []).append((event["ts"], -event["dur"], event["name"]))
    elif event["ph"] == "b":
        assert event["id"] not in open_ids
        open_ids.add(event["id"])
    elif event["ph"] == "e":
        open_ids.remove(event["id"])
assert not open_ids, open_ids
for track, spans in tracks.items():
    ends = []
    for ts, negative, name in sorted(spans):
        end = ts - negative
        while ends and ends[-1][0] <= ts + 0.002:
            ends.pop()
        assert not ends or end <= ends[-1][0] + 0.002, (track, name, ts, end, ends)
        ends.append((end, name))
missing = set(sys.argv[2:]) - names
assert not missing, missing
