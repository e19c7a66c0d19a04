"""Both likelihood-ratio statistics: of this study, of the paper, and of many simulated studies."""

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bayesteach.analysis.figures import FAINT, INK, STYLE
from bayesteach.analysis.simulate import PUBLISHED_TESTS

_OURS, _PAPER = "#0b6e6e", "#c05a00"


def tests_figure(simulated: pd.DataFrame, ours: Mapping[str, float]) -> Figure:
    """A panel a test: a point a simulated study, their central 95 %, and two lines."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.4, 2.6), dpi=200, layout="constrained")
        axes = figure.subplots(1, len(PUBLISHED_TESTS))
        for axis, ((larger, smaller), (published, df)) in zip(axes, PUBLISHED_TESTS.items(), strict=True):
            values = simulated[larger].dropna().to_numpy()
            axis.hist(values, bins=24, color="#dcdcd6", edgecolor="white", linewidth=0.6)
            low, high = np.quantile(values, [0.025, 0.975])
            axis.axvspan(low, high, color="#f5f5f3", zorder=0)
            axis.axvline(ours[larger], color=_OURS, linewidth=2, label=f"this study {ours[larger]:.1f}")
            axis.axvline(
                published, color=_PAPER, linewidth=2, linestyle=(0, (4, 2)), label=f"the paper {published:.2f}"
            )
            axis.set_title(f"{larger} against {smaller}, {df} df", fontsize=10, fontweight="bold", loc="left")
            axis.set_xlabel("χ²")
            axis.set_yticks([])
            axis.spines[["top", "right", "left"]].set_visible(False)
            axis.spines["bottom"].set_color(FAINT)
            axis.tick_params(colors=INK)
            axis.legend(frameon=False, fontsize=8.5, loc="upper center", bbox_to_anchor=(0.5, -0.28), ncols=2)
        return figure
