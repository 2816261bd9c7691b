"""Verifying webhooks, as Standard Webhooks describes."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from typing import TYPE_CHECKING, Iterable, Literal, Mapping

from ._errors import WaybillError

if TYPE_CHECKING:
    from .models import Event

Reason = Literal["headers", "timestamp", "signature", "secret", "body"]


class WebhookVerificationError(WaybillError):
    """Why a webhook is rejected. Respond with 400; the service sends it again later."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def verify_webhook(
    secret: str,
    headers: Mapping[str, str] | Iterable[tuple[str, str]],
    body: bytes | str,
    *,
    tolerance: float = 300,
    now: float | None = None,
) -> Event:
    """Checks that a request comes from the service and returns its event.

    The body must be the very bytes that were received, not JSON that was parsed and written again.

    The secret is that of the webhook (whsec_...) or its public key (whpk_..., which needs
    ``pip install waybill-sdk[ed25519]``). It can be several, with commas or spaces between; a signature
    by one of them is enough, so a receiver can accept the old and the new one during a rotation.

    tolerance is how far the clocks of the service and the receiver may differ, in seconds.

    An event can be delivered twice: store its id and skip those that you have seen.
    """
    from .models import Event

    keys = _parse_keys(secret)

    pairs = headers.items() if isinstance(headers, Mapping) else headers
    found = {name.lower(): value for name, value in pairs}
    message_id = found.get("webhook-id")
    timestamp = found.get("webhook-timestamp", "")
    signatures = found.get("webhook-signature")
    if not message_id or not signatures or not re.fullmatch(r"-?[0-9]{1,15}", timestamp):
        raise WebhookVerificationError("headers", "a header of the webhook is missing or malformed")

    age = (time.time() if now is None else now) - int(timestamp)
    if abs(age) > tolerance:
        raise WebhookVerificationError(
            "timestamp", f"the webhook was sent more than {tolerance:g} seconds ago, or in the future"
        )

    # The id and the time are signed too: neither can be changed to replay a request. The body is parsed
    # only once it is verified.
    content = body.encode() if isinstance(body, str) else bytes(body)
    message = f"{message_id}.{timestamp}.".encode() + content
    if not any(_is_signed(keys, message, text) for text in signatures.split()):
        raise WebhookVerificationError("signature", "webhook signature does not match the secret")
    try:
        return Event(json.loads(content))
    except ValueError as error:
        raise WebhookVerificationError("body", "the body of the webhook is not JSON") from error


def _parse_keys(secret: str) -> list[tuple[str, bytes]]:
    keys = []
    for text in re.split(r"[\s,]+", secret):
        if not text:
            continue
        is_public = text.startswith("whpk_")
        key = _decode(re.sub(r"^(whpk_|whsec_)", "", text))
        if not key or (is_public and len(key) != 32):
            # The text itself stays out of the message: it is a secret.
            raise WebhookVerificationError("secret", "a secret of the webhook must be whsec_ or whpk_ and base64")
        keys.append(("v1a" if is_public else "v1", key))

    if not keys:
        raise WebhookVerificationError("secret", "the secret of the webhook is empty")
    return keys


def _is_signed(keys: list[tuple[str, bytes]], message: bytes, text: str) -> bool:
    version, _, encoded = text.partition(",")
    signature = _decode(encoded)
    if signature is None:
        return False

    for kind, key in keys:
        if kind != version:
            continue
        if kind == "v1" and hmac.compare_digest(signature, hmac.digest(key, message, hashlib.sha256)):
            return True
        if kind == "v1a" and _is_signed_by_pair(key, signature, message):
            return True
    return False


def _is_signed_by_pair(key: bytes, signature: bytes, message: bytes) -> bool:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError as error:
        raise WebhookVerificationError(
            "secret", "public keys need the package cryptography: pip install waybill-sdk[ed25519]"
        ) from error

    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def _decode(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
