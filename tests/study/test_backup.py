"""Backup and restore, from either database to either, while people answer."""

import pytest
from sqlalchemy import select

from bayesteach.errors import BadStudy
from bayesteach.study.backup import backup, restore
from bayesteach.study.database import connect
from bayesteach.study.tables import metadata
from tests.study.people import body


def rows(database):
    with database.read() as connection:
        return {
            table.name: sorted(map(repr, connection.execute(select(table)).all())) for table in metadata.sorted_tables
        }


def test_what_is_restored_is_what_was_backed_up_and_people_go_on(here, browse, tmp_path, folder, url, serve):
    browse().agree("/?PROLIFIC_PID=a").to("done")
    half = browse().agree("/?PROLIFIC_PID=b").to("trials")
    half.send(body(0), half.session()["csrf"])
    before = rows(here.database)
    copied = backup(here.database, tmp_path / "backup.db")
    assert copied.rows == sum(map(len, before.values()))
    # What comes later is not in it.
    half.send(body(1), half.session()["csrf"])
    other = f"sqlite:///{tmp_path / 'other.db'}"
    database = connect(other)
    assert restore(tmp_path / "backup.db", database) == copied
    assert rows(database) == before
    database.close()
    from tests.study.conftest import browsers  # noqa: PLC0415

    for browser in browsers(serve(folder, other)):
        back = browser().agree("/?PROLIFIC_PID=b")
        assert (back.step, back.session()["next"]) == ("trials", 1)
        assert back.to("done").step == "done"
        assert browser().agree("/?PROLIFIC_PID=c").step == "instructions"


def test_a_backup_goes_into_either_database(local, visit, tmp_path, url, folder, serve):
    visit().agree("/?PROLIFIC_PID=a").to("done")
    backup(local.database, tmp_path / "backup.db")
    empty = url.replace("study.db", "empty.db")
    database = connect(empty)
    restore(tmp_path / "backup.db", database)
    assert rows(database) == rows(local.database)
    database.close()
    # New rows get numbers of their own.
    from tests.study.conftest import browsers  # noqa: PLC0415

    for browser in browsers(serve(folder, empty)):
        assert browser().agree("/?PROLIFIC_PID=new").to("trials").step == "trials"


def test_nothing_is_overwritten(local, tmp_path):
    backup(local.database, tmp_path / "backup.db")
    with pytest.raises(BadStudy, match="there already"):
        backup(local.database, tmp_path / "backup.db")
    with pytest.raises(BadStudy, match="holds a study already"):
        restore(tmp_path / "backup.db", local.database)
    (tmp_path / "text").write_text("x")
    empty = connect(f"sqlite:///{tmp_path / 'empty.db'}")
    with pytest.raises(BadStudy, match="no backup"):
        restore(tmp_path / "text", empty)
    with pytest.raises(BadStudy, match="there is no"):
        restore(tmp_path / "nothing", empty)
    with pytest.raises(BadStudy, match="holds no study"):
        backup(empty, tmp_path / "b.db")
    empty.close()


def test_a_backup_is_one_file(local, tmp_path):
    (tmp_path / "to").mkdir()
    backup(local.database, tmp_path / "to" / "backup.db")
    assert [file.name for file in (tmp_path / "to").iterdir()] == ["backup.db"]
