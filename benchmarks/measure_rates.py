"""What a study of the whole of ImageNet would take: rates measured on some photos, times and sizes computed from them.

    python benchmarks/measure_rates.py CHECKPOINT PHOTOS

CHECKPOINT holds a ResNet-50, PHOTOS is a folder ROOT/CLASS/*.jpg. Nothing of it is kept but the numbers.
"""

import sys
from functools import partial
from itertools import islice
from pathlib import Path

import torch
from torch import Generator

from bayesteach import Classifier
from bayesteach.maths.curvature import CurvatureSums
from bayesteach.maths.discriminant import ScatterSums
from bayesteach.stages.context import Context
from bayesteach.stages.embed import _pixels
from bayesteach.vision.choice import choose_engine
from bayesteach.vision.engines import BLOCK, make_engine, plain_engine
from bayesteach.vision.images import ImageSet
from bayesteach.vision.masked import MaskedPhoto, mask_prior
from bayesteach.vision.near_copies import perceptual_hash
from report import once, write

TRAIN, VAL, ADVERSARIAL = 1_281_167, 50_000, 7_500
TRIALS, MAPS_A_TRIAL, MASKS, VIEWS = 90, 5, 1000, 128
SOME, ROWS = 96, 8192


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("Usage: python benchmarks/measure_rates.py CHECKPOINT PHOTOS")
    torch.set_grad_enabled(False)
    classifier = Classifier.load("timm:resnet50.tv_in1k", checkpoint=Path(sys.argv[1]))
    classes, cols = classifier.head.shape
    entries = list(islice(ImageSet.from_folder(sys.argv[2], classifier.index), SOME))
    context = Context(lambda: classifier, lambda: make_engine(classifier))
    plain = plain_engine(classifier)
    engine = make_engine(classifier, *choose_engine(classifier, TRIALS * MAPS_A_TRIAL * MASKS))
    pixels = torch.stack([found for _, found in _pixels(entries, context)])
    photo = MaskedPhoto.of(pixels[0], classifier)
    masks = mask_prior(classifier).sample(256, Generator().manual_seed(0))
    z, labels = torch.randn(ROWS, cols).relu(), torch.arange(ROWS) % classes

    def sums() -> None:
        for rows, some in zip(z.split(4096), labels.split(4096), strict=True):
            CurvatureSums(classes, cols).add(rows, (rows.double() @ classifier.head.double().mT).softmax(-1))
            ScatterSums(classes, cols).add(rows, some)

    plain.features(pixels[:BLOCK])
    engine.log_weights(photo, masks[:BLOCK], [0])
    rates = {
        "collect": SOME / once(lambda: [perceptual_hash(entry.photo()) for entry in entries]),
        "decode": SOME / once(lambda: list(_pixels(entries, context))),
        "embed": SOME / once(partial(plain.features, pixels)),
        "fit": ROWS / once(sums),
        "mask passes": len(masks) / once(partial(engine.log_weights, photo, masks, [0])),
    }
    images = TRAIN + VAL + ADVERSARIAL
    passes = TRIALS * MAPS_A_TRIAL * MASKS
    hours = {
        "collect": images / rates["collect"],
        "embed": images * (1 / rates["embed"] + 1 / rates["decode"]),
        "fit": TRAIN / rates["fit"],
        "highlight": passes / rates["mask passes"],
    }
    found: dict[str, object] = (
        {f"{name}, a second": round(rate, 1) for name, rate in rates.items()}
        | {"engine of the mask passes": engine.name}
        | {f"{name}, hours for ImageNet": round(seconds / 3600, 2) for name, seconds in hours.items()}
        | {
            "features of ImageNet, GB": round(images * cols * 4 / 1e9, 1),
            "maps of 90 trials, GB": round(TRIALS * MAPS_A_TRIAL * 2 * 4 * 224 * 224 / 1e9, 2),
            "mask passes of 90 trials": passes,
            "passes of 128 views of the best 20 lessons, at most": TRIALS * 80 * VIEWS,
            "passes of a refit on 100 views": 100 * TRAIN,
        }
    )
    write("rates", found)


if __name__ == "__main__":
    main()
