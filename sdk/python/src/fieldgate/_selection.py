"""The events that a stream is about, and the Topic Filters for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ._access import Access
from .errors import NotFoundError

ALL_KINDS = ("up", "join", "ack", "error", "status", "location", "txack", "log", "integration")
MAXIMUM_FILTERS = 900
"""A Session has at most 1,000 subscriptions (docs/mqtt.md)."""


@dataclass(frozen=True)
class Selection:
    """Applications, or devices; neither means all applications of the organization."""

    applications: tuple[str, ...]
    devices: tuple[str, ...]
    kinds: tuple[str, ...]
    """Empty: all kinds."""

    def __post_init__(self) -> None:
        if self.applications and self.devices:
            raise ValueError("give either application or device")
        for kind in self.kinds:
            if kind not in ALL_KINDS:
                raise ValueError(f"kinds: {kind} is none of {', '.join(ALL_KINDS)}")

    @property
    def is_whole(self) -> bool:
        """True for all applications of the organization, also those that will be made."""
        return not self.applications and not self.devices


def selection_of(
    application: str | Sequence[str] | None, device: str | Sequence[str] | None, kinds: Sequence[str] | None
) -> Selection:
    """Reads the arguments of `events`. Raises `ValueError`."""
    if kinds is not None and not kinds:
        raise ValueError("kinds: an empty list would select nothing")
    return Selection(
        applications=_texts(application, "application"),
        devices=tuple(one.lower() for one in _texts(device, "device")),
        kinds=() if kinds is None else tuple(dict.fromkeys([kinds] if isinstance(kinds, str) else kinds)),
    )


def _texts(given: str | Sequence[str] | None, name: str) -> tuple[str, ...]:
    if given is None:
        return ()
    texts = (given,) if isinstance(given, str) else tuple(dict.fromkeys(given))
    if not texts:
        raise ValueError(f"{name}: an empty list would select nothing")
    return texts


class TopicFinder:
    """Asks the service's own endpoints for the Topic Filters of a selection."""

    def __init__(self, access: Access, selection: Selection) -> None:
        self._access = access
        self._selection = selection
        self._known: dict[str, str] = {}

    async def find(self) -> Mapping[str, Sequence[str]]:
        """The Topic Filters by application id. Raises `NotFoundError` for an unknown device or application."""
        selection = self._selection
        topics = [await self._access.device_topic(device) for device in selection.devices]
        for name in selection.applications:
            topics.append(await self._topic_of(await self._access.application_id(name)))
        if selection.is_whole:
            for application in await self._access.applications():
                try:
                    topics.append(await self._topic_of(str(application["id"])))
                except NotFoundError:
                    continue  # The application was removed in this moment.
        return filters_of(topics, selection.kinds)

    async def _topic_of(self, application_id: str) -> str:
        """The topic of an application never changes, so it is asked for once."""
        topic = self._known.get(application_id)
        if topic is None:
            topic = self._known[application_id] = await self._access.application_topic(application_id)
        return topic


def filters_of(topics: Sequence[str], kinds: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Splits topics by kind, and groups them by application. Raises `ValueError` for too many."""
    filters: dict[str, list[str]] = {}
    for topic in topics:
        levels = topic.split("/")
        for kind in kinds or (levels[-1],):
            filters.setdefault(levels[1], []).append("/".join([*levels[:-1], kind]))
    if sum(len(one) for one in filters.values()) > MAXIMUM_FILTERS:
        raise ValueError(f"more than {MAXIMUM_FILTERS} Topic Filters: select applications instead of devices")
    return filters
