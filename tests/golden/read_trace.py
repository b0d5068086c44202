#!/usr/bin/env python3
"""read_trace.py FILE - prints a trace as JSON lines; a reader written from schema/format.md alone.

It shares nothing with vramtrace's own: Python's sqlite3 and the zstd library are all it takes.
read_trace.py --document FORMAT.MD decodes the example in the document and compares.
"""
import ctypes
import ctypes.util
import heapq
import json
import re
import sqlite3
import struct
import sys
import zlib

APPLICATION_ID = 0x56545243
RAW_BYTES_MAX = 268435456
ROWS_MAX = 1048576
M64 = (1 << 64) - 1
# number: (name, bytes, signed)
TYPES = {1: ("U16", 2, False), 2: ("U32", 4, False), 3: ("U64", 8, False), 4: ("I16", 2, True), 5: ("I32", 4, True),
         6: ("I64", 8, True), 7: ("STR", 4, False), 8: ("OPNODE", 4, False), 9: ("CODE", 4, False),
         10: ("FRAME", 4, False), 11: ("STACK", 4, False), 12: ("CONFIG", 4, False), 13: ("TOUCH", 4, False),
         14: ("MODULE", 4, False)}
TYPES_BY_NAME = {name: (width, signed) for name, width, signed in TYPES.values()}
RAW, DELTA, DICT, RLE, SPAN, SUM = range(6)


class Corrupt(Exception):
    pass


def load_zstd():
    """A function from a frame and its size to bytes."""
    try:
        lib = ctypes.CDLL("libzstd.so.1")
    except OSError:
        import zstandard
        return lambda data: zstandard.ZstdDecompressor().decompress(data, max_output_size=RAW_BYTES_MAX)
    for name, result, arguments in (("ZSTD_getFrameContentSize", ctypes.c_ulonglong, [ctypes.c_char_p, ctypes.c_size_t]),
                                    ("ZSTD_decompress", ctypes.c_size_t, [ctypes.c_char_p, ctypes.c_size_t] * 2),
                                    ("ZSTD_isError", ctypes.c_uint, [ctypes.c_size_t])):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments

    def decompress(data):
        size = lib.ZSTD_getFrameContentSize(data, len(data))
        if size > RAW_BYTES_MAX: # the two error values are the greatest numbers
            raise Corrupt("no zstd frame of a stated size")
        out = ctypes.create_string_buffer(max(size, 1))
        got = lib.ZSTD_decompress(out, size, data, len(data))
        if lib.ZSTD_isError(got) or got != size:
            raise Corrupt("zstd refuses the frame")
        return out.raw[:size]

    return decompress


# ---------------------------------------------------------------------------------------------------- payloads

class Payload:
    def __init__(self, data):
        self.data, self.at = data, 0

    def varint(self):
        value = 0
        for shift in range(0, 70, 7):
            if self.at >= len(self.data):
                raise Corrupt("a payload is too short")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7f) << shift
            if byte < 0x80:
                if value > M64:
                    break
                return value
        raise Corrupt("a varint is too long")

    def signed(self):
        z = self.varint()
        return z >> 1 if z & 1 == 0 else -(z >> 1) - 1

    def numbers(self, count, width):
        end = self.at + count * width
        if end > len(self.data):
            raise Corrupt("a payload is too short")
        chunk = self.data[self.at:end]
        self.at = end
        return struct.unpack("<%d%s" % (count, {1: "B", 2: "H", 4: "I", 8: "Q"}[width]), chunk)

    def end(self):
        if self.at != len(self.data):
            raise Corrupt("a payload is too long")


def wrap(value, signed):
    value &= M64
    return value - (1 << 64) if signed and value >> 63 else value


def decode(payload, codec, rows, type_number, peers):
    """The values of one column. peers: the columns that SPAN and SUM need, by name."""
    _, width, signed = TYPES[type_number]
    values = []
    if codec == RAW:
        values = payload.numbers(rows, width)
        if signed:
            values = [v - (1 << 8 * width) if v >> (8 * width - 1) else v for v in values]
    elif codec == DELTA:
        value = 0
        for _ in range(rows):
            value += payload.signed()
            values.append(value)
    elif codec == DICT:
        count, value, words = payload.varint(), 0, []
        if not 1 <= count <= rows:
            raise Corrupt("a dictionary of %d for %d rows" % (count, rows))
        for _ in range(count):
            value += payload.signed()
            words.append(value)
        for index in payload.numbers(rows, 1 if count <= 256 else 2 if count <= 65536 else 4):
            if index >= count:
                raise Corrupt("an index beyond its dictionary")
            values.append(words[index])
    elif codec == RLE:
        value = 0
        while len(values) < rows:
            value += payload.signed()
            length = payload.varint()
            if not 1 <= length <= rows - len(values):
                raise Corrupt("a run of %d rows" % length)
            values += [value] * length
    elif codec == SPAN:
        values = [peers["first"][row] - payload.signed() for row in range(rows)]
    elif codec == SUM:
        totals = {}
        for row in range(rows):
            key = peers["device_type"][row], peers["device"][row]
            totals[key] = totals.get(key, 0) + peers["size_bytes"][row] + payload.signed()
            if len(totals) > 64:
                raise Corrupt("running totals of more than 64 devices")
            values.append(totals[key])
    payload.end()
    values = [wrap(v, signed) for v in values]
    low, high = (-1 << 8 * width - 1, 1 << 8 * width - 1) if signed else (0, 1 << 8 * width)
    if min(values) < low or max(values) >= high:
        raise Corrupt("a value does not fit its type")
    return values


def decode_chunk(raw, kind, events, names):
    """{column name: values} of a decompressed chunk; names: {column id: name}. Also how many columns were skipped."""
    if len(raw) < 16:
        raise Corrupt("too short")
    magic, event, rows, ncols = struct.unpack_from("<4sIII", raw)
    if magic != b"VTC1" or event != kind or rows != events or not 1 <= rows <= ROWS_MAX or not 1 <= ncols <= 1024:
        raise Corrupt("header: %r, event %d, %d rows, %d columns" % (magic, event, rows, ncols))
    at, entries, skipped = 16 + 12 * ncols, {}, 0
    if at > len(raw):
        raise Corrupt("too short")
    for i in range(ncols):
        column, type_number, codec, size, reserved = struct.unpack_from("<HBBII", raw, 16 + 12 * i)
        if at + size > len(raw) or column in entries or reserved:
            raise Corrupt("column %d" % column)
        if column in names and type_number in TYPES and codec <= SUM:
            entries[column] = (codec, type_number, Payload(raw[at:at + size]))
        else:
            skipped += 1
        at += size
    if at != len(raw) or 1 not in entries:
        raise Corrupt("bytes behind the last column, or no column 1")
    columns = {}
    zeros = [0] * rows
    for column, (codec, type_number, payload) in sorted(entries.items(), key=lambda e: e[1][0] in (SPAN, SUM)):
        peers = {name: columns.get(name, zeros) for name in ("size_bytes", "device", "device_type")}
        peers["first"] = columns.get(names[1])
        columns[names[column]] = decode(payload, codec, rows, type_number, peers)
    return columns, skipped


# ---------------------------------------------------------------------------------------------------- the file

class Trace:
    def __init__(self, path):
        quoted = re.sub("[%?#]", lambda m: "%%%02x" % ord(m.group()), path)
        self.db = sqlite3.connect("file:%s?mode=ro" % quoted, uri=True)
        self.db.execute("PRAGMA trusted_schema=OFF")
        self.db.text_factory = bytes
        self.decompress = load_zstd()
        if self.db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise Corrupt("not a vramtrace file")
        flags = self.db.execute("SELECT value FROM meta WHERE key = 'incompatible_flags'").fetchone()
        if flags and flags[0]:
            raise Corrupt("needs a reader that knows: " + flags[0].decode())
        self.classes = {}
        self.events = {}  # id: (name, {column id: (name, type name)})
        for number, name, kind in self.db.execute("SELECT id, name, class FROM schema_event"):
            self.events[number] = (name.decode(), {})
            self.classes[number] = kind.decode()
        for event, number, name, kind in self.db.execute("SELECT event, id, name, type FROM schema_column ORDER BY id"):
            self.events[event][1][number] = (name.decode(), kind.decode())

    def chunk_events(self):
        """(time, chunk's place, row, process, event name, columns of the row), ordered by time."""
        query = "SELECT id, process, kind, first_ns, events, raw_bytes, checksum FROM chunk ORDER BY first_ns, id"

        def rows(place, number, process, kind, events, raw_bytes, checksum):
            data = self.db.execute("SELECT data FROM chunk WHERE id = ?", (number,)).fetchone()[0]
            if zlib.crc32(data) != checksum:
                raise Corrupt("chunk %d: checksum" % number)
            raw = self.decompress(data)
            if len(raw) != raw_bytes:
                raise Corrupt("chunk %d: raw_bytes" % number)
            name, columns = self.events[kind]
            values, _ = decode_chunk(raw, kind, events, {i: c[0] for i, c in columns.items()})
            order = [c[0] for c in columns.values()]
            lists = [values.get(c, [0] * events) for c in order]
            for row, items in enumerate(zip(*lists)):
                yield values[columns[1][0]][row], place, row, process, name, dict(zip(order, items))

        sources = []
        for place, (number, process, kind, _, events, raw_bytes, checksum) in enumerate(self.db.execute(query).fetchall()):
            if kind in self.events:
                sources.append(rows(place, number, process, kind, events, raw_bytes, checksum))
            else:
                print("read_trace: chunk %d skipped: event %d is not described" % (number, kind), file=sys.stderr)
        return heapq.merge(*sources, key=lambda e: e[:3])

    def table_rows(self, event):
        name, columns = self.events[event]
        wanted = [c[0] for c in columns.values()]
        blob = self.classes[event] == "BLOB"
        present = [c[1].decode() for c in self.db.execute("PRAGMA table_info(\"%s\")" % name)]
        for row in self.db.execute("SELECT * FROM \"%s\"" % name):
            got = dict(zip(present, row))
            out = {"event": name, "process": got["process"]}
            for column, kind in columns.values():
                out[column] = wrap(got.get(column, 0), TYPES_BY_NAME.get(kind, (8, True))[1])
            if blob:
                if out["size_bytes"] != len(got["bytes"]):
                    raise Corrupt("%s %d: size" % (name, out[wanted[0]]))
                out["bytes"] = got["bytes"].decode("utf-8", "replace")
            yield out

    def print(self, out):
        for event, kind in sorted(self.classes.items()):
            if kind != "CHUNK":
                for row in self.table_rows(event):
                    out.write(json.dumps(row) + "\n")
        for _, _, _, process, name, columns in self.chunk_events():
            out.write(json.dumps({"event": name, "process": process, **columns}) + "\n")


def check_document(path):
    """Decodes the example chunk of the document by the document's own table of columns."""
    text = open(path, encoding="utf-8").read()
    dump, events = re.search(r"<!-- example: chunk -->\n+```\n(.*?)```.*?<!-- example: events -->\n+```json\n(.*?)```", text,
                             re.S).groups()
    raw = bytes.fromhex("".join(line.split("|")[0] for line in dump.splitlines()))
    kind, rows = struct.unpack_from("<II", raw, 4)
    table = re.search(r"\n### %d `.*?\n\n.*?\n\n.*?\n.*?\n(.*?)\n\n" % kind, text, re.S).group(1)
    names = {int(c.split("|")[1]): c.split("|")[2].strip(" `") for c in table.splitlines()}
    columns, skipped = decode_chunk(raw, kind, rows, names)
    got = [dict(zip(columns, row)) for row in zip(*columns.values())]
    wanted = [json.loads(line) for line in events.splitlines()]
    if got != wanted or skipped:
        sys.exit("the example decodes to\n" + "\n".join(map(json.dumps, got)))


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--document":
        check_document(sys.argv[2])
    elif len(sys.argv) == 2:
        try:
            Trace(sys.argv[1]).print(sys.stdout)
        except (Corrupt, sqlite3.Error, KeyError) as problem:
            sys.exit("read_trace: %s: %s" % (sys.argv[1], problem))
    else:
        sys.exit(__doc__)
