"""Simulated studies in a folder, one line each, so that an interrupted run goes on where it stopped."""

import csv
import tomllib
from collections.abc import Callable, Sequence
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import tomli_w

from bayesteach.analysis.figures import power_figure, save
from bayesteach.analysis.power import Study, power_table, run
from bayesteach.analysis.simulate import Effects, arms, paper_trials
from bayesteach.errors import BadInput, OutOfRange

SETTINGS, SIMULATIONS, TABLE, FIGURE = "power.toml", "simulations.csv", "power.csv", "power"


def simulate_power(  # noqa: PLR0913 — one a setting of the simulated study
    folder: Path,
    effects: Effects,
    sizes: Sequence[int],
    simulations: int,
    *,
    trials: pd.DataFrame | None = None,
    conditions: pd.DataFrame | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """The table of power, after the simulations that the folder still lacks; `progress` is told how many are done of how many.

    The table is of all that the folder holds. Sizes and simulations can be added to it, not other effects, trials, conditions or
    seeds. Without `conditions`, a table of condition and its factors, they are the paper's four.
    """
    if simulations < 1 or not sizes:
        raise OutOfRange(
            f"power: found {simulations} simulations of {len(sizes)} sizes, expected at least one of each."
        )
    studies = [Study.of(effects, size, trials, conditions) for size in dict.fromkeys(sizes)]
    folder.mkdir(parents=True, exist_ok=True)
    _same_settings(folder / SETTINGS, _settings(effects, trials, conditions, seed))
    file = folder / SIMULATIONS
    done = _kept(file)
    asked = [(study.participants, number) for study in studies for number in range(simulations)]
    have = set(zip(done["participants"], done["simulation"], strict=True)) if len(done) else set()
    # Small and large by turns, so that the time left is told truly from the start.
    missing = sorted((task for task in asked if task not in have), key=lambda task: (task[1], task[0]))
    count = len(asked) - len(missing)
    with file.open("a", newline="", encoding="utf-8") as stream:
        for record in run(studies, missing, seed, workers):
            if stream.tell() == 0:
                csv.writer(stream).writerow(record)
            stream.write(_line(record))
            stream.flush()
            count += 1
            if progress is not None:
                progress(count, len(asked))
    table = power_table(_kept(file), effects)
    table.to_csv(folder / TABLE, index=False)
    save(power_figure(table), folder, FIGURE)
    return table


def _settings(
    effects: Effects, trials: pd.DataFrame | None, conditions: pd.DataFrame | None, seed: int
) -> dict[str, Any]:
    """What all simulations of a folder have in common."""
    shown = (arms() if conditions is None else conditions).to_dict("records")
    of_trials = paper_trials() if trials is None else trials
    digest = sha256(of_trials.to_csv(index=False).encode()).hexdigest()
    common = {"seed": seed, "trials": len(of_trials), "trials_sha256": digest}
    return {**common, "conditions": shown, "effects": dict(effects.coefficients), "sds": dict(effects.sds)}


def _same_settings(file: Path, settings: dict[str, Any]) -> None:
    if file.is_file():
        kept = tomllib.loads(file.read_text("utf-8"))
        other = [name for name in settings if kept.get(name) != settings[name]]
        if other:
            raise BadInput(
                f"{file.parent} holds simulations with other {', '.join(other)}. Choose another folder with --out, or "
                "delete that one."
            )
    file.write_text(tomli_w.dumps(settings), "utf-8")


def _kept(file: Path) -> pd.DataFrame:
    """The simulations that are there, less a last line that an interruption cut short."""
    if not file.is_file():
        return pd.DataFrame()
    text = file.read_text("utf-8")
    if not text.endswith("\n"):
        text = text[: text.rfind("\n") + 1]
        file.write_text(text, "utf-8")
    return pd.read_csv(StringIO(text)) if text else pd.DataFrame()


def _line(record: dict[str, float]) -> str:
    """One line, written whole."""
    stream = StringIO(newline="")
    csv.writer(stream, lineterminator="\n").writerow(f"{value:.9g}" for value in record.values())
    return stream.getvalue()
