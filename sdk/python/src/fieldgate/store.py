"""Where a program keeps its place: the last event that it has handled, for each application.

A place is a short text. It is the id of an event, or a time of RFC 3339 before the first event. The
SDK reads all places when a stream begins, and writes one place after each event.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Protocol


class Store(Protocol):
    """A store of one's own. Both methods may be plain functions or coroutines.

    A program that writes its results to a database keeps the place in the same transaction, and
    gives a store whose `load` reads it and whose `save` does nothing. Then no kill and no power cut
    can separate the two.
    """

    def load(self, session: str) -> Mapping[str, str] | Awaitable[Mapping[str, str]]:
        """The places of this session, by application id. Empty where there are none."""
        ...

    def save(self, session: str, application_id: str, place: str) -> Awaitable[None] | None:
        """Keeps the place of one application. The event is acknowledged after this returns."""
        ...


class MemoryStore:
    """Keeps places for the life of the process. The broker's Session bridges a restart then."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], str] = {}

    def load(self, session: str) -> Mapping[str, str]:
        """The places that this process has saved."""
        return {name: place for (owner, name), place in self._places.items() if owner == session}

    def save(self, session: str, application_id: str, place: str) -> None:
        """Keeps a place until the process ends."""
        self._places[session, application_id] = place


class SqliteStore:
    """Keeps places in a file of SQLite.

    A saved place survives a killed process. With `durable=True` it survives a power cut as well, and
    each event then waits for the disk. Without it, a power cut may hand some events over again.
    """

    def __init__(self, path: str | os.PathLike[str], *, durable: bool = False) -> None:
        Path(path).expanduser().parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._database = sqlite3.connect(
            Path(path).expanduser(), check_same_thread=False, isolation_level=None, timeout=30
        )
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS places (session TEXT NOT NULL, application_id TEXT NOT NULL,"
            " place TEXT NOT NULL, PRIMARY KEY (session, application_id)) WITHOUT ROWID"
        )

    def load(self, session: str) -> Mapping[str, str]:
        """The places of this session, by application id."""
        with self._lock:
            rows = self._database.execute(
                "SELECT application_id, place FROM places WHERE session = ?", (session,)
            ).fetchall()
        return dict(rows)

    def save(self, session: str, application_id: str, place: str) -> None:
        """Writes one place, in a transaction of its own."""
        with self._lock:
            self._database.execute(
                "INSERT INTO places VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET place = excluded.place",
                (session, application_id, place),
            )

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._database.close()


def default_store() -> SqliteStore:
    """The file `fieldgate/places.sqlite` in the user's folder for state (XDG Base Directory)."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join("~", ".local", "state")
    return SqliteStore(Path(state, "fieldgate", "places.sqlite"))
