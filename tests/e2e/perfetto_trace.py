"""perfetto_trace.py: reads a Perfetto file strictly, with Perfetto's published descriptors (the PyPI package `perfetto`).

Anything that a lenient reader would pass over is a Malformed: bytes behind the last packet, unknown fields, texts by an
id that was not defined on that sequence, ends without begins, counters without a track.
"""
from collections import defaultdict

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackEvent

# Fields of Perfetto's own extensions (protos/perfetto/trace/gpu), which the package's descriptors leave out.
EXTENSIONS = {"InternedData": {1000, 1001}, "TrackEvent": {3000, 3001}}
MONOTONIC, INCREMENTAL = 3, 64
# InternedData's field -> how its rows name others: (field of the row, InternedData's field).
INTERNED = {"frames": [("function_name_id", "function_names"), ("source_path_iid", "source_paths")],
            "callstacks": [("frame_ids", "frames")]}


class Malformed(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Malformed(what)


def varint(data, at):
    value = shift = 0
    while True:
        need(at < len(data) and shift < 70, "a number that does not end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def packets(data):
    """The packets of a file, which must fill it exactly."""
    at = 0
    while at < len(data):
        need(data[at] == 0x0A, f"byte {at}: no packet begins here")
        size, at = varint(data, at + 1)
        need(at + size <= len(data), "the last packet is cut")
        yield data[at:at + size]
        at += size


def fields(data):
    """(number, value) of a message without descriptor: numbers and bytes only."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            need(tag & 7 == 2, "a field that is neither number nor bytes")
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield tag >> 3, value


def check_known(message):
    for field in UnknownFieldSet(message):
        need(field.field_number in EXTENSIONS.get(message.DESCRIPTOR.name, ()),
             f"{message.DESCRIPTOR.name}: unknown field {field.field_number}")
    for descriptor, value in message.ListFields():
        if descriptor.message_type:
            for item in value if descriptor.is_repeated else [value]:
                check_known(item)


def extension(message, number):
    """The fields of an extension's message; {} where it is not there."""
    found = defaultdict(list)
    for field in UnknownFieldSet(message):
        if field.field_number == number and isinstance(field.data, bytes):
            for key, value in fields(field.data):
                found[key].append(value)
    return found


class Sequence:
    def __init__(self):
        self.interned = defaultdict(dict)
        self.defaults = None
        self.clock = 0

    def define(self, data):
        for descriptor, rows in data.ListFields():
            table = self.interned[descriptor.name]
            for row in rows:
                need(row.iid > 0 and table.get(row.iid, row) == row, f"{descriptor.name} {row.iid} is defined twice")
                for field, target in INTERNED.get(descriptor.name, ()):
                    ids = getattr(row, field)
                    for iid in [ids] if isinstance(ids, int) else ids:
                        need(iid == 0 or iid in self.interned[target], f"{target} {iid} is used before it is defined")
                table[row.iid] = row
        for field in UnknownFieldSet(data):
            row = defaultdict(list)
            for key, value in fields(field.data):
                row[key].append(value)
            name = {1000: "compute_kernels", 1001: "compute_arg_names"}[field.field_number]
            self.interned[name][row[1][0]] = row

    def name(self, table, iid):
        need(iid in self.interned[table], f"{table} {iid} is used before it is defined")
        row = self.interned[table][iid]
        return row.str.decode() if hasattr(row, "str") else row.name

    def stack(self, iid):
        """Frames from the outermost: (function, file, line)."""
        need(iid in self.interned["callstacks"], f"callstack {iid} is used before it is defined")
        frames = [self.interned["frames"][f] for f in self.interned["callstacks"][iid].frame_ids]
        return tuple((self.name("function_names", f.function_name_id),
                      self.name("source_paths", f.source_path_iid) if f.source_path_iid else "", f.line_number)
                     for f in frames)


class Trace:
    """What is in a file: tracks by uuid, slices, instants, counters, render stages, heap dumps."""

    def __init__(self, path):
        self.tracks, self.slices, self.instants, self.stages = {}, [], [], []
        self.counters = defaultdict(list)  # track -> (time, value), in the file's order
        self.dumps = defaultdict(list)  # (pid, heap) -> [(time, {stack: (bytes, blocks)})]
        self.totals, self.gpus, self.logs, self.kinds = [], [], [], defaultdict(lambda: [0, 0])
        self.lost = 0
        self.sequences = {}
        self.events = []
        self.part = {}
        with open(path, "rb") as file:
            data = file.read()
        for raw in packets(data):
            self.take(TracePacket.FromString(raw), len(raw) + (2 if len(raw) < 128 else 3))
        need(not self.part, "a heap profile that is not continued")
        self.nest()

    def take(self, packet, size):
        check_known(packet)
        need(packet.trusted_packet_sequence_id, "a packet of no sequence")
        kind = packet.WhichOneof("data") or "other"
        if kind == "track_event":
            kind = TrackEvent.Type.Name(packet.track_event.type)
        self.kinds[kind][0] += 1
        self.kinds[kind][1] += size
        if packet.sequence_flags & 1:
            need(packet.first_packet_on_sequence and packet.trusted_packet_sequence_id not in self.sequences,
                 "a sequence that begins twice")
            self.sequences[packet.trusted_packet_sequence_id] = Sequence()
        need(packet.trusted_packet_sequence_id in self.sequences, "a packet before its sequence begins")
        sequence = self.sequences[packet.trusted_packet_sequence_id]
        need(packet.sequence_flags & 2, "a packet that does not say it needs the sequence's state")
        if packet.HasField("trace_packet_defaults"):
            sequence.defaults = packet.trace_packet_defaults
            need(sequence.defaults.timestamp_clock_id == INCREMENTAL, "default clock")
        if packet.HasField("clock_snapshot"):
            clocks = {c.clock_id: c for c in packet.clock_snapshot.clocks}
            need({1, 3, 4, 6, 64} == set(clocks) and clocks[INCREMENTAL].is_incremental, "clocks")
            sequence.clock = clocks[INCREMENTAL].timestamp
        if packet.HasField("interned_data"):
            sequence.define(packet.interned_data)
        self.lost += sum(buffer.trace_writer_packet_loss for buffer in packet.trace_stats.buffer_stats)
        handler = getattr(self, "on_" + (packet.WhichOneof("data") or "nothing"), None)
        if handler:
            handler(packet, sequence, self.time_of(packet, sequence))

    @staticmethod
    def time_of(packet, sequence):
        if not packet.HasField("timestamp"):
            return None
        if packet.HasField("timestamp_clock_id"):
            need(packet.timestamp_clock_id == MONOTONIC and packet.timestamp < sequence.clock, "an absolute time ahead")
            return packet.timestamp
        sequence.clock += packet.timestamp
        return sequence.clock

    def on_track_descriptor(self, packet, _sequence, _time):
        row = packet.track_descriptor
        need(row.uuid and row.uuid not in self.tracks, "a track that is described twice")
        need(not row.parent_uuid or row.parent_uuid in self.tracks, "a track below an unknown one")
        self.tracks[row.uuid] = row

    def on_track_event(self, packet, sequence, time):
        event = packet.track_event
        defaults = sequence.defaults.track_event_defaults
        track = event.track_uuid or defaults.track_uuid
        need(track in self.tracks and time, "an event of no track or time")
        if event.type == TrackEvent.TYPE_COUNTER:
            need(self.tracks[track].HasField("counter"), "a counter value on a row that is none")
            value = event.double_counter_value if event.HasField("double_counter_value") else event.counter_value
            self.counters[track].append((time, self.scaled(track, value)))
        else:
            need(not self.tracks[track].HasField("counter"), "an event on a counter")
            self.events.append((time, track, event, sequence))
        if event.extra_counter_values:
            need(len(defaults.extra_counter_track_uuids) == 1 == len(event.extra_counter_values), "counters beside events")
            track = defaults.extra_counter_track_uuids[0]
            self.counters[track].append((time, self.scaled(track, event.extra_counter_values[0])))

    def scaled(self, track, value):
        """As trace_processor takes it: one of a counter stands for so many of its unit."""
        whole = value * (self.tracks[track].counter.unit_multiplier or 1)
        need(whole == int(whole), "a counter of parts of bytes")
        return int(whole)

    def on_gpu_render_stage_event(self, packet, sequence, time):
        event = packet.gpu_render_stage_event
        context = sequence.interned["graphics_contexts"][event.context]
        launch = {sequence.interned["compute_arg_names"][a.name_iid][2][0].decode(): a.uint_value
                  for a in event.launch.args}
        self.stages.append({
            "id": event.event_id, "name": sequence.name("event_names", event.name_iid), "start": time,
            "duration": event.duration, "pid": context.pid, "gpu": event.gpu_id,
            "queue": sequence.interned["gpu_specifications"][event.hw_queue_iid].name,
            "stage": sequence.interned["gpu_specifications"][event.stage_iid].name, "launch": launch,
            "kernel": sequence.interned["compute_kernels"][event.kernel_iid][2][0].decode() if event.kernel_iid else None})

    def on_gpu_mem_total_event(self, packet, _sequence, time):
        event = packet.gpu_mem_total_event
        self.totals.append((time, event.gpu_id, event.pid, event.size))

    def on_gpu_info(self, packet, _sequence, _time):
        self.gpus = list(packet.gpu_info.gpus)

    def on_gpu_log(self, packet, _sequence, time):
        self.logs.append((time, packet.gpu_log.log_message))

    def on_profile_packet(self, packet, sequence, _time):
        profile = packet.profile_packet
        (heap,) = profile.process_dumps
        key = (heap.pid, heap.heap_name)
        state = self.part.setdefault(key, (heap.timestamp, {}))
        need(state[0] == heap.timestamp and ":" not in heap.heap_name, "a heap profile's time or name")
        for sample in heap.samples:
            need(sample.callstack_id not in state[1], "a call stack twice in a heap profile")
            sequence.stack(sample.callstack_id)
            state[1][sample.callstack_id] = (sample.self_allocated, sample.self_freed, sample.alloc_count, sample.free_count)
        if profile.continued:
            return
        before = getattr(sequence, "totals", {})
        dump = defaultdict(lambda: [0, 0])
        for iid, values in state[1].items():
            need(all(a >= b for a, b in zip(values, before.get(iid, (0, 0, 0, 0)))), "a total of a heap that falls")
            dump[sequence.stack(iid)][0] += values[0] - values[1]
            dump[sequence.stack(iid)][1] += values[2] - values[3]
        sequence.totals = dict(state[1])
        need(not self.dumps[key] or self.dumps[key][-1][0] < state[0], "heap profiles out of order")
        self.dumps[key].append((state[0], {k: tuple(v) for k, v in dump.items()}))
        del self.part[key]

    def nest(self):
        """As Perfetto does it: by time, in the file's order where times are equal; an end closes the last begun."""
        stacks = defaultdict(list)
        for time, track, event, sequence in sorted(self.events, key=lambda e: e[0]):
            if event.type == TrackEvent.TYPE_SLICE_END:
                need(stacks[track], "an end without a begin")
                stacks[track].pop()["end"] = time
                continue
            item = {"name": sequence.name("event_names", event.name_iid), "start": time, "track": track,
                    "flows": list(event.flow_ids), "ends": list(event.terminating_flow_ids),
                    "stack": sequence.stack(event.callstack_iid) if event.callstack_iid else (),
                    "weight": event.callstack_weight, "launches": extension(event, 3000)[1],
                    "waits": extension(event, 3000)[2],
                    "args": {sequence.name("debug_annotation_names", a.name_iid): self.argument(a)
                             for a in event.debug_annotations}}
            if event.type == TrackEvent.TYPE_SLICE_BEGIN:
                item["depth"] = len(stacks[track])
                stacks[track].append(item)
                self.slices.append(item)
            else:
                need(event.type == TrackEvent.TYPE_INSTANT, "a kind of event that is not written")
                self.instants.append(item)
        need(not any(stacks.values()), "a begin without an end")

    @staticmethod
    def argument(annotation):
        return getattr(annotation, annotation.WhichOneof("value"))

    def path(self, uuid):
        """Names of the rows from the process down: ("4242", "Memory", "cuda:0 Toy GPU", "Allocated")."""
        row = self.tracks[uuid]
        if row.HasField("process"):
            return (row.process.pid,)
        if row.HasField("thread"):
            return (row.thread.pid, row.thread.tid)
        return self.path(row.parent_uuid) + (row.name,)
