"""What goes wrong, as a user meets it: run as a script, without the shape checks of the tests, it prints what was raised."""

import io
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch import nn

import bayesteach as bt
from bayesteach.analysis.analyse import Plan
from bayesteach.analysis.regressions import regress
from bayesteach.analysis.simulate import paper_trials, simulate
from bayesteach.responses import from_table, read_responses
from bayesteach.vision.classifier import Classifier
from bayesteach.vision.geometry import Geometry
from bayesteach.vision.images import ImageSet
from bayesteach.vision.photos import decode, open_photo

NAN = float("nan")
F = {"dtype": torch.float64}


def ones(*shape: int) -> torch.Tensor:
    return torch.ones(*shape, **F)


def head(rows: int = 3, cols: int = 2) -> bt.KroneckerGaussian:
    return bt.KroneckerGaussian(ones(rows, cols), torch.eye(rows, **F), torch.eye(cols, **F))


def sums() -> bt.CurvatureSums:
    p = torch.tensor([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], **F)
    return bt.CurvatureSums(3, 2).add(torch.tensor([[1.0, 2.0], [3.0, 1.0]], **F), p)


def scatter() -> bt.ScatterSums:
    features = torch.tensor([[0.0, 1.0], [0.5, 0.0], [4.0, 4.0], [4.5, 3.0]], **F)
    return bt.ScatterSums(2, 2).add(features, torch.tensor([0, 0, 1, 1]))


def pool() -> bt.Pool:
    return bt.Pool.of(torch.arange(4.0, **F).view(2, 2), -1 - torch.arange(4.0, **F).view(2, 2))


def holes(*shape: int) -> torch.Tensor:
    tensor = ones(*shape)
    tensor.view(-1)[-1] = NAN
    return tensor


def rng() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def learner() -> bt.Learner:
    return bt.Learner.between(head(), 0, 1)


def classifier(**changes: object) -> Classifier:
    net = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 2))
    return Classifier.from_module(net, **{"head": "2", "size": 8, "labels": ["cat", "dog"], **changes})


def file(name: str, content: str) -> Path:
    path = Path(tempfile.mkdtemp()) / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    return path


def fitted(formula: str, table: pd.DataFrame) -> object:
    return regress(bt.Formula.parse(formula), from_table(table).table)


def less_a_cell(table: pd.DataFrame) -> pd.DataFrame:
    return table[(table["trial_type"] != "standard_correct") | (table["saliency"] == 0)]


def photo() -> bytes:
    data = io.BytesIO()
    Image.new("RGB", (9, 8)).save(data, "PNG")
    return data.getvalue()


def regression(**changes: object) -> object:
    """Twelve answers by three people to two categories."""
    given: dict[str, object] = {
        "outcomes": np.array([0.0, 1, 1] * 4),
        "design": np.stack([np.ones(12), np.arange(12.0) % 5], 1),
        "groups": [np.arange(12) // 4, np.arange(12) % 2],
    }
    return bt.fit_hierarchical(**{**given, **changes})


def without(values: np.ndarray) -> np.ndarray:
    return np.where(np.arange(len(values)) == 3, NAN, values)


# name: (what is done, the error, what its message must say)
CASES: dict[str, tuple[Callable[[], object], str, list[str]]] = {
    "head of the wrong rows": (
        lambda: bt.KroneckerGaussian(ones(3, 2), ones(4, 4), ones(2, 2)),
        "BadShape",
        ["row_scale", "(4, 4)", "(3, row_rank)"],
    ),
    "head of the wrong cols": (
        lambda: bt.KroneckerGaussian(ones(3, 2), ones(3, 3), ones(5, 5)),
        "BadShape",
        ["col_scale"],
    ),
    "head with NaN": (
        lambda: bt.KroneckerGaussian(holes(3, 2), ones(3, 3), ones(2, 2)),
        "NotFinite",
        ["mean", "(2, 1)"],
    ),
    "head of integers": (
        lambda: bt.KroneckerGaussian(torch.ones(3, 2, dtype=torch.long), ones(3, 3), ones(2, 2)),
        "BadShape",
        ["torch.int64", ".float()"],
    ),
    "row out of range": (lambda: head().contrast(0, 3), "OutOfRange", ["other", "3", "0 to 2"]),
    "row below range": (lambda: head().contrast(-1, 0), "OutOfRange", ["row", "-1"]),
    "features of the wrong width": (lambda: head().at(ones(4, 5)), "BadShape", ["features", "(4, 5)", "(…, 2)"]),
    "features with infinity": (lambda: head().at(ones(4, 2) / 0), "NotFinite", ["features", "8 of 8"]),
    "features too large for their logits": (
        lambda: head().at(torch.full((1, 2), 1e200, **F)),
        "NotFinite",
        ["spread of the logits"],
    ),
    "no draws": (lambda: head().at(ones(1, 2)).probabilities(rng(), 0), "Empty", ["draws"]),
    "no draws of weights": (lambda: head().probabilities_by_weights(ones(1, 2), rng(), 0), "Empty", ["draws"]),
    "curvature of no classes": (lambda: bt.CurvatureSums(0, 2), "Empty", ["classes"]),
    "curvature of nothing": (lambda: bt.CurvatureSums(3, 2).posterior(ones(3, 2)), "Empty", ["images"]),
    "curvature of other features": (lambda: sums().add(ones(1, 3), ones(1, 3) / 3), "BadShape", ["features", "(1, 3)"]),
    "curvature of fewer answers": (lambda: sums().add(ones(2, 2), ones(1, 3) / 3), "BadShape", ["probabilities"]),
    "curvature of logits": (
        lambda: sums().add(ones(1, 2), 4 * ones(1, 3)),
        "OutOfRange",
        ["row 0 sums to 12", "softmax"],
    ),
    "curvature with NaN": (lambda: sums().add(holes(1, 2), ones(1, 3) / 3), "NotFinite", ["features", "(0, 1)"]),
    "curvature of certainty": (
        lambda: bt.CurvatureSums(2, 2).add(ones(1, 2), torch.tensor([[1.0, 0.0]], **F)).posterior(ones(2, 2)),
        "BadInput",
        ["certainty", "prior_precision"],
    ),
    "another head": (lambda: sums().posterior(ones(4, 2)), "BadShape", ["head", "(4, 2)"]),
    "no images stood for": (lambda: sums().posterior(ones(3, 2), n=0), "OutOfRange", ["n, the number of images"]),
    "negative precision": (
        lambda: sums().posterior(ones(3, 2), prior_precision=-1.0),
        "OutOfRange",
        ["prior_precision", "-1"],
    ),
    "shrinkage above one": (lambda: sums().posterior(ones(3, 2), shrinkage=1.5), "OutOfRange", ["shrinkage", "1.5"]),
    "sums that do not match": (lambda: sums() + bt.CurvatureSums(4, 2), "BadShape", ["classes"]),
    "held-out labels out of range": (
        lambda: bt.choose_shrinkage(sums(), ones(3, 2), ones(2, 2), torch.tensor([0, 3]), rng()),
        "OutOfRange",
        ["labels", "found 3 at index (1,)", "0 to 2"],
    ),
    "no held-out images": (
        lambda: bt.choose_shrinkage(sums(), ones(3, 2), ones(0, 2), torch.ones(0, dtype=torch.long), rng()),
        "Empty",
        ["held-out"],
    ),
    "refit of nothing": (
        lambda: bt.refit_head(ones(0, 2), torch.ones(0, dtype=torch.long), ones(3, 2)),
        "Empty",
        ["images"],
    ),
    "refit of no classes": (
        lambda: bt.refit_head(ones(4, 2), torch.zeros(4, dtype=torch.long), ones(0, 2)),
        "Empty",
        ["classes"],
    ),
    "refit with a label too many": (
        lambda: bt.refit_head(ones(2, 2), torch.tensor([0, 1, 2]), ones(3, 2)),
        "BadShape",
        ["labels", "(3,)", "(2)"],
    ),
    "refit with labels that are not whole": (
        lambda: bt.refit_head(ones(2, 2), ones(2), ones(3, 2)),
        "OutOfRange",
        ["labels", "whole numbers"],
    ),
    "refit without decay": (
        lambda: bt.refit_head(ones(2, 2), torch.tensor([0, 1]), ones(3, 2), weight_decay=0.0),
        "OutOfRange",
        ["weight_decay"],
    ),
    "learner of one class": (lambda: bt.Learner.between(head(), 1, 1), "OutOfRange", ["alternative", "class 1"]),
    "learner of a class that is not": (lambda: bt.Learner.between(head(), 0, 9), "OutOfRange", ["9", "0 to 2"]),
    "no prior": (lambda: bt.Learner.between(head(), 0, 1, prior_strength=0.0), "OutOfRange", ["prior_strength"]),
    "negative knowledge": (lambda: bt.Learner.between(head(), 0, 1, knowledge=-1.0), "OutOfRange", ["knowledge"]),
    "another probe": (
        lambda: learner().predict(ones(3), bt.Lessons(pool(), torch.tensor([[0, 2]]))),
        "BadShape",
        ["probe", "(3,)", "(2)"],
    ),
    "probe with NaN": (
        lambda: learner().predict(holes(2), bt.Lessons(pool(), torch.tensor([[0, 2]]))),
        "NotFinite",
        ["probe"],
    ),
    "pool with NaN": (lambda: bt.Pool.of(holes(2, 2), ones(2, 2)), "NotFinite", ["pool"]),
    "pool of two widths": (lambda: bt.Pool.of(ones(2, 2), ones(2, 3)), "BadShape", ["alternatives"]),
    "pool with ids missing": (
        lambda: bt.Pool.of(ones(2, 2), ones(1, 2), ["a"], ["b"]),
        "BadShape",
        ["1 ids for 2 images"],
    ),
    "lesson of an image that is not": (
        lambda: bt.Lessons(pool(), torch.tensor([[0, 4]])),
        "OutOfRange",
        ["members", "found 4", "0 to 3"],
    ),
    "lesson of no examples": (lambda: bt.Lessons(pool(), torch.ones(1, 0, dtype=torch.long)), "Empty", ["examples"]),
    "a pupil taught no examples": (
        lambda: learner().facing(ones(2), pool()).predict(torch.ones(1, 0, dtype=torch.long)),
        "Empty",
        ["examples"],
    ),
    "one lesson, not a batch": (lambda: bt.Lessons(pool(), torch.tensor([0, 2])), "BadShape", ["members"]),
    "threshold above one": (
        lambda: bt.first_past(learner(), ones(2), pool(), rng(), threshold=80.0),
        "OutOfRange",
        ["threshold", "80"],
    ),
    "no candidates": (lambda: bt.best_of(learner(), ones(2), pool(), rng(), candidates=0), "Empty", ["candidates"]),
    "no restarts": (lambda: bt.exchange(learner(), ones(2), pool(), rng(), restarts=0), "Empty", ["restarts"]),
    "no lessons wanted": (lambda: bt.from_teacher(learner(), ones(2), pool(), rng(), lessons=0), "Empty", ["lessons"]),
    "scatter of one class": (
        lambda: bt.ScatterSums(2, 2).add(ones(3, 2), torch.zeros(3, dtype=torch.long)).learner(),
        "BadInput",
        ["3 images of 1 classes"],
    ),
    "scatter of nothing": (lambda: bt.ScatterSums(2, 2).learner(), "BadInput", ["0 images of 0 classes"]),
    "scatter of a class too many": (
        lambda: scatter().add(ones(1, 2), torch.tensor([2])),
        "OutOfRange",
        ["labels", "found 2"],
    ),
    "classes that do not differ": (
        lambda: (
            bt.ScatterSums(2, 1)
            .add(torch.tensor([[-1.0], [1.0], [-1.0], [1.0]], **F), torch.tensor([0, 0, 1, 1]))
            .learner()
        ),
        "BadInput",
        ["differ no more"],
    ),
    "temperature of zero": (lambda: scatter().learner(temperature=0.0), "OutOfRange", ["temperature"]),
    "too few to hold out": (
        lambda: bt.choose_discriminant(scatter(), ones(2, 2), torch.tensor([0, 1]), rng()),
        "BadInput",
        ["held-out images", "Hold out more"],
    ),
    "masks of no size": (lambda: bt.MaskPrior(0), "OutOfRange", ["size: found 0"]),
    "masks of half a pixel": (lambda: bt.MaskPrior(8.5), "OutOfRange", ["size: found 8.5"]),
    "masks of three sides": (lambda: bt.MaskPrior((8, 8, 3)), "OutOfRange", ["size: found (8, 8, 3)"]),
    "masks beyond their precision": (
        lambda: bt.MaskPrior(8, 2.0, sd=1e38),
        "OutOfRange",
        ["sd 1e+38 in torch.float32"],
    ),
    "masks of no length": (lambda: bt.MaskPrior(length_scale=0.0), "OutOfRange", ["length_scale", "0.0"]),
    "masks of negative length": (lambda: bt.MaskPrior(length_scale=-2.0), "OutOfRange", ["length_scale"]),
    "masks that do not vary": (lambda: bt.MaskPrior(sd=0.0), "OutOfRange", ["sd"]),
    "masks that vary beyond measure": (lambda: bt.MaskPrior(sd=float("inf")), "OutOfRange", ["sd"]),
    "masks of no mean": (lambda: bt.MaskPrior(mean=NAN), "NotFinite", ["mean"]),
    "no masks": (lambda: bt.MaskPrior(8, 2.0).sample(0, rng()), "Empty", ["number of masks"]),
    "no Sobol masks": (lambda: bt.MaskPrior(8, 2.0).sample_sobol(0, 0), "Empty", ["number of masks"]),
    "a map of nothing": (lambda: bt.ExpectedMask(1, 4).map, "Empty", ["masks"]),
    "a map of another size": (
        lambda: bt.ExpectedMask(1, 4).add(ones(2, 4, 5), ones(2, 1)),
        "BadShape",
        ["masks", "(2, 4, 5)"],
    ),
    "a map of other classes": (
        lambda: bt.ExpectedMask(1, 4).add(ones(2, 4, 4), ones(2, 3)),
        "BadShape",
        ["log_weights"],
    ),
    "a map with NaN": (
        lambda: bt.ExpectedMask(1, 4).add(ones(2, 4, 4), holes(2, 1)),
        "NotFinite",
        ["log_weights", "(1, 0)"],
    ),
    "a map of masks with NaN": (lambda: bt.ExpectedMask(1, 4).add(holes(2, 4, 4), ones(2, 1)), "NotFinite", ["masks"]),
    "a map without weight": (
        lambda: bt.ExpectedMask(2, 4).add(ones(2, 4, 4), torch.tensor([[0.0, -torch.inf]] * 2)).map,
        "BadInput",
        ["classes [1] is zero"],
    ),
    "maps that do not match": (lambda: bt.ExpectedMask(1, 4) + bt.ExpectedMask(2, 4), "BadShape", ["2 classes"]),
    "a photo that is not there": (
        lambda: open_photo("no.jpg"),
        "BadImage",
        ["no.jpg", "No such file", "Check the path"],
    ),
    "a photo that is none": (
        lambda: decode(b"<html>", "cat.jpg"),
        "BadImage",
        ["cat.jpg", "no format", "leave it out"],
    ),
    "half a photo": (lambda: decode(photo()[:45], "cat.png"), "BadImage", ["cat.png", "cannot be read as a photo"]),
    "a decompression bomb": (lambda: decode(photo(), "cat.png", max_pixels=71), "BadImage", ["72 pixels", "bomb"]),
    "a folder that is not there": (
        lambda: ImageSet.from_folder("no", int),
        "BadImage",
        ["no folder", "Check the path"],
    ),
    "a folder without classes": (
        lambda: ImageSet.from_folder(file("cat.jpg", "").parent, int),
        "Empty",
        ["no folders with images", "ROOT/CLASS"],
    ),
    "a folder of an unknown class": (
        lambda: ImageSet.from_folder(file("yak/1.jpg", "").parent.parent, classifier().index),
        "BadImage",
        ["yak is not under a class", "none of the 2 labels"],
    ),
    "a table without labels": (
        lambda: ImageSet.from_csv(file("photos.csv", "path,class\na.jpg,cat\n"), classifier().index),
        "BadImage",
        ["photos.csv has columns path, class", "expected path and label"],
    ),
    "a table of photos that are not there": (
        lambda: ImageSet.from_csv(file("photos.csv", "path,label\na.jpg,cat\n"), classifier().index),
        "BadImage",
        ["none of 1 can be read", "a.jpg"],
    ),
    "a dataset of images without images": (
        lambda: ImageSet.from_hugging_face(file("rows.csv", "").parent, int, split="train"),
        "BadImage",
        ["could not be loaded", "save_to_disk"],
    ),
    "a row of no dataset": (lambda: open_photo("hf:photos#3"), "BadImage", ["hf:DATASET:SPLIT#ROW"]),
    "a classifier of no name": (lambda: Classifier.load("resnet50"), "BadClassifier", ["'resnet50'", "timm:MODEL"]),
    "weights that are not there": (
        lambda: Classifier.load("efficientnet-lite0", checkpoint="no.pth"),
        "BadClassifier",
        ["no file no.pth"],
    ),
    "weights that are none": (
        lambda: Classifier.load("efficientnet-lite0", checkpoint=file("w.pth", "<html>")),
        "BadClassifier",
        ["w.pth cannot be read as weights", "model.state_dict()"],
    ),
    "a head that is not there": (lambda: classifier(head="fc"), "BadClassifier", ["no layer 'fc'", "head="]),
    "labels too many": (lambda: classifier(labels=list("abc")), "BadClassifier", ["3 labels for 2 classes"]),
    "a size that does not run": (
        lambda: Classifier.from_module(nn.Sequential(nn.Flatten(), nn.Linear(9, 2)), head="1", size=8),
        "BadClassifier",
        ["does not run", "(2, 3, 8, 8)", "size="],
    ),
    "a class that is none": (lambda: classifier().index("kat"), "BadClassifier", ["'kat'", "Did you mean 'cat'?"]),
    "a class past the last": (lambda: classifier().index(2), "OutOfRange", ["class", "found 2", "0 to 1"]),
    "pixels of one image": (lambda: classifier().features(torch.ones(3, 8, 8)), "BadShape", ["(images, 3, 8, 8)"]),
    "pixels of another size": (lambda: classifier().features(torch.ones(1, 3, 9, 8)), "BadShape", ["(1, 3, 9, 8)"]),
    "pixels up to 255": (
        lambda: classifier().features(255 * torch.ones(1, 3, 8, 8)),
        "BadShape",
        ["255", "before normalisation"],
    ),
    "pixels with NaN": (lambda: classifier().features(NAN * torch.ones(1, 3, 8, 8)), "NotFinite", ["pixels"]),
    "responses without an outcome": (
        lambda: read_responses(file("r.csv", "participant,category\np,c\n")),
        "BadResponses",
        ["no column correct", "Found: participant, category", "--column correct=NAME"],
    ),
    "responses that are no yes or no": (
        lambda: read_responses(file("r.csv", "participant,correct\np,1\np,perhaps\n")),
        "BadResponses",
        ["row 2", "'perhaps'", "yes or no"],
    ),
    "responses that are nowhere": (lambda: read_responses("nowhere.csv"), "BadResponses", ["nowhere.csv", "Psych-DS"]),
    "a participant twice at a trial": (
        lambda: read_responses(file("r.csv", "participant,trial,correct\np,1,1\np,1,0\n")),
        "BadResponses",
        ["participant p", "trial 1", "more than once"],
    ),
    "one participant": (
        lambda: fitted("correct ~ 1 + (1|participant)", simulate(participants=1)),
        "BadResponses",
        ["participant", "'p1' alone"],
    ),
    "one category": (
        lambda: fitted("correct ~ 1 + (1|category)", simulate(trials=paper_trials().head(1))),
        "BadResponses",
        ["category", "'category_01' alone"],
    ),
    "a cell that nobody answered in": (
        lambda: fitted("correct ~ trial_type*saliency + (1|participant)", less_a_cell(simulate(participants=8))),
        "BadFormula",
        [
            "cannot tell trial_type[standard_correct]:saliency",
            "no answers with trial_type standard_correct, saliency 1",
        ],
    ),
    "a formula without random intercepts": (lambda: bt.Formula.parse("correct ~ x"), "BadFormula", ["(1|participant)"]),
    "a formula of columns that are not there": (
        lambda: bt.analyse(
            from_table(simulate(participants=8)), Plan((bt.Formula.parse("correct ~ mood + (1|participant)"),))
        ),
        "BadResponses",
        ["no column mood"],
    ),
    "effects of no column": (
        lambda: simulate(bt.Effects({"mood": 1.0}, {})),
        "BadFormula",
        ["'mood'", "Found: participant"],
    ),
    "a crop larger than its photo": (lambda: Geometry((8, 8), 7), "OutOfRange", ["short side 7"]),
    "answers that are not 0 or 1": (
        lambda: regression(outcomes=np.array([0.0, 1, 2] * 4)),
        "OutOfRange",
        ["outcomes", "found 2 at row 2", "4 rows", "0 or 1"],
    ),
    "missing answers": (
        lambda: regression(outcomes=without(np.array([0.0, 1, 1] * 4))),
        "NotFinite",
        ["outcomes", "1 of 12", "row 3"],
    ),
    "answers as words": (lambda: regression(outcomes=np.array(["yes"] * 12)), "BadShape", ["outcomes", "numbers"]),
    "more right than asked": (lambda: regression(trials=np.full(12, 0.5)), "OutOfRange", ["trials", "0.5", "from 1"]),
    "more ones than trials": (
        lambda: regression(outcomes=np.full(12, 3.0), trials=np.full(12, 2.0)),
        "OutOfRange",
        ["outcomes", "found 3", "2 trials"],
    ),
    "one answer too few": (lambda: regression(outcomes=np.ones(11)), "BadShape", ["outcomes", "(11,)", "(12,)"]),
    "a term that is missing": (
        lambda: regression(design=np.stack([np.ones(12), without(np.arange(12.0))], 1)),
        "NotFinite",
        ["design", "row 3"],
    ),
    "a term that repeats others": (
        lambda: regression(design=np.stack([np.ones(12), np.arange(12.0), 3 - np.arange(12.0)], 1)),
        "BadInput",
        ["column 2 of 3", "combination", "Leave it out"],
    ),
    "more terms than answers": (
        lambda: regression(design=np.eye(12, 13)),
        "BadInput",
        ["12 rows for 13 terms"],
    ),
    "a regression of nothing": (
        lambda: regression(outcomes=np.ones(0), design=np.ones((0, 2)), groups=[np.ones(0, dtype=int)]),
        "Empty",
        ["0 rows"],
    ),
    "a regression without groups": (lambda: regression(groups=[]), "BadInput", ["groups", "found 0", "one to 3"]),
    "one group alone": (
        lambda: regression(groups=[np.zeros(12, dtype=int)]),
        "BadInput",
        ["groups[0]", "one group", "Leave the factor out"],
    ),
    "a group for each answer": (lambda: regression(groups=[np.arange(12)]), "BadInput", ["12 groups in 12 trials"]),
    "groups by name": (
        lambda: regression(groups=[np.array(["p1", "p2"] * 6)]),
        "OutOfRange",
        ["groups[0]", "np.unique"],
    ),
    "groups below 0": (lambda: regression(groups=[np.arange(12) % 3 - 1]), "OutOfRange", ["groups[0]", "-1"]),
    "a start from another model": (
        lambda: regression(start=regression(design=np.ones((12, 1)))),
        "BadShape",
        ["start", "1 terms", "expected 2"],
    ),
}


def raised(case: Callable[[], object]) -> tuple[list[str], str]:
    """The error's classes and its message."""
    try:
        case()
    except Exception as error:  # noqa: BLE001 — any other error is what the test looks for
        return [cls.__name__ for cls in type(error).__mro__], str(error)
    return [], "nothing was raised"


if __name__ == "__main__":
    json.dump({name: raised(case) for name, (case, _, _) in CASES.items()}, sys.stdout)
