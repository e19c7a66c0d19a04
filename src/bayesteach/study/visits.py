"""Who sent a person: what recruiters put into the link."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

# By platform: the parameter that tells people apart, and those that come with it.
_PLATFORMS = {
    "prolific": ("PROLIFIC_PID", ("STUDY_ID", "SESSION_ID")),
    "sona": ("survey_code", ()),
    "mturk": ("workerId", ("assignmentId", "hitId")),
    "lab": ("participant", ()),
}
_MTURK_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
_LONGEST = 128


@dataclass(frozen=True, slots=True)
class Visit:
    """A person before consent: all of it lives in a signed cookie, nothing on the server.

    number      whose link it was, on that platform; none if anybody could have it
    parameters  what the link said
    """

    nonce: str
    mode: str
    platform: str
    number: str | None
    parameters: Mapping[str, str]

    def as_cookie(self) -> dict[str, Any]:
        """As JSON would hold it."""
        return asdict(self)


def visit(query: Mapping[str, str], nonce: str, simulated: bool) -> Visit:  # noqa: FBT001 — the mode that no link can ask for
    """The visit that a link asks for. Simulated people come with a token of the server's own."""
    for platform, (key, others) in _PLATFORMS.items():
        number = query.get(key, "")[:_LONGEST]
        if number:
            known = {name: query[name][:_LONGEST] for name in (key, *others) if query.get(name)}
            test = query.get("mode") == "test" or query.get("assignmentId") == _MTURK_PREVIEW
            return Visit(nonce, _mode(test, simulated), platform, number, known)
    return Visit(nonce, _mode(query.get("mode") == "test", simulated), "direct", None, {})


def from_cookie(value: Any) -> Visit | None:
    """The visit in a cookie that was signed by us; None if there is none."""
    return Visit(**value) if isinstance(value, dict) else None


def _mode(test: bool, simulated: bool) -> str:  # noqa: FBT001
    return "simulated" if simulated else "test" if test else "live"
