"""Materials, texts, migrations and the lock at launch."""

import json
import tomllib

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import select, text, update

from bayesteach.errors import BadStudy
from bayesteach.settings import Arm
from bayesteach.study.database import connect
from bayesteach.study.launch import launch
from bayesteach.study.materials import read_materials
from bayesteach.study.migrations import migrate
from bayesteach.study.server import prepare
from bayesteach.study.tables import launches, metadata, participants
from bayesteach.study.texts import PAGES, read_texts, rendered, write_texts
from tests.study import small
from tests.study.conftest import browsers


def test_materials_are_locked_when_the_first_person_has_agreed(folder, url, serve):
    serve(folder, url)
    consent = folder / "texts" / "consent.md"
    consent.write_text("# Other consent\n")
    here = serve(folder, url)  # nobody was there: a text may change
    for browser in browsers(here):
        browser().agree("/?mode=test")
    consent.write_text("# Third consent\n")
    here = serve(folder, url)  # tests do not lock it either
    for browser in browsers(here):
        browser().agree()
    consent.write_text("# Fourth consent\n")
    (folder / "texts" / "debrief.md").write_text("# Other\n")
    with pytest.raises(BadStudy) as refused:
        serve(folder, url)
    assert "1 people have taken part" in str(refused.value)
    assert "texts/consent.md, texts/debrief.md" in str(refused.value)
    assert "--new-launch" in str(refused.value)
    again = serve(folder, url, anew=True)
    with again.database.read() as connection:
        rows = connection.execute(select(launches)).all()
        person = connection.execute(select(participants).where(participants.c.mode == "live")).one()
    assert len(rows) == 4
    assert again.launch.id == rows[-1].id != person.launch
    assert len({row.consent for row in rows}) == 4
    assert person.consent == rows[2].consent


def test_pictures_and_trials_are_locked_too(folder, sqlite, serve):
    for browser in browsers(serve(folder, sqlite)):
        browser().agree()
    small.compose(folder, small.stimuli(seed=1))
    with pytest.raises(BadStudy, match=r"artifacts/compose/stimuli/pictures/\w+\.png"):
        serve(folder, sqlite)


def test_a_picture_that_has_changed_is_noticed(folder, sqlite, serve):
    picture = next((folder / "artifacts" / "compose" / "stimuli" / "pictures").glob("*.png"))
    picture.write_bytes(picture.read_bytes() + b"x")
    with pytest.raises(BadStudy, match=f"{picture.name} has changed"):
        serve(folder, sqlite)


def test_how_many_people_are_wanted_may_change(tmp_path, sqlite, serve):
    for browser in browsers(serve(small.write(tmp_path / "s", participants=2), sqlite)):
        browser().agree()
    small.write(tmp_path / "s", participants=3, lease_minutes=9.0)
    serve(tmp_path / "s", sqlite)
    small.write(tmp_path / "s", trials_per_person=3)
    with pytest.raises(BadStudy, match="study.toml"):
        serve(tmp_path / "s", sqlite)


def test_who_was_there_at_another_launch_finds_a_closed_door(folder, sqlite, serve):
    for browser in browsers(serve(folder, sqlite)):
        browser().agree("/?participant=1").to("trials")
    (folder / "texts" / "debrief.md").write_text("# Other\n")
    for browser in browsers(serve(folder, sqlite, anew=True)):
        old = browser().agree("/?participant=1")
        assert old.step == "full"
        assert old.client.get("/api/session").status_code == 409
        assert browser().agree("/?participant=2").step == "instructions"


def test_the_tables_are_those_of_the_last_migration(url):
    database = connect(url)
    migrate(database)
    migrate(database)
    with database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    database.close()


def test_a_database_of_a_newer_version_is_refused(folder, url, serve):
    here = serve(folder, url)
    with here.database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(BadStudy, match="newer version of bayesteach .*9999"):
        prepare(folder, url)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("nonsense", "no address"),
        ("mysql://x/y", "expected sqlite or postgresql"),
        ("sqlite://", "needs a file"),
        ("sqlite:////nowhere/at/all/x.db", "does not answer"),
        ("postgresql://nobody@127.0.0.1:1/x", "does not answer"),
    ],
)
def test_an_address_that_leads_nowhere(folder, url, says):
    with pytest.raises(BadStudy, match=says):
        prepare(folder, url)


def test_a_study_without_stimuli(tmp_path):
    (tmp_path / "study.toml").write_text("")
    with pytest.raises(BadStudy, match="bayesteach run"):
        read_materials(tmp_path)


def test_texts_are_written_once_and_kept(folder):
    arms = read_materials_arms(folder)
    written = {file.name for file in write_texts(folder, arms)}
    assert {f"{name}.md" for name in PAGES} <= written
    (folder / "texts" / "landing.md").write_text("Willkommen")
    (folder / "texts" / "full.md").unlink()
    assert [file.name for file in write_texts(folder, arms)] == ["full.md"]
    assert "Willkommen" in read_texts(folder, arms).pages["landing"]


def read_materials_arms(folder):
    from bayesteach.settings import read_settings  # noqa: PLC0415

    return read_settings(folder).study.arms


def test_every_ending_has_a_code_that_nobody_guesses(folder):
    write_texts(folder, [])
    codes = [row["code"] for row in tomllib.loads((folder / "texts" / "endings.toml").read_text()).values()]
    assert len(set(codes)) == 5
    assert all(len(code) == 8 for code in codes)


def test_instructions_of_arms_follow_what_they_show(folder):
    arms = [
        Arm(name="control"),
        Arm(name="heat", probe="rise"),
        Arm(name="near", examples="nearest"),
        Arm(name="all_of_it", probe="rise", examples="nearest"),
    ]
    write_texts(folder, arms)
    found = read_texts(folder, arms).arms
    assert [("coloured" in found[arm.name], "learnt from" in found[arm.name]) for arm in arms] == [
        (False, False),
        (True, False),
        (False, True),
        (True, True),
    ]


def test_markdown_makes_no_html_of_others():
    html = rendered("<script>alert(1)</script> [x](javascript:alert(1)) **bold** <b onclick=x>")
    assert "<script" not in html
    assert "<b " not in html
    assert 'href="javascript' not in html
    assert "<strong>bold</strong>" in html


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("study.toml", "title = ", "Mend the line"),
        ("comprehension.toml", '[[question]]\nname = "a"\ntext = "b"\noptions = ["x", "y"]\nanswer = 3', "there are 2"),
        ("comprehension.toml", '[[question]]\nname = "a b"\ntext = "b"\noptions = ["x", "y"]\nanswer = 1', "name"),
        ("demographics.toml", '[[question]]\nname = "a"\ntext = "b"\nkind = "colour"', "kind"),
        ("demographics.toml", '[[question]]\nname = "a"\ntext = "b"\nkind = "choice"', "two or more"),
        ("endings.toml", '[complet]\ncode = "x"', "no ending 'complet'"),
        ("endings.toml", '[complete]\nredirect = "javascript:x"', "redirect"),
    ],
)
def test_a_text_that_cannot_be_used_is_named(folder, file, content, says):
    write_texts(folder, read_materials_arms(folder))
    (folder / "texts" / file).write_text(content)
    with pytest.raises(BadStudy, match=says) as refused:
        read_texts(folder, read_materials_arms(folder))
    assert file in str(refused.value)


def test_another_language_reaches_every_page(folder, sqlite, serve):
    write_texts(folder, read_materials_arms(folder))
    study = folder / "texts" / "study.toml"
    study.write_text('title = "דוגמה"\nlang = "he"\ndir = "rtl"\n[buttons]\ncontinue = "הלאה"\n')
    for browser in browsers(serve(folder, sqlite)):
        person = browser().agree()
        assert '<html lang="he" dir="rtl">' in person.html
        assert "הלאה" in person.html
        # What the file does not say stands in English.
        assert "I agree and take part" in browser().get("/consent").text


def test_several_launches_at_once_make_one(folder, url):
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    write_texts(folder, read_materials_arms(folder))
    materials = read_materials(folder)
    databases = [connect(url) for _ in range(6)]
    with ThreadPoolExecutor(6) as crowd:
        made = list(crowd.map(lambda database: launch(database, materials), databases))
    assert len({one.id for one in made}) == len({one.keys for one in made}) == 1
    for database in databases:
        database.close()


def test_no_materials_hold_a_secret(folder, sqlite, serve):
    """What the lock keeps of study.toml is what anybody may read in an export."""
    here = serve(folder, sqlite)
    with here.database.write() as connection:
        kept = connection.scalar(select(launches.c.settings))
        connection.execute(update(launches).values(settings=kept))
    assert here.launch.keys.secret not in json.dumps(kept)
