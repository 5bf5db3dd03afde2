"""The errors of the SDK. Each has a stable code and a sentence for people.

The codes come from the service (https://<host>/docs/errors), or are those of this module where the
fault is in the program or on the way.
"""

from __future__ import annotations


class FieldgateError(Exception):
    """The root of all errors of this package."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(f"{sentence} ({code})")
        self.code = code
        """The stable code, for programs."""
        self.sentence = sentence
        """The reason, for people."""


class AuthenticationError(FieldgateError):
    """The credential is refused for good: a wrong password, a revoked key, a deactivated user."""


class NotAuthorizedError(FieldgateError):
    """The credential is good, and does not have this right."""


class NotFoundError(FieldgateError):
    """The thing is unknown, or it belongs to another organization."""


class RequestError(FieldgateError):
    """The service refuses a request, and would refuse it again."""


class UnreachableError(FieldgateError):
    """The service could not be reached, or had no room, for as long as the program was patient."""


class TakenOverError(FieldgateError):
    """Another program connected with the same session name. Each program needs a name of its own."""


class ClosedError(FieldgateError):
    """The program used a client or a stream after it was closed."""


class CommandError(FieldgateError):
    """A command was refused, or it did not reach its device.

    The attribute `member` names the member of the command that is wrong, where one is.
    """

    def __init__(self, code: str, sentence: str, *, command_id: str = "", member: str = "") -> None:
        super().__init__(code, sentence)
        self.command_id = command_id
        """The command's id; an empty text where it never got one."""
        self.member = member
        """The member of the command that is wrong; an empty text where none is."""


class CommandRefusedError(CommandError):
    """The service did not take the command."""


class CommandFailedError(CommandError):
    """The service took the command, and it will not reach its device."""


class CommandUnconfirmedError(CommandError):
    """Nobody knows whether the device has received the command."""


class NotAcknowledgedError(CommandError):
    """The device has not acknowledged a confirmed command."""
