"""Places in the log of events: how far a program has come in each application.

The events of one application have ascending places in one part of the log, and come in this order.
So one place for each application tells a repeated event from a new one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ._http import log

ID = re.compile(r"(\d{1,10})-(\d{1,20})")


@dataclass(frozen=True)
class EventPlace:
    """An event's id, read: the part of the log, and the place in it."""

    part: int
    number: int


def place_of(text: str | None) -> EventPlace | None:
    """Reads the id of an event; None for a time, and for anything else."""
    found = ID.fullmatch(text) if text is not None else None
    return None if found is None else EventPlace(int(found[1]), int(found[2]))


class Places:
    """The last handled place of each application, as texts that `replay-from` takes."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self._texts = dict(known)
        self._begun_at: dict[str, EventPlace] = {}

    def text(self, application_id: str) -> str | None:
        """The id of the last handled event, or a time before the first; None where nothing is known."""
        return self._texts.get(application_id)

    def knows_all(self, application_ids: Iterable[str]) -> bool:
        """True when each of these applications has a place."""
        return all(one in self._texts for one in application_ids)

    def set(self, application_id: str, text: str) -> None:
        """The application's events up to this place are handled."""
        self._texts[application_id] = text

    def new_link(self) -> None:
        """What was told of the last link's beginning holds no more."""
        self._begun_at.clear()

    def begins(self, application_id: str) -> None:
        """A new subscription begins behind the present place: the broker sends nothing before it."""
        place = place_of(self._texts.get(application_id))
        if place is not None:
            self._begun_at[application_id] = place

    def is_repeated(self, application_id: str, event_id: str | None) -> bool:
        """True for an event that was handled before."""
        place, last = place_of(event_id), place_of(self._texts.get(application_id))
        if place is None or last is None or place.part != last.part or place.number > last.number:
            return False
        begun_at = self._begun_at.get(application_id)
        if begun_at is None or begun_at.part != place.part or place.number > begun_at.number:
            return True
        # The broker was asked for later events alone. So this is another log, with numbers of its
        # own: an empty data directory, or an engine in memory.
        log.warning(
            "places.renumbered application_id=%s last=%s-%s now=%s", application_id, last.part, last.number, event_id
        )
        del self._begun_at[application_id]
        return False
