"""Object storage for tests: moto's server on loopback, which counts requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from urllib.parse import parse_qs
from uuid import uuid4


class Server:
    """Serves buckets until the end of the block.

    ``requests`` lists all requests as (method, key, whether it lists); ``sent`` counts the bytes of the answers by key;
    ``fails`` maps a method to the HTTP status that it is answered with.
    """

    def __enter__(self) -> Server:
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import WSGIRequestHandler, make_server

        class Silent(WSGIRequestHandler):
            def log_request(self, code="-", size="-"):
                pass

        self._app = DomainDispatcherApplication(create_backend_app)
        self._http = make_server("127.0.0.1", 0, self._answer, threaded=True, request_handler=Silent)
        self._thread = Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()
        self.environment = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._http.server_port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "someone",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }
        self.requests: list[tuple[str, str, bool]] = []
        self.sent: Counter[str] = Counter()
        self.fails: dict[str, tuple[str, str]] = {}
        return self

    def __exit__(self, *error: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def _answer(self, environ, respond):
        method, key = environ["REQUEST_METHOD"], environ["PATH_INFO"].lstrip("/").partition("/")[2]
        lists = method == "GET" and "list-type" in parse_qs(environ["QUERY_STRING"])
        self.requests.append((method, key, lists))
        if method in self.fails:
            status, code = self.fails[method]
            respond(status, [("Content-Type", "application/xml")])
            return [f"<Error><Code>{code}</Code><Message>as the test wants it</Message></Error>".encode()]
        answer = b"".join(self._app(environ, respond))
        self.sent[key] += len(answer)
        return [answer]

    def empty(self) -> None:
        """Make a new bucket, and let no method fail."""
        import urllib.request

        self.fails.clear()
        self.bucket = f"b{uuid4().hex}"
        address = f"{self.environment['AWS_ENDPOINT_URL']}/{self.bucket}"
        with urllib.request.urlopen(urllib.request.Request(address, method="PUT")):
            self.requests.clear()

    @property
    def url(self) -> str:
        """A URL for a store."""
        return f"s3://{self.bucket}/study/k.zarr"

    @property
    def objects(self):
        """The bucket, accessed without distkern."""
        from obstore.store import S3Store

        return S3Store(self.bucket, config=dict(self.environment))

    def files(self, below: str = "") -> dict[str, bytes]:
        """All objects below a prefix."""
        import obstore

        found = obstore.list(self.objects, below or None).collect()
        return {one["path"]: bytes(obstore.get(self.objects, one["path"]).bytes()) for one in found}

    @contextmanager
    def counting(self) -> Iterator[list[tuple[str, str, bool]]]:
        """Count the requests of a block."""
        self.requests.clear()
        counted: list[tuple[str, str, bool]] = []
        yield counted
        counted += self.requests
