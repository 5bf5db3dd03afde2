"""Selections, stores, waits, events and answers of the HTTP interface, each alone."""

import json
import tempfile
import unittest
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import fieldgate
from fieldgate._access import Credential
from fieldgate._backoff import Backoff
from fieldgate._feed import start_text
from fieldgate._http import TemporaryError, _refusal
from fieldgate._selection import filters_of, selection_of
from fieldgate.events import read_event

NOW = datetime(2026, 1, 31, 8, tzinfo=timezone.utc)
TOPIC = "application/5/device/0102030405060708/event/"


class SelectionTest(unittest.TestCase):
    """The arguments of `events`."""

    def test_topics_are_grouped_by_application_and_split_by_kind(self) -> None:
        topics = ["application/1/device/+/event/+", "application/2/device/0a/event/+"]
        self.assertEqual(filters_of(topics, ()), {"1": [topics[0]], "2": [topics[1]]})
        self.assertEqual(
            filters_of(topics[:1], ("up", "join")),
            {"1": ["application/1/device/+/event/up", "application/1/device/+/event/join"]},
        )

    def test_an_empty_list_is_refused_and_never_means_everything(self) -> None:
        wrongs: list[dict[str, Any]] = [{"application": []}, {"device": []}, {"kinds": []}, {"kinds": ["uplink"]}]
        for wrong in wrongs:
            given: dict[str, Any] = {"application": None, "device": None, "kinds": None, **wrong}
            with self.assertRaises(ValueError, msg=str(wrong)):
                selection_of(**given)
        with self.assertRaises(ValueError):
            selection_of("a", "b", None)
        self.assertTrue(selection_of(None, None, None).is_whole)

    def test_more_topic_filters_than_a_session_may_have_are_refused(self) -> None:
        with self.assertRaises(ValueError):
            filters_of([f"application/1/device/{number:016x}/event/+" for number in range(901)], ())

    def test_a_beginning_needs_a_time_zone(self) -> None:
        self.assertEqual(start_text("now", NOW), "2026-01-31T08:00:00.000Z")
        self.assertEqual(start_text("earliest", NOW), "1970-01-01T00:00:00Z")
        for wrong in (datetime(2026, 1, 1), "yesterday"):
            with self.assertRaises(ValueError):
                start_text(wrong, NOW)


class StoreTest(unittest.TestCase):
    """The file of SQLite."""

    def test_places_survive_and_sessions_are_apart(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "deep", "places.sqlite")
            store = fieldgate.SqliteStore(path)
            store.save("a", "1", "3-4")
            store.save("a", "1", "3-5")
            store.save("b", "1", "3-9")
            store.close()
            again = fieldgate.SqliteStore(path, durable=True)
            self.assertEqual(again.load("a"), {"1": "3-5"})
            self.assertEqual(again.load("c"), {})
            again.close()


class BackoffTest(unittest.TestCase):
    """Waits between attempts."""

    def test_waits_grow_to_a_bound_and_are_spread(self) -> None:
        backoff = Backoff(first=1, longest=8)
        for most in (1, 2, 4, 8, 8):
            self.assertTrue(most / 2 <= backoff.wait() <= most)
        self.assertGreaterEqual(backoff.wait(at_least=60), 60)
        backoff.reset()
        self.assertLessEqual(backoff.wait(), 1)


class EventTest(unittest.TestCase):
    """Events of both families, and wrong ones."""

    def test_family_a(self) -> None:
        payload = {
            "deviceName": "meter",
            "tags": {"floor": "1"},
            "fCnt": 7,
            "fPort": 2,
            "data": "AQI=",
            "object": {"t": 1},
        }
        event = read_event(TOPIC + "up", json.dumps(payload).encode(), "37-1", NOW)
        assert event.kind == "up"
        self.assertEqual((event.family, event.data, event.f_cnt, event.f_port), ("a", b"\x01\x02", 7, 2))
        self.assertEqual((event.device_name, event.tags, event.object), ("meter", {"floor": "1"}, {"t": 1}))
        self.assertEqual((event.application_id, event.dev_eui, event.id), ("5", "0102030405060708", "37-1"))

    def test_family_b(self) -> None:
        payload = {
            "deviceInfo": {"deviceName": "meter", "tags": {}},
            "acknowledged": True,
            "fCntDown": 3,
            "commandId": "v",
        }
        event = read_event(TOPIC + "ack", json.dumps(payload).encode(), None, NOW)
        assert event.kind == "ack"
        self.assertEqual((event.family, event.acknowledged, event.f_cnt), ("b", True, 3))
        self.assertEqual((event.device_name, event.command_id), ("meter", "v"))

    def test_no_content_raises(self) -> None:
        for content in (b"", b"\xff", b"[]", b"1", b"[" * 100_000, b'{"data": 5, "object": null}'):
            event = read_event(TOPIC + "up", content, "37-1", NOW)
            if event.kind == "up":
                self.assertEqual((event.data, event.f_cnt, event.tags), (b"", None, {}))
            else:
                assert event.kind == "unknown"
                self.assertEqual(event.raw, content)
        self.assertEqual(read_event(TOPIC + "later", b"{}", None, NOW).kind, "unknown")
        wrong = read_event(TOPIC + "up", b'{"data": "%%%", "tags": 3, "deviceInfo": 4}', None, NOW)
        assert wrong.kind == "up"
        self.assertEqual((wrong.data, wrong.tags, wrong.device_name), (b"", {}, ""))


class RefusalTest(unittest.TestCase):
    """Answers that are no success."""

    def test_the_status_decides_the_error_and_the_body_its_code(self) -> None:
        body = json.dumps({"message": "the password is wrong", "details": [{"reason": "login_failed"}]}).encode()
        error = _refusal(401, body, None)
        assert isinstance(error, fieldgate.AuthenticationError)
        self.assertEqual((error.code, error.sentence), ("login_failed", "the password is wrong"))
        for status, kind in (
            (403, fieldgate.NotAuthorizedError),
            (404, fieldgate.NotFoundError),
            (400, fieldgate.RequestError),
        ):
            self.assertIsInstance(_refusal(status, b"<html>", None), kind)

    def test_a_later_try_may_help(self) -> None:
        for status in (408, 429, 500, 503):
            error = _refusal(status, b"", "7")
            assert isinstance(error, TemporaryError)
            self.assertEqual((error.code, error.retry_after), (f"http_{status}", 7))

    def test_a_full_queue_is_told_at_once(self) -> None:
        body = json.dumps({"message": "100 commands wait", "details": [{"reason": "command_queue_full"}]}).encode()
        error = _refusal(429, body, "1")
        assert isinstance(error, fieldgate.RequestError)
        self.assertEqual(error.code, "command_queue_full")

    def test_one_credential_is_needed_and_none_is_printed(self) -> None:
        for wrong in ({}, {"username": "a"}, {"api_key": "k", "username": "a", "password": "p"}):
            given: dict[str, Any] = dict(wrong)
            with self.assertRaises(ValueError):
                Credential(**given)
        self.assertNotIn(
            "secret", repr(Credential(api_key="fg_secret")) + repr(Credential(username="a", password="secret"))
        )
        with self.assertRaises(ValueError):
            fieldgate.connect("http://localhost", api_key="k")


if __name__ == "__main__":
    unittest.main()
