"""The transport: one call with its retries, its idempotency key and its errors."""

from __future__ import annotations

import json
import os
import random
import sys
import time
import uuid
from datetime import date, datetime, timezone
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Generic, Iterator, Mapping, NamedTuple, TypedDict, TypeVar
from urllib.parse import quote as _quote

from ._errors import NetworkError, RequestTimeoutError, WaybillError, error_of
from ._model import Model

if TYPE_CHECKING:
    import httpx

VERSION = "1.0.0"

# Where "waybill dev" listens.
DEFAULT_URL = "http://127.0.0.1:8080"

T = TypeVar("T")
M = TypeVar("M", bound=Model)


class ResponseInfo(NamedTuple):
    """What a response says besides its body."""

    status: int
    headers: Mapping[str, str]
    request_id: str | None
    """Identifier of the request in the service's log."""
    replayed: bool
    """True if it is the response of an earlier call with the same idempotency key."""
    attempts: int
    """How many attempts it took."""


class CallOptions(TypedDict, total=False):
    """Keyword arguments of every method."""

    idempotency_key: str
    """Makes a call that has an effect safe to repeat, also by another process or after a crash: the
    response of the first call is returned, and nothing is done again. Without it each call makes a key
    of its own, which covers the retries of that call.
    """
    timeout: float
    """Time for one attempt, in seconds. The blocking client checks it after each part of the response:
    httpx limits connecting, sending and each read alone.
    """
    max_attempts: int
    headers: Mapping[str, str]
    """Further headers."""
    on_response: Callable[[ResponseInfo], None]
    """Is called with the response that the call returns or raises for."""


class FileBody(NamedTuple):
    """A file to send."""

    data: bytes
    content_type: str


class Call:
    """One operation, over all its attempts."""

    __slots__ = ("body", "file", "keyed", "method", "path", "query")

    def __init__(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        file: FileBody | None = None,
        keyed: bool = False,
    ) -> None:
        self.method = method
        self.path = path
        self.query = query or {}
        self.body = body
        self.file = file
        self.keyed = keyed

    def with_query(self, name: str, value: str) -> Call:
        return Call(self.method, self.path, query={**self.query, name: value}, body=self.body, keyed=self.keyed)


class Page(Generic[T]):
    """One page of a list."""

    def __init__(self, data: list[T], next_cursor: str | None) -> None:
        self.data = data
        self.next_cursor = next_cursor
        """Continues behind the page; None on the last one."""


def quote(value: str | int) -> str:
    """Writes a parameter into a path."""
    return _quote(str(value), safe="")


def _text(value: Any) -> str:
    """Writes a value into a query or a body."""
    if isinstance(value, datetime):
        # A time without a zone is taken for local time, as Python itself does.
        return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(_text(element) for element in value)
    return str(value)


def _default(value: Any) -> Any:
    if isinstance(value, (date, datetime)):
        return _text(value)
    if isinstance(value, Model):
        return value.raw
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be sent as JSON")


class _Request:
    """What every attempt of a call sends."""

    def __init__(self, core: _Base, call: Call, options: CallOptions) -> None:
        self.call = call
        self.options = options
        self.method = call.method
        self.url = core.url + call.path
        self.params = {
            name: _text(value)
            for name, value in call.query.items()
            if value is not None and not (isinstance(value, (list, tuple)) and not value)
        }
        self.timeout = options.get("timeout", core._timeout)
        self.max_attempts = options.get("max_attempts", core._max_attempts)

        # Names that differ in case only would be sent as two headers.
        given = {name.lower(): value for name, value in options.get("headers", {}).items()}

        self.idempotency_key = options.get("idempotency_key", given.get("idempotency-key"))
        if self.idempotency_key is None and call.keyed:
            self.idempotency_key = f"auto-{uuid.uuid4()}"

        self.headers = {
            **given,
            "authorization": f"Bearer {core._key}",
            "user-agent": core._user_agent,
        }
        if self.idempotency_key is not None:
            self.headers["idempotency-key"] = self.idempotency_key

        self.content: bytes | None = None
        if call.file is not None:
            self.headers["content-type"] = call.file.content_type
            self.content = call.file.data
        elif call.body is not None:
            self.headers["content-type"] = "application/json"
            self.content = json.dumps(call.body, default=_default, separators=(",", ":"), ensure_ascii=False).encode()

    def error(self, response: httpx.Response, content: bytes) -> WaybillError | None:
        """The error that a response is; None if it is none."""
        return None if response.is_success else error_of(response.status_code, response.headers, content)

    def report(self, response: httpx.Response | None, attempt: int) -> None:
        """Reports the response that ends the call. An attempt that got none has none to report."""
        listener = self.options.get("on_response")
        if listener is not None and response is not None:
            listener(
                ResponseInfo(
                    status=response.status_code,
                    headers=response.headers,
                    request_id=response.headers.get("request-id"),
                    replayed=response.headers.get("idempotent-replayed") == "true",
                    attempts=attempt,
                )
            )

    def timed_out(self) -> RequestTimeoutError:
        return RequestTimeoutError(f"{self.method} {self.call.path} took longer than {self.timeout:g} s")

    def lost(self, cause: httpx.HTTPError) -> WaybillError:
        """The error of an attempt that got no complete response."""
        import httpx

        what = f"{self.method} {self.call.path}"
        if isinstance(cause, httpx.TimeoutException):
            return self.timed_out()
        if isinstance(cause, httpx.DecodingError):
            return NetworkError(f"{what} got a response that cannot be decompressed: {cause}")
        if isinstance(cause, httpx.TransportError) and not isinstance(cause, httpx.UnsupportedProtocol):
            return NetworkError(f"{what} got no complete response: {cause}")
        return WaybillError(f"{what} cannot be sent: {cause}")


# A file of many labels is prepared in the background. It is asked for until it is there, a quarter
# of an hour at the pace that the service asks for.
MAX_PREPARING = 450


class _Base:
    """The settings of a client, and the rules that do not depend on how it waits."""

    def __init__(
        self,
        key: str | None,
        url: str | None,
        timeout: float,
        max_attempts: int,
        max_wait: float,
        user_agent: str,
    ) -> None:
        key = key or os.environ.get("WAYBILL_KEY")
        if not key:
            raise WaybillError('an API key is required: Waybill(key="sk_test_..."), or set WAYBILL_KEY')

        self._key = key
        self.url = (url or os.environ.get("WAYBILL_URL") or DEFAULT_URL).rstrip("/")
        self._timeout = timeout
        self._max_attempts = max_attempts
        self._max_wait = max_wait
        python = ".".join(str(part) for part in sys.version_info[:3])
        self._user_agent = f"{user_agent} waybill-python/{VERSION} (python/{python})".strip()

    def _wait_after(self, request: _Request, error: WaybillError, attempt: int) -> float | None:
        """How long to wait before the next attempt, in seconds; None if another attempt cannot help."""
        error.attempts = attempt
        error.idempotency_key = request.idempotency_key
        is_preparing = getattr(error, "code", "") == "labels_preparing"
        limit = request.max_attempts
        if is_preparing and limit > 1:
            limit = max(limit, MAX_PREPARING)
        if attempt >= limit or not error.is_temporary:
            return None

        # The random part spreads out clients that failed together.
        shortest = 0.0 if is_preparing else 0.1 * 2 ** min(attempt - 1, 10)
        wait = min(shortest * (1 + random.random()), self._max_wait)

        # A request that comes before the time that the service asks for would fail again, and only
        # add to its load.
        asked = error.retry_after or 0.0
        return None if asked > self._max_wait else max(wait, asked)

    @staticmethod
    def _parse(call: Call, content: bytes) -> Any:
        try:
            return json.loads(content)
        except ValueError as error:
            raise WaybillError(f"the response to {call.method} {call.path} is not JSON") from error


class Core(_Base):
    """Makes calls, and blocks until they are done."""

    def __init__(self, client: httpx.Client | None, **settings: Any) -> None:
        super().__init__(**settings)
        self._own = client is None
        self._client = client

    @property
    def client(self) -> httpx.Client:
        # httpx takes most of the time to import, and is needed for the first call only.
        if self._client is None:
            import httpx

            self._client = httpx.Client()
        return self._client

    def close(self) -> None:
        if self._own and self._client is not None:
            self._client.close()

    def send(self, call: Call, options: CallOptions) -> bytes:
        """Sends the request until there is a final answer.

        Every attempt is the same request, idempotency key included: what an attempt has done without
        its answer reaching us is not done again.
        """
        import httpx

        request = _Request(self, call, options)
        attempt = 0
        while True:
            attempt += 1
            response = None
            try:
                try:
                    response, content = self._attempt(request)
                except (httpx.HTTPError, httpx.InvalidURL) as cause:
                    raise request.lost(cause) from cause  # type: ignore[arg-type]
                error = request.error(response, content)
                if error is not None:
                    raise error
            except WaybillError as failed:
                wait = self._wait_after(request, failed, attempt)
                if wait is None:
                    request.report(response, attempt)
                    raise
            else:
                request.report(response, attempt)
                return content
            time.sleep(wait)

    def _attempt(self, request: _Request) -> tuple[httpx.Response, bytes]:
        """Sends the request once, and reads its response."""
        end = time.monotonic() + request.timeout
        chunks = []
        with self.client.stream(
            request.method,
            request.url,
            params=request.params or None,
            headers=request.headers,
            content=request.content,
            timeout=request.timeout,
            follow_redirects=False,  # a redirected POST would become a GET
        ) as response:
            # httpx bounds each read by the timeout, and not all of them together.
            for chunk in response.iter_bytes():
                chunks.append(chunk)
                if time.monotonic() > end:
                    raise request.timed_out()
        return response, b"".join(chunks)

    def json(self, call: Call, options: CallOptions) -> Any:
        return self._parse(call, self.send(call, options))

    def model(self, call: Call, options: CallOptions, model: type[M]) -> M:
        return model(self.json(call, options))

    def file(self, call: Call, options: CallOptions) -> bytes:
        return self.send(call, options)

    def empty(self, call: Call, options: CallOptions) -> None:
        self.send(call, options)


class AsyncCore(_Base):
    """Makes calls in an event loop of asyncio or trio."""

    def __init__(self, client: httpx.AsyncClient | None, **settings: Any) -> None:
        super().__init__(**settings)
        self._own = client is None
        self._client = client

    @property
    def client(self) -> httpx.AsyncClient:
        if self._client is None:
            import httpx

            self._client = httpx.AsyncClient()
        return self._client

    async def close(self) -> None:
        if self._own and self._client is not None:
            await self._client.aclose()

    async def send(self, call: Call, options: CallOptions) -> bytes:
        """Sends the request until there is a final answer; see Core.send."""
        import anyio  # a dependency of httpx
        import httpx

        request = _Request(self, call, options)
        attempt = 0
        while True:
            attempt += 1
            response = None
            try:
                try:
                    # httpx bounds each phase by the timeout, and not all of them together.
                    with anyio.fail_after(request.timeout):
                        response = await self.client.request(
                            request.method,
                            request.url,
                            params=request.params or None,
                            headers=request.headers,
                            content=request.content,
                            timeout=request.timeout,
                            follow_redirects=False,  # a redirected POST would become a GET
                        )
                except TimeoutError as cause:
                    raise request.timed_out() from cause
                except (httpx.HTTPError, httpx.InvalidURL) as cause:
                    raise request.lost(cause) from cause  # type: ignore[arg-type]
                error = request.error(response, response.content)
                if error is not None:
                    raise error
            except WaybillError as failed:
                wait = self._wait_after(request, failed, attempt)
                if wait is None:
                    request.report(response, attempt)
                    raise
            else:
                request.report(response, attempt)
                return response.content
            await sleep(wait)

    async def json(self, call: Call, options: CallOptions) -> Any:
        return self._parse(call, await self.send(call, options))

    async def model(self, call: Call, options: CallOptions, model: type[M]) -> M:
        return model(await self.json(call, options))

    async def file(self, call: Call, options: CallOptions) -> bytes:
        return await self.send(call, options)

    async def empty(self, call: Call, options: CallOptions) -> None:
        await self.send(call, options)


async def sleep(seconds: float) -> None:
    """Waits in whichever event loop runs."""
    import anyio  # a dependency of httpx

    await anyio.sleep(seconds)


class _PagesBase(Generic[T]):
    def __init__(
        self,
        core: Any,
        call: Call,
        options: CallOptions,
        model: Callable[[Any], T],
        cursor: str,
        items: str,
    ) -> None:
        self._core = core
        self._call = call
        self._options = options
        self._model = model
        self._cursor = cursor
        self._items = items

    def _at(self, cursor: str | None) -> Call:
        return self._call if cursor is None else self._call.with_query(self._cursor, cursor)

    def _read(self, answer: Any) -> Page[T]:
        data = [self._model(element) for element in answer.get(self._items) or []]
        return Page(data, answer.get("nextCursor"))

    def _ends(self, page: Page[T]) -> bool:
        # A log always has a cursor to continue with; it ends with an empty page.
        is_log = self._cursor == "after"
        return page.next_cursor is None or not self._cursor or (is_log and not page.data)


class Pages(_PagesBase[T]):
    """A list. Iterate over it to get every element, page by page, or call page() for one page."""

    def page(self, cursor: str | None = None) -> Page[T]:
        """Fetches one page: that of the parameters, or the one at the cursor."""
        return self._read(self._core.json(self._at(cursor), self._options))

    def __iter__(self) -> Iterator[T]:
        cursor = None
        while True:
            page = self.page(cursor)
            yield from page.data
            if self._ends(page):
                return
            cursor = page.next_cursor


class AsyncPages(_PagesBase[T]):
    """A list. Iterate over it with "async for", or await page() for one page."""

    async def page(self, cursor: str | None = None) -> Page[T]:
        """Fetches one page: that of the parameters, or the one at the cursor."""
        return self._read(await self._core.json(self._at(cursor), self._options))

    async def __aiter__(self) -> AsyncIterator[T]:
        cursor = None
        while True:
            page = await self.page(cursor)
            for element in page.data:
                yield element
            if self._ends(page):
                return
            cursor = page.next_cursor


__all__ = ["AsyncCore", "AsyncPages", "Call", "CallOptions", "Core", "FileBody", "Page", "Pages", "ResponseInfo"]
