"""Maps by other methods, and users' own, brought to the one colour scale of a study.

A method's numbers have its own unit: logits, probabilities, nothing that has a name. Each gets one factor for the whole study, by
which the strongest hundredth of the pixels of all its maps takes the full colour; so a weak map stays weak beside a strong one.
"""

from collections.abc import Sequence

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from bayesteach.artifacts import SaliencyMaps
from bayesteach.errors import BadStudy, BayesteachError
from bayesteach.explain.attributions import Attribution
from bayesteach.settings import Settings
from bayesteach.stages.context import Context
from bayesteach.stages.explainers import Maps, Saliency
from bayesteach.vision.classifier import Classifier
from bayesteach.vision.overlay import SPAN

STRONG = 0.99


def attributed(name: str, attribution: Attribution) -> Saliency:
    """An attribution as an explainer of maps. It has no doubt of its own to show, and weighs no masks."""

    def explainer(_settings: Settings, context: Context, photo: Image.Image, labels: Sequence[int]) -> Maps:
        classifier = context.classifier()
        pixels = classifier.pixels(photo)
        found = torch.stack([_map(name, attribution, classifier, pixels, label) for label in labels])
        nothing = torch.zeros(len(labels), dtype=torch.float64)
        return Maps(found, torch.zeros_like(found), torch.full_like(nothing, torch.nan), nothing, (None,) * len(labels))

    return explainer


def on_one_scale(maps: SaliencyMaps, in_own_units: frozenset[str]) -> SaliencyMaps:
    """The maps of these explainers times one factor each; masks' departures have a unit, and stay as they are."""
    departures = maps.departures.clone()
    for name in in_own_units:
        places = [place for place, row in enumerate(maps.of) if row.explainer == name]
        if places:
            departures[places] *= SPAN / _strong(maps.departures[places])
    return SaliencyMaps(maps.of, departures, maps.doubts)


def _strong(departures: Tensor) -> float:
    sizes = departures.abs().numpy()
    return float(np.quantile(sizes, STRONG)) or float(sizes.max()) or 1.0


def _map(name: str, attribution: Attribution, classifier: Classifier, pixels: Tensor, label: int) -> Tensor:
    """What an attribution gives, if it is a map."""
    try:
        found = torch.as_tensor(attribution(classifier, pixels, label)).detach().float().cpu()
    except BayesteachError:
        raise
    except Exception as error:  # whatever a stranger's function can raise
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise BadStudy(f"study.arms: the explainer {name} failed ({reason}). Mend it, or name another.") from error
    if found.shape != pixels.shape[1:] or not bool(found.isfinite().all()):
        what = f"shape {tuple(found.shape)}" if found.shape != pixels.shape[1:] else "values that are not finite"
        raise BadStudy(
            f"study.arms: the explainer {name} gave {what}, expected one finite number for each of "
            f"{pixels.shape[1]} × {pixels.shape[2]} pixels."
        )
    return found
