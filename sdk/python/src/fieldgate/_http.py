"""Requests to the HTTP endpoints, and the reading of their refusals."""

from __future__ import annotations

import asyncio
import email.utils
import http.client
import json
import logging
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from .errors import AuthenticationError, FieldgateError, NotAuthorizedError, NotFoundError, RequestError

log = logging.getLogger("fieldgate")

TIMEOUT_SECONDS = 30.0
MAXIMUM_ANSWER_BYTES = 32 * 1024 * 1024
LONGEST_RETRY_AFTER_SECONDS = 120.0
FOR_THE_PROGRAM = frozenset({"command_queue_full"})
"""Refusals that may pass, and of which the program should know at once."""


class TemporaryError(Exception):
    """The service can't answer now. Never leaves the package."""

    def __init__(self, code: str, sentence: str, retry_after: float = 0.0) -> None:
        super().__init__(f"{sentence} ({code})")
        self.code = code
        self.sentence = sentence
        self.retry_after = retry_after
        """Seconds for which the service asks to wait; 0 where it asks for nothing."""


@dataclass(frozen=True)
class HttpSettings:
    """Where the service is, and how to get there."""

    url: str
    """Without a slash at its end."""
    tls: ssl.SSLContext
    proxy: str | None
    """The URL of an HTTP proxy; None: that of the environment."""


class Http:
    """Sends requests from threads, so that the event loop goes on. Knows the service's time."""

    def __init__(self, settings: HttpSettings) -> None:
        self._url = settings.url
        handlers: list[urllib.request.BaseHandler] = [urllib.request.HTTPSHandler(context=settings.tls)]
        if settings.proxy is not None:
            handlers.append(urllib.request.ProxyHandler({"https": settings.proxy, "http": settings.proxy}))
        self._opener = urllib.request.build_opener(*handlers)
        self._ahead: timedelta | None = None
        self._has_answered = False

    def now(self) -> datetime:
        """The service's time, at most a second late. The machine's own time before the first answer."""
        own = datetime.fromtimestamp(time.time(), timezone.utc)
        return own if self._ahead is None else datetime.fromtimestamp(time.monotonic(), timezone.utc) + self._ahead

    async def ask(
        self, method: str, path: str, *, bearer: str = "", body: object = None, query: Mapping[str, str] | None = None
    ) -> Mapping[str, Any]:
        """Sends one request. Raises a `FieldgateError` for a refusal, `TemporaryError` where a later try may do."""
        target = self._url + path + (f"?{urllib.parse.urlencode(query)}" if query else "")
        # `connect` takes no other scheme than https.
        request = urllib.request.Request(target, method=method, headers={"Accept": "application/json"})  # noqa: S310
        if bearer:
            # Redirects are not followed with the credential.
            request.add_unredirected_header("Grpc-Metadata-Authorization", f"Bearer {bearer}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        return await asyncio.to_thread(self._send, request)

    def _send(self, request: urllib.request.Request) -> Mapping[str, Any]:
        try:
            with self._opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
                self._has_answered = True
                self._set_time(answer.headers.get("Date"))
                content: bytes = answer.read(MAXIMUM_ANSWER_BYTES + 1)
        except urllib.error.HTTPError as refused:
            with refused:
                raise _refusal(refused.code, refused.read(65_536), refused.headers.get("Retry-After")) from None
        except urllib.error.URLError as error:
            # A certificate that was good before may have run out: somebody will replace it.
            if isinstance(error.reason, ssl.SSLCertVerificationError) and not self._has_answered:
                raise CertificateError(error.reason) from error
            raise TemporaryError("unreachable", f"{self._url} can't be reached: {error.reason}") from error
        except (OSError, http.client.HTTPException) as error:
            raise TemporaryError("unreachable", f"{self._url} can't be reached: {error}") from error
        if len(content) > MAXIMUM_ANSWER_BYTES:
            raise RequestError("answer_too_large", f"the answer has more than {MAXIMUM_ANSWER_BYTES} bytes")
        return _object_of(content)

    def _set_time(self, date: str | None) -> None:
        if date is None:
            return
        told = email.utils.parsedate_to_datetime(date)
        ahead = told - datetime.fromtimestamp(time.monotonic(), timezone.utc)
        # The header is cut to whole seconds. The largest of the differences is the nearest.
        self._ahead = (
            ahead if self._ahead is None or abs(ahead - self._ahead) > timedelta(seconds=2) else max(ahead, self._ahead)
        )


class CertificateError(FieldgateError):
    """The service's certificate is not trusted."""

    def __init__(self, reason: ssl.SSLCertVerificationError) -> None:
        super().__init__(
            "certificate_not_trusted",
            f"the certificate is not trusted: {reason.verify_message}. Give the authority's file as `ca_file`",
        )


def _object_of(content: bytes) -> Mapping[str, Any]:
    try:
        answer = json.loads(content or b"{}")
    except ValueError as error:
        raise TemporaryError("no_json", "the answer is no JSON: is the URL that of Fieldgate?") from error
    if not isinstance(answer, dict):
        raise TemporaryError("no_json", "the answer is no JSON object: is the URL that of Fieldgate?")
    return answer


def _refusal(status: int, content: bytes, retry_after: str | None) -> Exception:
    """The error for an answer that is no success."""
    code, sentence = f"http_{status}", f"the service answered {status}"
    try:
        answer = json.loads(content)
        sentence = str(answer["message"])
        code = str(answer["details"][0]["reason"])
    except (ValueError, KeyError, IndexError, TypeError):
        pass
    if (status in (408, 425, 429) or status >= 500) and code not in FOR_THE_PROGRAM:
        return TemporaryError(code, sentence, _seconds(retry_after))
    if status == 401:
        return AuthenticationError(code, sentence)
    if status == 403:
        return NotAuthorizedError(code, sentence)
    if status == 404:
        return NotFoundError(code, sentence)
    return RequestError(code, sentence)


def _seconds(retry_after: str | None) -> float:
    if retry_after is None or not retry_after.isdigit():
        return 0.0
    return min(float(retry_after), LONGEST_RETRY_AFTER_SECONDS)
