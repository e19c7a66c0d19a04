"""What an installation brings: the program, and what its server gives to browsers."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from importlib.metadata import version
from pathlib import Path

import httpx
import pytest

from tests.study import small
from tests.study.server import server

ROOT = Path(__file__).parent.parent
STATIC = "bayesteach/study/static"
GIVEN = {"check.png", "icon.svg", "notices.txt", "study.css", "study.js"}


def wheel(tree: Path, to: Path, *how: str, **env: str) -> Path:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", to, *how, tree]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | env)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = to.glob("*.whl")
    return made


def test_a_wheel_holds_what_browsers_and_the_server_need(tmp_path):
    """Packed from what this installation built; building it anew is the long version, below."""
    packed = wheel(ROOT, tmp_path, "--no-build-isolation", "--no-index", HATCH_BUILD_NO_HOOKS="true")
    names = set(zipfile.ZipFile(packed).namelist())
    assert {f"{STATIC}/{name}" for name in GIVEN} <= names
    sources = [
        path for path in (ROOT / "src" / "bayesteach").rglob("*") if path.suffix in {".html", ".md", ".toml", ".pyi"}
    ]
    own = {path.relative_to(ROOT / "src").as_posix() for path in sources if "frontend" not in path.parts}
    assert {"bayesteach/__init__.pyi", "bayesteach/study/templates/participant/trials.html"} <= own <= names
    assert not [name for name in names if "frontend" in name or name.startswith("tests")]


@pytest.mark.verify
def test_a_wheel_from_a_clean_tree_is_a_program_with_a_study_server(tmp_path, monkeypatch):
    """Fetches from PyPI what builds a wheel, and from npm what browsers get; what runs it is the tests' own environment."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("static", "node_modules", "__pycache__"))
    made = wheel(tree, tmp_path / "wheels", PIP_CONSTRAINT=str(ROOT / "constraints.txt"))

    clean = tmp_path / "clean"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", clean], check=True)
    python = clean / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", made],
        check=True,
    )
    (packages,) = (clean / "lib").glob("python*/site-packages")
    # The packages of this environment, and not the editable installation among them: its own .pth file is not read from here.
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    found = subprocess.run(
        [python, "-c", "import bayesteach as b; print(b.__file__)"], capture_output=True, text=True, check=True
    )
    assert found.stdout.startswith(str(packages))

    program = str(clean / "bin" / "bayesteach")
    for words in (["--help"], ["demo", "--help"], ["--version"]):
        said = subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout
        assert ("Usage: bayesteach" in said) == ("--help" in words)
    assert said == f"bayesteach {version('bayesteach')}\n"
    study = small.write(tmp_path / "study")
    with server(study, f"sqlite:///{tmp_path / 'study.db'}", 0, program=[program]) as running:
        with httpx.Client(base_url=running.base, timeout=30, follow_redirects=True) as client:
            assert "/static/study.js" in client.get("/?mode=test").text + client.get("/device").text
            for name in GIVEN:
                given = client.get(f"/static/{name}")
                assert given.content == (packages / STATIC / name).read_bytes()
        assert running.interrupt() == 0
