"""What the arms of a study ask for, looked at before hours of work: every explainer is known, installed, and there."""

from collections.abc import Mapping
from pathlib import Path

from bayesteach.errors import BadSettings
from bayesteach.explain.attributions import MISSING, installed
from bayesteach.settings import Settings
from bayesteach.stages.highlight import ATTRIBUTIONS, maps_of
from bayesteach.stages.own_explainers import digest, is_own
from bayesteach.stages.teach import examples_of


def check_arms(settings: Settings, root: Path) -> None:
    """Refuse arms that name what cannot explain."""
    for arm in settings.study.arms:
        if arm.probe is not None:
            maps_of(arm.probe, root)
            if arm.probe in ATTRIBUTIONS and not installed():
                raise BadSettings(MISSING)
        if arm.examples is not None:
            examples_of(arm.examples, root)


def own_digests(settings: Settings, root: Path) -> Mapping[str, str]:
    """The users' own explainers that arms name, and what they hang on."""
    names = {name for arm in settings.study.arms for name in (arm.probe, arm.examples) if name is not None}
    return {name: digest(name, root) for name in sorted(names) if is_own(name)}
