"""What a participant will see: nothing in it depends on trial type or answer; and the gallery, which tells all."""

import io
import json
import re
import struct
from collections import Counter

import pytest
from PIL import Image

from bayesteach.artifacts import Stimuli
from bayesteach.pipeline import BY_NAME
from bayesteach.stages.compose import Composed
from bayesteach.store.stimuli import pictures_of
from bayesteach.store.workspace import Workspace


@pytest.fixture(scope="module")
def composed(finished) -> Composed:
    return Workspace(finished).load("compose", Composed)


@pytest.fixture(scope="module")
def stimuli(composed) -> Stimuli:
    return composed.stimuli


def test_every_trial_with_a_lesson_is_there_and_every_picture_is_used_once(stimuli, finished):
    lessons = Workspace(finished).load("teach", BY_NAME["teach"].output)
    assert len(stimuli.shown) == len(stimuli.hidden) == len(lessons.lessons)
    used = Counter(name for shown in stimuli.shown for name in set(pictures_of(shown)))
    assert set(used) | {"legend"} == set(stimuli.pictures)
    assert set(used.values()) == {1}


def test_each_arm_shows_what_it_is_for(stimuli):
    for shown in stimuli.shown:
        arms = shown.panels
        assert (arms["control"].overlay, arms["control"].groups) == (None, ())
        assert arms["saliency"].overlay is not None
        assert arms["saliency"].groups == ()
        assert arms["examples"].overlay is None
        assert [group.overlays for group in arms["examples"].groups] == [(), ()]
        assert arms["both"].overlay == arms["saliency"].overlay
        assert [len(group.overlays) for group in arms["both"].groups] == [2, 2]
        assert [g.images for g in arms["both"].groups] == [g.images for g in arms["examples"].groups]


def test_options_and_groups_stand_in_the_order_of_the_alphabet(stimuli):
    for shown, hidden in zip(stimuli.shown, stimuli.hidden, strict=True):
        assert shown.options == tuple(sorted((hidden.target, hidden.alternative)))
        for group, option in zip(shown.panels["both"].groups, shown.options, strict=True):
            assert group.heading == option


def test_what_a_browser_may_know_has_no_word_of_the_rest(stimuli):
    text = repr(stimuli.shown)
    for word in ("target", "alternative", "correct", "adversarial", "standard", "mined", "confidence"):
        assert word not in text
    for hidden in stimuli.hidden:
        assert str(hidden.covariates["probe"]) not in text
        assert str(hidden.covariates["design_trial"]) not in text


def test_names_are_random_and_trials_in_random_order(stimuli):
    names = [name for shown in stimuli.shown for name in (shown.trial, *pictures_of(shown))]
    assert all(re.fullmatch(r"[0-9a-f]{24}", name) for name in names)
    types = [hidden.trial_type for hidden in stimuli.hidden]
    assert types != sorted(types)


def test_pictures_have_one_size_and_no_metadata(stimuli):
    for name, data in stimuli.pictures.items():
        if name != "legend":
            assert Image.open(io.BytesIO(data)).size == (64, 64)
        chunks, at = [], 8
        while at < len(data):
            (length,) = struct.unpack(">I", data[at : at + 4])
            chunks.append(data[at + 4 : at + 8])
            at += 12 + length
        assert set(chunks) == {b"IHDR", b"IDAT", b"IEND"}


def test_the_file_keeps_apart_what_a_browser_may_know(finished):
    table = json.loads((finished / "artifacts" / "compose" / "stimuli" / "stimuli.json").read_text("utf-8"))
    assert set(table) == {"arms", "shown", "hidden"}
    assert {row["trial"] for row in table["shown"]} == {row["trial"] for row in table["hidden"]}


def test_covariates_say_what_stands_behind_a_trial(stimuli):
    for hidden in stimuli.hidden:
        assert {"confidence", "prior", "posterior", "taught", "effective_samples", "map_noise", "map_verdict"} <= set(
            hidden.covariates
        )


def test_the_gallery_is_one_file_with_every_trial_and_its_numbers(composed):
    page = composed.gallery
    assert "http" not in re.sub(r'xmlns="[^"]+"', "", page)
    assert page.count("<article") == len(composed.stimuli.shown)
    for hidden in composed.stimuli.hidden:
        assert f'data-id="{hidden.covariates["design_trial"]}"' in page
        assert f"{hidden.covariates['confidence']:.3f}" in page
    verdicts = [str(hidden.covariates["map_verdict"]) for hidden in composed.stimuli.hidden]
    for verdict in set(verdicts):
        assert f"· {verdicts.count(verdict)} {verdict}" in page
        assert page.count(f'<dd class="worth">{verdict}</dd>') == verdicts.count(verdict)
    pictures = sum(len(set(pictures_of(shown))) for shown in composed.stimuli.shown)
    assert page.count("data:image/webp;base64,") == pictures + 1
