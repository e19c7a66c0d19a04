"""Every test runs with the shapes in the annotations checked, in one thread's reproducible order."""

import os
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

import tests.typecheck  # noqa: F401 — the hook below finds it by name

# Before the first import of the package: from here on each call checks its jaxtyping annotations.
install_import_hook("bayesteach", "tests.typecheck.check")

import pytest  # noqa: E402 — after the hook, like everything that could import the package
import torch  # noqa: E402

from bayesteach.recipes import commented  # noqa: E402
from tests import small_study  # noqa: E402

if TYPE_CHECKING:
    from bayesteach.vision.classifier import Classifier

CACHE = os.environ.get("BAYESTEACH_CACHE")

# A shell that starts the tests in the background has them ignore Ctrl-C, and with them every program that they interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "check", max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("verify", max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "check"))


@pytest.fixture
def rng() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small study's folder with nothing made yet."""
    folder = tmp_path_factory.mktemp("images")
    small_study.write_study(folder, {"train": 12, "val": 12, "adversarial": 6})
    (folder / "study.toml").write_text(commented(small_study.SAID))
    return folder


@pytest.fixture(scope="session")
def finished(images: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, undisturbed to its end."""
    folder = tmp_path_factory.mktemp("finished") / "study"
    shutil.copytree(images, folder)
    small_study.make(folder)
    return folder


@pytest.fixture(scope="session")
def embedded() -> "Classifier":
    """The embedded classifier, trained once on a machine: its weights stay in the user's own cache, whatever a test sets."""
    from bayesteach.vision.classifier import Classifier  # noqa: PLC0415 — after the hook

    with pytest.MonkeyPatch.context() as patch:
        if CACHE is None:
            patch.delenv("BAYESTEACH_CACHE", raising=False)
        else:
            patch.setenv("BAYESTEACH_CACHE", CACHE)
        return Classifier.load("embedded")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the long versions to `make verify`, which asks for them with -m verify."""
    if "verify" not in config.getoption("markexpr"):
        items[:] = [item for item in items if "verify" not in item.keywords]
