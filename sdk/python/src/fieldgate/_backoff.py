"""Waits between attempts: they grow, and are spread at random, so that many clients don't return at once."""

from __future__ import annotations

import random

FIRST_SECONDS = 0.25
LONGEST_SECONDS = 30.0


class Backoff:
    """The waits of one thing that is tried again and again."""

    def __init__(self, first: float = FIRST_SECONDS, longest: float = LONGEST_SECONDS) -> None:
        self._first = first
        self._longest = longest
        self._next = first

    def reset(self) -> None:
        """After a success: the next wait is short again."""
        self._next = self._first

    def wait(self, at_least: float = 0.0) -> float:
        """Seconds until the next attempt: between half of the present wait and all of it."""
        seconds = random.uniform(self._next / 2, self._next)
        self._next = min(self._next * 2, self._longest)
        return max(seconds, at_least)
