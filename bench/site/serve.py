"""Serves a built site on this machine."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench.errors import SiteError
from bench.site.output import check_built


class _Handler(SimpleHTTPRequestHandler):
    """Serves files without caching and without logging."""

    protocol_version = "HTTP/1.1"

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def site_server(output: Path, port: int = 8000, host: str = "127.0.0.1") -> ThreadingHTTPServer:
    """A server for a built site, not yet started. Port 0: any free port. Raises SiteError."""
    check_built(output)
    handler = partial(_Handler, directory=str(output))
    try:
        return ThreadingHTTPServer((host, port), handler)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SiteError(
            f"cannot use port {port}: {reason}", hint="Choose another with --port; 0 means any free port."
        ) from None


def serve_site(output: Path, port: int = 8000, host: str = "127.0.0.1") -> None:
    """Serve a built site until interrupted."""
    with site_server(output, port, host) as server:
        print(f"Serving {output} at http://{host}:{server.server_address[1]}/ (Ctrl-C stops it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
