"""Makes the calls of scenarios with waybill-sdk: one order a line on standard input, one outcome a line on
standard output. With the argument "async" it uses the asynchronous client."""

import asyncio
import itertools
import json
import re
import sys

import waybill
from waybill.models import Model


def snake(name):
    return re.sub(r"[A-Z]", lambda found: "_" + found.group().lower(), name)


def settings(order):
    client = dict(order.get("client") or {})
    out = {"url": order["url"], "key": order["key"]}
    if "maxAttempts" in client:
        out["max_attempts"] = client["maxAttempts"]
    if "timeoutMs" in client:
        out["timeout"] = client["timeoutMs"] / 1000
    return out


def keywords(order, seen):
    out = {snake(name): value for name, value in (order.get("params") or {}).items()}
    options = order.get("options") or {}
    if "idempotencyKey" in options:
        out["idempotency_key"] = options["idempotencyKey"]
    if "timeoutMs" in options:
        out["timeout"] = options["timeoutMs"] / 1000
    if "everyMs" in options:
        out["every"] = options["everyMs"] / 1000
    if "headers" in options:
        out["headers"] = options["headers"]
    if not order["call"].endswith(".follow"):
        out["on_response"] = seen.append
    return out


def followed(pair):
    event, cursor = pair
    return {"id": event.id, "cursor": cursor}


def plain(value):
    """Writes a model back as JSON, by its attributes: a wrong attribute shows."""
    if isinstance(value, Model):
        return {name: plain(getattr(value, attribute)) for name, (attribute, _) in value._fields.items()}
    if isinstance(value, waybill.Page):
        return {"data": plain(value.data), "nextCursor": value.next_cursor}
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    if isinstance(value, dict):
        return {name: plain(element) for name, element in value.items()}
    if isinstance(value, bytes):
        return {"bytes": value[:8].decode("latin-1")}
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value


def describe(error):
    out = {"class": type(error).__name__, "message": str(error)}
    for name in ("status", "code", "detail", "requestId", "source", "carrier", "carrierCode", "reason", "attempts"):
        out[name] = getattr(error, snake(name), None)
    if getattr(error, "retry_after", None) is not None:
        out["retryAfterMs"] = round(error.retry_after * 1000)
    if isinstance(error, waybill.APIError):
        out["pointers"] = [field.pointer for field in error.errors]
    return out


def info(seen):
    return {"replayed": seen[-1].replayed, "attempts": seen[-1].attempts} if seen else None


def report(result, seen):
    return {"result": plain(result), "info": info(seen)}


def run(order, seen):
    with waybill.Waybill(**settings(order)) as client:
        resource, method = order["call"].split(".")
        target = getattr(getattr(client, snake(resource)), snake(method))
        if method == "verify":
            return report(target(*order["args"]), seen)

        result = target(*order["args"], **keywords(order, seen))
        if isinstance(result, waybill.Pages):
            result = result.page() if order.get("page") else list(result)
        elif method == "follow":
            result = [followed(pair) for pair in itertools.islice(result, order["options"]["take"])]
        return report(result, seen)


async def run_async(order, seen):
    async with waybill.AsyncWaybill(**settings(order)) as client:
        resource, method = order["call"].split(".")
        target = getattr(getattr(client, snake(resource)), snake(method))
        if method == "verify":
            return report(target(*order["args"]), seen)

        result = target(*order["args"], **keywords(order, seen))
        if isinstance(result, waybill.AsyncPages):
            result = await result.page() if order.get("page") else [element async for element in result]
        elif method == "follow":
            result = [followed(await anext(result)) for _ in range(order["options"]["take"])]
        else:
            result = await result
        return report(result, seen)


for line in sys.stdin:
    seen = []
    try:
        order = json.loads(line)
        outcome = asyncio.run(run_async(order, seen)) if sys.argv[1:] == ["async"] else run(order, seen)
    except waybill.WaybillError as error:
        outcome = {"error": describe(error), "info": info(seen)}
    print(json.dumps(outcome), flush=True)
