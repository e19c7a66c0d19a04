"""What a browser gets never tells the answer."""

import io
import json
from collections import Counter
from random import Random

import pytest
from PIL import Image
from scipy.stats import binomtest

from bayesteach.study import plan
from tests.study import small
from tests.study.conftest import browsers
from tests.study.people import body


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """What 60 people get: every trial's JSON beside what is hidden of it."""
    from bayesteach.study.server import prepare  # noqa: PLC0415

    base = tmp_path_factory.mktemp("many")
    here = prepare(small.write(base), f"sqlite:///{base}/study.db").serving
    by_probe = {f"/pictures/{row.probe}.png": here.materials.hidden[row.trial] for row in here.materials.stimuli.shown}
    found = []
    for browser in browsers(here):
        for _ in range(60):
            whole = browser().agree("/?mode=test").to("trials").session()
            found += [(trial, by_probe[trial["probe"]], whole["total"]) for trial in whole["trials"]]
    yield here, found
    here.database.close()


def test_the_json_names_no_more_than_the_options_and_the_headings(many):
    _, found = many
    secrets = {"standard_correct", "adversarial", "standard_incorrect", "attention", "practice", "confidence"}
    for trial, hidden, _ in found:
        text = json.dumps(trial)
        assert not any(word in text for word in secrets)
        assert hidden.trial not in text
        assert set(trial) == {"index", "options", "probe", "overlay", "groups"}
        assert set(trial["options"]) == {hidden.target, hidden.alternative}
        assert [group["heading"] for group in trial["groups"]] in ([], trial["options"])
    # The ground truth is told where it is an option, and nowhere else.
    assert len({hidden.trial for _, hidden, _ in found}) == 14


def test_the_side_of_the_target_is_the_toss_of_a_coin(many):
    _, found = many
    left = sum(trial["options"][0] == hidden.target for trial, hidden, _ in found)
    assert binomtest(left, len(found)).pvalue > 0.001
    for kind in ("standard_correct", "standard_incorrect", "adversarial_incorrect"):
        sides = [trial["options"][0] == hidden.target for trial, hidden, _ in found if hidden.trial_type == kind]
        assert binomtest(sum(sides), len(sides)).pvalue > 0.001


def test_examples_stand_on_the_side_of_their_option(many):
    here, found = many
    for trial, hidden, _ in found:
        for group, option in zip(trial["groups"], trial["options"], strict=False):
            panel = here.materials.shown[hidden.trial].panels["both"]
            own = next(g for g in panel.groups if g.heading == option)
            assert group["images"] == [f"/pictures/{name}.png" for name in own.images]


def test_the_order_tells_nothing(many):
    """Every trial comes first, and last, about as often as any other."""
    _, found = many
    halves = Counter((hidden.trial_type, trial["index"] < total / 2) for trial, hidden, total in found)
    for kind in ("standard_correct", "standard_incorrect", "adversarial_incorrect"):
        early, late = halves[kind, True], halves[kind, False]
        assert binomtest(early, early + late).pvalue > 0.001


def test_the_names_of_pictures_tell_nothing(many):
    here, _ = many
    names = [row.probe for row in here.materials.stimuli.shown]
    assert all(len(name) == 24 and int(name, 16) >= 0 for name in names)


def test_pictures_carry_no_metadata_and_have_one_size(many):
    here, _ = many
    sizes = set()
    for browser in browsers(here):
        client = browser().client
        for name in here.materials.stimuli.pictures:
            answer = client.get(f"/pictures/{name}.png")
            picture = Image.open(io.BytesIO(answer.content))
            assert picture.info == {}
            sizes.add(picture.size)
            headers = set(answer.headers) - {"content-length"}
            assert headers == set(client.get("/pictures/legend.png").headers) - {"content-length"}
            assert "immutable" in answer.headers["cache-control"]
        assert client.get("/pictures/../stimuli.json").status_code == 404
        assert client.get("/pictures/..%2f..%2fstimuli.png").status_code == 404
    assert len(sizes) == 1


def test_an_answer_is_acknowledged_alike_right_or_wrong(local, visit):
    answers = []
    for right in (True, False):
        browser = visit().agree("/?mode=test").to("trials")
        whole = browser.session()
        for index, trial in enumerate(whole["trials"]):
            hidden = next(
                local.materials.hidden[row.trial]
                for row in local.materials.stimuli.shown
                if f"/pictures/{row.probe}.png" == trial["probe"]
            )
            choice = trial["options"].index(hidden.target if right else hidden.alternative)
            answer = browser.send(body(index, choice), whole["csrf"])
            answers.append((index, answer.json(), sorted(answer.headers.items())))
    half = len(answers) // 2
    assert answers[:half] == answers[half:]


def test_the_right_answers_to_the_instructions_stay_on_the_server(folder, sqlite, serve):
    pages = []
    file = folder / "texts" / "comprehension.toml"
    for answer in ("answer = 2", "answer = 3"):
        serve(folder, sqlite)
        file.write_text(file.read_text().replace("answer = 2", answer))
        pages += [browser().agree("/?mode=test").to("comprehension") for browser in browsers(serve(folder, sqlite))]
    assert pages[0].csrf != pages[1].csrf
    assert pages[0].html.replace(pages[0].csrf, "") == pages[1].html.replace(pages[1].csrf, "")


def test_practice_shows_no_explanation_and_no_arm(local, visit):
    whole = visit().agree().to("practice").session()
    assert whole["phase"] == "practice"
    assert [trial["overlay"] for trial in whole["trials"]] == [None]
    assert [trial["groups"] for trial in whole["trials"]] == [[]]
    assert whole["legend"] is None


def test_arms_show_what_they_are_to_show(local, visit):
    seen = {}
    for _ in range(8):
        browser = visit().agree("/?mode=test").to("trials")
        whole = browser.session()
        first = whole["trials"][0]
        overlays = bool(first["groups"]) and bool(first["groups"][0]["overlays"])
        seen[bool(first["overlay"]), bool(first["groups"]), overlays] = whole["legend"]
    assert seen == {
        (False, False, False): None,
        (True, False, False): "/pictures/legend.png",
        (False, True, False): None,
        (True, True, True): "/pictures/legend.png",
    }


@pytest.mark.parametrize("each", [1, 2, 5, 9, 12])
def test_a_share_of_the_trials_keeps_the_types_in_proportion(tmp_path, sqlite, serve, each):
    materials = serve(small.write(tmp_path / "s", trials_per_person=each), sqlite).materials
    counts = Counter()
    for seed in range(120):
        drawn = plan.trials(materials, Random(seed))
        own = [materials.hidden[row.trial] for row in drawn if materials.shown[row.trial].kind == "trial"]
        assert len({row.trial for row in own}) == len(own) == each
        types = Counter(row.trial_type for row in own)
        assert all(each // 3 <= types[kind] <= each // 3 + 1 for kind in set(types) | {"standard_correct"})
        assert len(drawn) == each + 2
        counts.update(row.trial for row in own)
    assert len(counts) == 12


def test_attention_trials_are_spread_and_never_first(local):
    places = Counter()
    for seed in range(200):
        drawn = plan.trials(local.materials, Random(seed))
        at = [i for i, row in enumerate(drawn) if local.materials.shown[row.trial].kind == "attention"]
        assert len(at) == 2
        assert 0 < at[0] <= 6 < at[1]
        places.update(at)
    assert len(places) > 10
