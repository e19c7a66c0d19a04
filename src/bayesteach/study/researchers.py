"""Who may see the researcher's pages: passwords by argon2, none by default; the first is printed once."""

import secrets
from datetime import datetime, timedelta

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError
from sqlalchemy import Connection, func, insert, select, update

from bayesteach.study.audit import note
from bayesteach.study.tables import researchers

FIRST = "researcher"
_HASHER = PasswordHasher()
# After so many wrong passwords in a row, each further one costs a wait: nobody guesses 100 bits, nor a weak one.
_TRIES, _WAIT = 5, timedelta(seconds=30)


def first_password(connection: Connection) -> str | None:
    """The password of a new researcher, if there is none yet."""
    if connection.scalar(select(func.count()).select_from(researchers)):
        return None
    return new_password(connection, FIRST)


def new_password(connection: Connection, name: str) -> str:
    """Another password for this researcher, who is made if there is none; whoever was logged in no longer is."""
    password = secrets.token_urlsafe(16)
    values = {"password": _HASHER.hash(password), "refused": 0, "refused_at": None}
    known = connection.execute(update(researchers).where(researchers.c.name == name).values(**values)).rowcount
    if not known:
        connection.execute(insert(researchers).values(name=name, **values))
    note(connection, "bayesteach", "password", name)
    return password


def check(connection: Connection, name: str, password: str, moment: datetime) -> bool:
    """Whether this is the password. Counts what is wrong, and makes who was wrong too often wait."""
    row = connection.execute(select(researchers).where(researchers.c.name == name).with_for_update()).first()
    if row is None:
        return False
    if row.refused >= _TRIES and row.refused_at is not None and moment - row.refused_at < _WAIT:
        return False
    right = _matches(row.password, password)
    values = {"refused": 0, "refused_at": None} if right else {"refused": row.refused + 1, "refused_at": moment}
    connection.execute(update(researchers).where(researchers.c.name == name).values(**values))
    note(connection, name, "login" if right else "login refused")
    return right


def _matches(hashed: str, password: str) -> bool:
    try:
        return _HASHER.verify(hashed, password)
    except VerificationError:
        return False


def stamp(connection: Connection, name: str) -> str | None:
    """What changes with the password: a cookie that carries it ends with the password."""
    found = connection.scalar(select(researchers.c.password).where(researchers.c.name == name))
    return None if found is None else found[-16:]
