"""Images that went through the classifier, and those that could not be read."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Seen:
    """An image that went through the classifier: what it answered, and with which probability."""

    id: str
    source: str
    label: int
    answer: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Skipped:
    """An image that could not be read, and why."""

    path: str
    reason: str
