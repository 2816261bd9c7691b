"""The two clients, with what is more than one call."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, AsyncIterator, Iterator, Sequence

from . import _aresources as asynchronous
from . import _resources as blocking
from ._core import AsyncCore, Call, Core, sleep
from ._webhook import verify_webhook

if TYPE_CHECKING:
    from types import TracebackType

    import httpx
    from typing_extensions import Self, Unpack

    from . import inputs as i
    from . import models as m
    from ._core import CallOptions


class Shipments(blocking.ShipmentsResource):
    def create_and_wait(
        self, body: i.ShipmentInput, *, wait: float = 120, every: float = 1, **options: Unpack[CallOptions]
    ) -> m.Shipment:
        """Creates a shipment and waits until its label is there or has failed.

        A carrier that does not answer within 20 seconds leaves the purchase pending; this asks for the
        outcome until wait seconds have passed, and then returns the shipment as it is.
        """
        end = time.monotonic() + wait
        shipment = self.create(body, **options)
        while shipment.label_status == "pending" and time.monotonic() < end:
            time.sleep(every)
            shipment = self.get(shipment.id)
        return shipment


class AsyncShipments(asynchronous.AsyncShipmentsResource):
    async def create_and_wait(
        self, body: i.ShipmentInput, *, wait: float = 120, every: float = 1, **options: Unpack[CallOptions]
    ) -> m.Shipment:
        """Creates a shipment and waits until its label is there or has failed; see Shipments."""
        end = time.monotonic() + wait
        shipment = await self.create(body, **options)
        while shipment.label_status == "pending" and time.monotonic() < end:
            await sleep(every)
            shipment = await self.get(shipment.id)
        return shipment


class Events(blocking.EventsResource):
    def follow(
        self, *, after: str | None = None, types: Sequence[i.EventType] | None = None, every: float = 1
    ) -> Iterator[tuple[m.Event, str | None]]:
        """Iterates over the log, and at its end waits for new events: it asks again after every seconds.

        It returns each event with the cursor to continue from: a reader that starts there may see a few
        events again, and misses none.
        """
        while True:
            page = self.list(after=after, types=types).page()
            following = page.next_cursor or after
            for event in page.data:
                # The service gives a cursor for the whole page: an event within it continues at the page's beginning.
                yield event, following if event is page.data[-1] else after
            after = following
            if not page.data:
                time.sleep(every)


class AsyncEvents(asynchronous.AsyncEventsResource):
    async def follow(
        self, *, after: str | None = None, types: Sequence[i.EventType] | None = None, every: float = 1
    ) -> AsyncIterator[tuple[m.Event, str | None]]:
        """Iterates over the log, and at its end waits for new events; see Events."""
        while True:
            page = await self.list(after=after, types=types).page()
            following = page.next_cursor or after
            for event in page.data:
                # The service gives a cursor for the whole page: an event within it continues at the page's beginning.
                yield event, following if event is page.data[-1] else after
            after = following
            if not page.data:
                await sleep(every)


class Webhooks(blocking.WebhooksResource):
    verify = staticmethod(verify_webhook)


class AsyncWebhooks(asynchronous.AsyncWebhooksResource):
    verify = staticmethod(verify_webhook)


class Waybill(blocking.Resources):
    """Calls the service with one API key. It is safe for use by several threads.

    key is by default the environment variable WAYBILL_KEY, and url is WAYBILL_URL, or
    http://127.0.0.1:8080. timeout is the time for one attempt, max_attempts counts the first one too, and
    if the service asks to wait longer than max_wait, the call fails at once. Times are in seconds.
    """

    shipments: Shipments
    events: Events
    webhooks: Webhooks

    def __init__(
        self,
        key: str | None = None,
        *,
        url: str | None = None,
        timeout: float = 40,
        max_attempts: int = 4,
        max_wait: float = 30,
        user_agent: str = "",
        http_client: httpx.Client | None = None,
    ) -> None:
        core = Core(
            http_client,
            key=key,
            url=url,
            timeout=timeout,
            max_attempts=max_attempts,
            max_wait=max_wait,
            user_agent=user_agent,
        )
        super().__init__(core)
        self.shipments = Shipments(core)
        self.events = Events(core)
        self.webhooks = Webhooks(core)

    @property
    def url(self) -> str:
        """Address of the service."""
        return self._core.url

    def request(self, method: str, path: str, body: Any = None, **options: Unpack[CallOptions]) -> Any:
        """Makes any request of the API, such as request("GET", "/v1/events?limit=5")."""
        return self._core.json(Call(method, path, body=body, keyed=method == "POST"), options)

    def close(self) -> None:
        """Closes connections, unless the http_client is yours."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncWaybill(asynchronous.AsyncResources):
    """Calls the service with one API key, in an event loop; see Waybill."""

    shipments: AsyncShipments
    events: AsyncEvents
    webhooks: AsyncWebhooks

    def __init__(
        self,
        key: str | None = None,
        *,
        url: str | None = None,
        timeout: float = 40,
        max_attempts: int = 4,
        max_wait: float = 30,
        user_agent: str = "",
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        core = AsyncCore(
            http_client,
            key=key,
            url=url,
            timeout=timeout,
            max_attempts=max_attempts,
            max_wait=max_wait,
            user_agent=user_agent,
        )
        super().__init__(core)
        self.shipments = AsyncShipments(core)
        self.events = AsyncEvents(core)
        self.webhooks = AsyncWebhooks(core)

    @property
    def url(self) -> str:
        """Address of the service."""
        return self._core.url

    async def request(self, method: str, path: str, body: Any = None, **options: Unpack[CallOptions]) -> Any:
        """Makes any request of the API, such as request("GET", "/v1/events?limit=5")."""
        return await self._core.json(Call(method, path, body=body, keyed=method == "POST"), options)

    async def close(self) -> None:
        """Closes connections, unless the http_client is yours."""
        await self._core.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
