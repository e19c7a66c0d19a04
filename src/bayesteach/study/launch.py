"""The launch of a study: from its first live participant on, what people are shown is locked by its digests."""

import json
import secrets
from dataclasses import dataclass

from sqlalchemy import Connection, func, insert, select

from bayesteach.errors import BadStudy
from bayesteach.study.audit import note
from bayesteach.study.database import Database, now
from bayesteach.study.keys import Keys
from bayesteach.study.materials import Materials
from bayesteach.study.migrations import migrate
from bayesteach.study.tables import launches, participants, stimuli, study


@dataclass(frozen=True, slots=True)
class Launch:
    """The launch that a server serves, and the study's keys."""

    id: int
    keys: Keys


def launch(database: Database, materials: Materials, *, anew: bool = False) -> Launch:
    """The study in this database with these materials: the launch that there is, or a new one where none is locked."""
    migrate(database)
    with database.write() as connection:
        keys = _keys(connection)
        last = connection.execute(select(launches).order_by(launches.c.id.desc()).limit(1)).first()
        if last is not None and last.digest == materials.digest:
            return Launch(last.id, keys)
        if last is not None and not anew:
            live = connection.scalar(
                select(func.count())
                .select_from(participants)
                .where(participants.c.launch == last.id, participants.c.mode == "live")
            )
            if live:
                raise BadStudy(_changed(last.digests, materials, live))
        return Launch(_launch(connection, materials), keys)


def existing(database: Database, materials: Materials) -> Launch:
    """The launch of these materials, which another process has made."""
    with database.read() as connection:
        row = connection.execute(select(study.c.secret)).first()
        last = connection.execute(select(launches.c.id, launches.c.digest).order_by(launches.c.id.desc())).first()
    if row is None or last is None or last.digest != materials.digest:
        raise BadStudy("study: the materials changed while the server was started. Start it again.")
    return Launch(last.id, Keys(row.secret))


def _keys(connection: Connection) -> Keys:
    row = connection.execute(select(study.c.secret)).first()
    if row is not None:
        return Keys(row.secret)
    secret = secrets.token_hex(32)
    connection.execute(insert(study).values(id=1, status="open", secret=secret, shows_accuracy=False))
    return Keys(secret)


def _launch(connection: Connection, materials: Materials) -> int:
    values = {
        "at": now(),
        "digest": materials.digest,
        "digests": dict(materials.digests),
        "arms": [{"name": arm.name, "factors": dict(arm.factors)} for arm in materials.stimuli.arms],
        "consent": materials.texts.consent,
        "settings": json.loads(materials.settings.model_dump_json()),
    }
    made = connection.execute(insert(launches).values(values)).inserted_primary_key
    number = int(made[0]) if made is not None else 0
    connection.execute(
        insert(stimuli),
        [
            {
                "launch": number,
                "trial": hidden.trial,
                "kind": materials.shown[hidden.trial].kind,
                "target": hidden.target,
                "alternative": hidden.alternative,
                "category": hidden.category,
                "trial_type": hidden.trial_type,
                "covariates": dict(hidden.covariates),
            }
            for hidden in materials.stimuli.hidden
        ],
    )
    note(connection, "bayesteach", "launch", f"launch {number}, materials {materials.digest[:12]}")
    return number


def _changed(before: dict[str, str], materials: Materials, live: int) -> str:
    names = [name for name in {**before, **materials.digests} if before.get(name) != materials.digests.get(name)]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return (
        f"study: {live} people have taken part with other materials; changed since: {', '.join(sorted(names)[:3])}{more}. "
        "Put them back; or, if this is to be a new launch in the same database, say --new-launch."
    )
