"""Places: repeated events are told from new ones."""

import unittest

from fieldgate._places import Places, place_of


class PlacesTest(unittest.TestCase):
    """Application `5` has come to the event 37-100."""

    def setUp(self) -> None:
        self.places = Places({"5": "37-100"})

    def test_an_event_at_or_before_the_place_is_repeated(self) -> None:
        self.assertTrue(self.places.is_repeated("5", "37-100"))
        self.assertTrue(self.places.is_repeated("5", "37-99"))
        self.assertFalse(self.places.is_repeated("5", "37-101"))

    def test_another_application_has_a_place_of_its_own(self) -> None:
        self.assertFalse(self.places.is_repeated("6", "37-99"))

    def test_an_event_without_an_id_is_never_repeated(self) -> None:
        self.assertFalse(self.places.is_repeated("5", None))

    def test_a_time_is_before_all_events(self) -> None:
        places = Places({"5": "2026-01-01T00:00:00Z"})
        self.assertFalse(places.is_repeated("5", "37-0"))
        self.assertTrue(places.knows_all(["5"]))
        self.assertFalse(places.knows_all(["5", "6"]))

    def test_an_earlier_event_behind_a_new_beginning_is_of_another_log(self) -> None:
        self.places.begins("5")
        with self.assertLogs("fieldgate", "WARNING"):
            self.assertFalse(self.places.is_repeated("5", "37-3"))
        self.places.set("5", "37-3")
        self.assertTrue(self.places.is_repeated("5", "37-3"))
        self.assertFalse(self.places.is_repeated("5", "37-4"))

    def test_the_event_that_was_handled_while_the_link_changed_is_repeated(self) -> None:
        self.places.begins("5")
        self.places.set("5", "37-101")
        self.assertTrue(self.places.is_repeated("5", "37-101"))

    def test_a_kept_session_may_send_what_was_handled(self) -> None:
        self.places.begins("5")
        self.places.new_link()
        self.assertTrue(self.places.is_repeated("5", "37-100"))

    def test_only_two_numbers_are_a_place(self) -> None:
        for text in ("37", "37-", "-1", "a-1", "37-1-1", "2026-01-01T00:00:00Z", "", None):
            self.assertIsNone(place_of(text), text)


if __name__ == "__main__":
    unittest.main()
