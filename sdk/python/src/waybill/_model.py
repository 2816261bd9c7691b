"""The base of all answers."""

from __future__ import annotations

import re
from datetime import date, datetime, timezone
from typing import TYPE_CHECKING, Any, ClassVar, Mapping

if TYPE_CHECKING:
    from typing_extensions import Self


class Model:
    """An answer of the service. It cannot be changed.

    ``raw`` is the answer as it was received, with members that this version of the library does not
    know. Members that are missing are None, or empty if they are lists or maps.
    """

    raw: dict[str, Any]

    # By the name in JSON: the name of the attribute, and how its value is read.
    _fields: ClassVar[dict[str, tuple[str, str]]] = {}

    def __init__(self, raw: Mapping[str, Any]) -> None:
        values: dict[str, Any] = {"raw": dict(raw)}
        for name, (attribute, conversion) in self._fields.items():
            values[attribute] = _convert(conversion, raw.get(name))
        self.__dict__.update(values)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Self:
        """Reads an answer that was stored as JSON."""
        return cls(raw)

    def to_dict(self) -> Any:
        """The answer as JSON. What can be sent again, such as a duplicated shipment, is valid input."""
        return dict(self.raw)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is an answer of the service and cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is an answer of the service and cannot be changed")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Model) and self.raw == other.raw

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{attribute}={getattr(self, attribute)!r}"
            for name, (attribute, _) in self._fields.items()
            if name in self.raw
        )
        return f"{type(self).__name__}({shown})"


def _convert(conversion: str, value: Any) -> Any:
    if not conversion:
        return value

    kind = conversion[0]
    if kind == "[":
        if not isinstance(value, list):
            return []
        return [_convert(conversion[1:], element) for element in value]
    if kind == "{":
        if not isinstance(value, dict):
            return {}
        return {name: _convert(conversion[1:], element) for name, element in value.items()}
    if value is None:
        return None
    if conversion == "time":
        return parse_time(value)
    if conversion == "date":
        return _parse_date(value)

    from . import models

    return getattr(models, conversion)(value) if isinstance(value, dict) else value


# Python before 3.11 reads neither "Z" nor fractions other than 3 or 6 digits.
_TIME = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$")


def parse_time(value: Any) -> Any:
    """Reads an ISO 8601 time. What is not one stays as it is: an answer must not fail over it."""
    found = _TIME.match(value) if isinstance(value, str) else None
    if not found:
        return value

    seconds, fraction, zone = found.groups()
    try:
        moment = datetime.fromisoformat(seconds + ("+00:00" if zone == "Z" else zone))
    except ValueError:
        return value
    if fraction:
        moment = moment.replace(microsecond=int(fraction[:6].ljust(6, "0")))
    return moment.astimezone(timezone.utc) if zone == "Z" else moment


def _parse_date(value: Any) -> Any:
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        return value
