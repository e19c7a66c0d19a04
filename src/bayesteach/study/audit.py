"""The log of what researchers, and the server, did to a study."""

from sqlalchemy import Connection, insert

from bayesteach.study.database import now
from bayesteach.study.tables import audit


def note(connection: Connection, who: str, what: str, detail: str = "") -> None:
    """One line more; lines are never changed."""
    connection.execute(insert(audit).values(at=now(), who=who, what=what, detail=detail))
