"""The Python library of Waybill: typed requests and answers, retries that never do a thing twice, and
iterators over pages.

    from waybill import Waybill

    waybill = Waybill(key="sk_test_...", url="https://ship.example.com")
    shipment = waybill.shipments.create({"orderId": "A-1", "destination": {...}, "parcel": {"weight": 2}})

Types of requests are in waybill.inputs, types of answers in waybill.models.
"""

from . import inputs as inputs
from . import models as models
from ._client import AsyncWaybill, Waybill
from ._core import VERSION as __version__
from ._core import AsyncPages, CallOptions, FileBody, Page, Pages, ResponseInfo
from ._errors import (
    APIError,
    AuthError,
    CarrierError,
    ConflictError,
    NetworkError,
    NotFoundError,
    RateLimitError,
    RequestTimeoutError,
    ValidationError,
    WaybillError,
)
from ._webhook import WebhookVerificationError, verify_webhook

__all__ = [
    "APIError",
    "AsyncPages",
    "AsyncWaybill",
    "AuthError",
    "CallOptions",
    "CarrierError",
    "ConflictError",
    "FileBody",
    "NetworkError",
    "NotFoundError",
    "Page",
    "Pages",
    "RateLimitError",
    "RequestTimeoutError",
    "ResponseInfo",
    "ValidationError",
    "Waybill",
    "WaybillError",
    "WebhookVerificationError",
    "__version__",
    "inputs",
    "models",
    "verify_webhook",
]
