"""The classifier of the drawn world."""

from pathlib import Path

from bayesteach.errors import BadClassifier
from bayesteach.vision.classifier import Classifier
from bayesteach.vision.geometry import Geometry
from bayesteach.vision.shortcuts.network import MEAN, STD, ShortcutNet
from bayesteach.vision.shortcuts.picture import SIDE
from bayesteach.vision.shortcuts.training import trained_weights
from bayesteach.vision.shortcuts.world import LABELS
from bayesteach.vision.weights import load_weights

NAME = "embedded"


def embedded(checkpoint: Path | None = None) -> Classifier:
    """The network as it was trained on this machine, or with the weights of a file."""
    weights = load_weights(checkpoint) if checkpoint else trained_weights()
    network = ShortcutNet(len(LABELS))
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise BadClassifier(f"checkpoint: {checkpoint} does not fit the embedded network: {reason}") from error
    return Classifier.from_module(
        network, head="head", preprocess=Geometry((SIDE, SIDE), SIDE), mean=MEAN, std=STD, labels=LABELS, name=NAME
    )
