"""How often one session may ask: a leaky bucket in the database. Never by address, since a laboratory shares one."""

from datetime import datetime

from sqlalchemy import Connection, update

from bayesteach.study.sessions import Session
from bayesteach.study.tables import participants

# A person answers once a second at most; an outbox that comes back to the network sends a few at once.
_BURST, _A_SECOND = 60, 5.0


def spend(connection: Connection, session: Session, moment: datetime) -> float:
    """Count one request, and return 0; or return the seconds to wait, and count nothing. Simulated people may hurry."""
    if session.mode == "simulated":
        return 0.0
    leaked = max(0.0, (moment - session.spent_at).total_seconds()) * _A_SECOND
    spent = max(0.0, session.spent - leaked)
    if spent + 1 > _BURST:
        return (spent + 1 - _BURST) / _A_SECOND
    connection.execute(
        update(participants).where(participants.c.id == session.id).values(spent=spent + 1, spent_at=moment)
    )
    return 0.0
