"""Decodes a trace with Perfetto's own generated classes, and prints its tracks as JSON."""

import json
import sys

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

trace = proto.Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())

descriptors = {}
for packet in trace.packet:
    if packet.HasField("track_descriptor"):
        descriptors[packet.track_descriptor.uuid] = packet.track_descriptor


def path(uuid):
    descriptor = descriptors[uuid]
    parent = path(descriptor.parent_uuid) if descriptor.HasField("parent_uuid") else []
    return parent + [descriptor.name]


def entry(packet, event):
    return {
        "track": path(event.track_uuid),
        "name": event.name,
        "at": packet.timestamp,
        "details": {it.name: it.string_value for it in event.debug_annotations},
        "out": list(event.flow_ids),
        "into": list(event.terminating_flow_ids),
    }


slices, instants, values = [], [], []
open_slices = {}
last = 0
for packet in trace.packet:
    if not packet.HasField("track_event"):
        continue
    event = packet.track_event
    assert packet.timestamp >= last, "packets are in the order of time"
    last = packet.timestamp
    stack = open_slices.setdefault(event.track_uuid, [])
    if event.type == proto.TrackEvent.TYPE_SLICE_BEGIN:
        stack.append(entry(packet, event))
        slices.append(stack[-1])
    elif event.type == proto.TrackEvent.TYPE_SLICE_END:
        stack.pop()["to"] = packet.timestamp
    elif event.type == proto.TrackEvent.TYPE_INSTANT:
        instants.append(entry(packet, event))
    else:
        assert event.type == proto.TrackEvent.TYPE_COUNTER
        assert descriptors[event.track_uuid].HasField("counter")
        value = {"track": path(event.track_uuid), "at": packet.timestamp}
        values.append(value | {"value": event.counter_value})
assert not any(open_slices.values()), "every slice ends"
json.dump({"slices": slices, "instants": instants, "values": values}, sys.stdout)
