"""A clock that stands until it is told to go on."""

from datetime import UTC, datetime, timedelta


class Clock:
    def __init__(self) -> None:
        self.moment = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def wait(self, **units: float) -> None:
        self.moment += timedelta(**units)
