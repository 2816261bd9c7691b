"""Everything that this library raises."""

from __future__ import annotations

import json
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Mapping

if TYPE_CHECKING:
    from .models import FieldProblem


class WaybillError(Exception):
    """The base of everything that this library raises."""

    attempts: int = 0
    """How many attempts were made."""
    idempotency_key: str | None = None
    """The key of the call: repeat the call with it to learn what became of it."""
    retry_after: float | None = None
    """How long the service asks to wait, in seconds."""

    @property
    def is_temporary(self) -> bool:
        """Whether the same call may succeed later. The client has already retried it."""
        return False


class NetworkError(WaybillError):
    """No complete response arrived.

    A call with an effect may have been carried out: repeat it with the same idempotency_key.
    """

    @property
    def is_temporary(self) -> bool:
        return True


class RequestTimeoutError(NetworkError):
    """No response arrived in time."""


class APIError(WaybillError):
    """The service answered with an error. Decide by code."""

    status: int
    """HTTP status."""
    code: str
    """Stable code, such as validation_failed; http_502 if the response is not from the service."""
    detail: str
    """What happened, and what to do next."""
    request_id: str | None
    source: str | None
    """Where the error must be fixed: client, service or carrier."""
    retryable: bool
    """Whether the service says that the same request may succeed later."""
    carrier: str | None
    carrier_code: str | None
    carrier_message: str | None
    errors: list[FieldProblem]
    """What is wrong with the request, field by field."""
    headers: Mapping[str, str]
    body: Any
    """The body as it was received, with members that are not above."""

    def __init__(self, status: int, headers: Mapping[str, str], body: Any) -> None:
        from .models import FieldProblem

        problem: dict[str, Any] = body if isinstance(body, dict) else {}
        self.status = status
        self.code = problem.get("code") or f"http_{status}"
        self.detail = problem.get("detail") or _redirect_detail(status, headers)
        self.request_id = problem.get("requestId") or headers.get("request-id")
        self.source = problem.get("source")
        self.retryable = bool(problem.get("retryable"))
        self.carrier = problem.get("carrier")
        self.carrier_code = problem.get("carrierCode")
        self.carrier_message = problem.get("carrierMessage")
        self.errors = [FieldProblem(field) for field in problem.get("errors") or []]
        self.headers = headers
        self.body = body
        self.retry_after = _retry_after(headers)

        message = f"{status} {self.code}"
        if self.detail:
            message += f": {self.detail}"
        if self.errors:
            message += "; " + ", ".join(f"{e.pointer or e.parameter or ''} {e.detail}" for e in self.errors)
        if self.request_id:
            message += f" ({self.request_id})"
        super().__init__(message)

    @property
    def is_temporary(self) -> bool:
        if self.status == 409:
            return self.code == "idempotency_in_progress"
        return self.status in (429, 502, 503, 504)


class AuthError(APIError):
    """The key is missing, wrong, or lacks a right: 401 and 403."""


class NotFoundError(APIError):
    """There is no such thing, or it belongs to another account: 404 and 410."""


class ConflictError(APIError):
    """Something is not in a state that allows the call: 409."""


class ValidationError(APIError):
    """The request is wrong; errors lists the fields: 400, 413, 415 and 422."""


class RateLimitError(APIError):
    """Too many requests: 429."""


class CarrierError(APIError):
    """A carrier refused or is not available."""


def error_of(status: int, headers: Mapping[str, str], content: bytes) -> APIError:
    """Reads a response that is an error."""
    try:
        body = json.loads(content)
    except ValueError:
        # It is from a proxy, not from the service.
        body = content.decode("utf-8", "replace")
    return _class_of(status, body)(status, headers, body)


def _class_of(status: int, body: Any) -> type[APIError]:
    if status in (401, 403):
        return AuthError
    if status in (404, 410):
        return NotFoundError
    if status == 429:
        return RateLimitError
    if isinstance(body, dict) and body.get("source") == "carrier":
        return CarrierError
    if status == 409:
        return ConflictError
    if status in (400, 413, 415, 422):
        return ValidationError
    return APIError


def _redirect_detail(status: int, headers: Mapping[str, str]) -> str:
    """What to do about a redirect; it is never followed."""
    location = headers.get("location")
    return f"the service redirects to {location}; set its URL to that address" if location and status < 400 else ""


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Reads Retry-After, which is a number of seconds or a date."""
    text = headers.get("retry-after")
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return float(text)

    # A date is read against the sender's clock, which may differ from ours.
    at = _timestamp(text)
    sent = _timestamp(headers.get("date"))
    if at is None:
        return None
    return max(at - (time.time() if sent is None else sent), 0.0)


def _timestamp(text: str | None) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (TypeError, ValueError, OverflowError):
        return None
