"""The head at its mode, where a study asks for it: on the training images, and then on fresh views of them, epoch by epoch."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import ceil

import torch
from jaxtyping import Float
from torch import Tensor

from bayesteach.artifacts import Features, Seen
from bayesteach.maths.descent import AveragedDescent
from bayesteach.maths.refit import refit_head
from bayesteach.settings import Settings
from bayesteach.stages.collect import Collected
from bayesteach.stages.context import Context, digest, model_digest, rng
from bayesteach.stages.embed import READERS, sums_engine

# Images a step, and steps between two states that are kept: a minute of a ResNet-50.
_BATCH, _KEPT = 256, 16


def refitted(
    settings: Settings, context: Context, collected: Collected, features: Features, train: Sequence[Seen]
) -> Float[Tensor, "classes cols"]:
    """The mode on the images themselves; with views, moved from there by one fresh view of every image an epoch.

    A view is embedded, used once and forgotten: all views of ImageNet would be a terabyte. How far the descent has come is kept
    now and then, so a run that is stopped goes on from there.
    """
    z, labels = features.of([seen.id for seen in train]), torch.tensor([seen.label for seen in train])
    wanted = settings.fit
    mode = refit_head(z, labels, context.classifier().head, weight_decay=wanted.weight_decay).head
    if not wanted.refit_views:
        return mode.float()
    an_epoch = ceil(len(train) / _BATCH)
    descent = AveragedDescent.of(
        mode, z, weight_decay=wanted.weight_decay, total=wanted.refit_views * an_epoch, batch=_BATCH
    )
    key = digest(
        model_digest(context.classifier()),
        sums_engine(context).name,
        settings.seed,
        wanted.model_dump_json(),
        *(seen.id for seen in train),
    )
    known = context.memory.recall("refit", key)
    if known is not None:
        descent.head, descent.mean, descent.steps = known["head"], known["mean"], int(known["steps"])
    advance = context.watch("refitting on views", descent.total)
    advance(descent.steps)
    for epoch in range(descent.steps // an_epoch, wanted.refit_views):
        order = torch.randperm(len(train), generator=rng(settings.seed, "refit", str(epoch)))
        for part in order.split(_BATCH)[descent.steps - epoch * an_epoch :]:
            some = [train[i] for i in part.tolist()]
            descent.add(_views(settings, context, collected, epoch, some), labels[part])
            if descent.steps % _KEPT == 0 or descent.steps == descent.total:
                context.memory.keep("refit", key, _state(descent))
            advance(1)
    return descent.mean.float()


def _views(
    settings: Settings, context: Context, collected: Collected, epoch: int, some: Sequence[Seen]
) -> Float[Tensor, "images cols"]:
    classifier = context.classifier()

    def view(seen: Seen) -> Tensor:
        photo = collected.entries[seen.id].photo(context.root)
        return classifier.augment(photo, 1, rng(settings.seed, "refit", f"{epoch}/{seen.id}"))

    with ThreadPoolExecutor(READERS) as readers:
        return sums_engine(context).features(torch.cat(list(readers.map(view, some))))


def _state(descent: AveragedDescent) -> Mapping[str, Tensor]:
    return {"head": descent.head.clone(), "mean": descent.mean.clone(), "steps": torch.tensor(descent.steps)}
