"""A study's images embedded on Ray: one worker and two beside one process, and what ten times as many images cost.

Each measurement is a process of its own, so that its memory is its own. A ResNet-18 for time; for memory a network of timm's for
tests, which leaves nothing but what is spent beside the network.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import torch
from safetensors.torch import save_file

from bayesteach.pipeline import Run
from bayesteach.scale.cluster import cluster
from bayesteach.settings import validated
from bayesteach.stages import context
from bayesteach.stages.crew import ALONE
from bayesteach.store.workspace import Workspace
from bayesteach.vision.torchvision_import import import_torchvision
from report import write

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests import small_study

# Images of each of seven classes: for time, and for memory.
SLOW, FEW, MANY = 64, 250, 2500
UNIT = 32


def make_study(folder: Path, network: str, each: int) -> None:
    """Images of one source, and a network with random weights: its answers do not matter here."""
    import_torchvision()
    import timm  # noqa: PLC0415 — after torchvision

    folder.mkdir()
    small_study.write_images(folder / "images", {"train": each})
    torch.manual_seed(0)
    model = timm.create_model(network, num_classes=len(small_study.CLASSES))
    save_file(model.state_dict(), folder / "weights.safetensors")
    (folder / "labels.txt").write_text("\n".join(small_study.CLASSES))


def measured(folder: Path, network: str, workers: int, unit: int) -> dict[str, float]:
    """Embed once, by so many workers or, for 0, by this process with one thread; then everything is removed."""
    context.UNIT = unit
    model = {"name": f"timm:{network}", "checkpoint": "weights.safetensors", "labels": "labels.txt"}
    source = [{"name": "train", "folder": "images/train"}]
    told = {"model": model, "source": source, "collect": {"near_copies": -1}}
    told |= {"fit": {"held_out": ["train"]}, "design": {"standard": ["train"]}}
    settings = validated(told, "benchmark")
    list(Run(Workspace(folder), settings).make("collect"))
    store = 0.0
    first: list[float] = []

    def watch(_what: str, _total: int) -> Callable[[int], None]:
        def advance(_done: int) -> None:
            nonlocal store
            first.append(time.perf_counter())
            if workers and len(first) % 10 == 0:
                import ray  # noqa: PLC0415 — an extra

                whole, free = ray.cluster_resources(), ray.available_resources()
                store = max(store, whole["object_store_memory"] - free.get("object_store_memory", 0.0))

        return advance

    if not workers:
        torch.set_num_threads(1)
    crews = cluster("local", folder, settings, workers) if workers else nullcontext(ALONE)
    with crews as crew:
        start = time.perf_counter()
        list(Run(Workspace(folder), settings, watch, crew).make("embed"))
        whole = time.perf_counter() - start
    images = len(list((folder / "images").rglob("*.png")))
    # From the first unit to the last: before it, workers begin and load the network, whatever there is to do.
    steady = (first[-1] - first[0]) * len(first) / (len(first) - 1)
    return {
        "seconds": whole,
        "steady": steady,
        "start": whole - steady,
        "an image": steady / images,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "store": store / 2**20,
        "disk": sum(file.stat().st_size for file in (folder / "units").rglob("*") if file.is_file()) / 2**20,
    }


def apart(scratch: Path, network: str, each: int, workers: int, unit: int) -> dict[str, float]:
    """The same in a process of its own, in a study of its own."""
    folder = scratch / f"{network}-{each}-{workers}"
    make_study(folder, network, each)
    words = [sys.executable, __file__, "--measure", str(folder), network, str(workers), str(unit)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)  # noqa: S603 — ourselves
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(folder.name, found, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--measure", nargs=4, metavar=("FOLDER", "NETWORK", "WORKERS", "UNIT"))
    told = parser.parse_args().measure
    if told:
        print(json.dumps(measured(Path(told[0]), told[1], int(told[2]), int(told[3]))))
        return
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        alone, one, two = (apart(scratch, "resnet18", SLOW, workers, UNIT) for workers in (0, 1, 2))
        few, many = (apart(scratch, "test_resnet", each, 2, UNIT) for each in (FEW, MANY))
    write(
        "ray",
        {
            "images for time": SLOW * len(small_study.CLASSES),
            "one process of one thread, images a second": 1 / alone["an image"],
            "one worker, images a second": 1 / one["an image"],
            "two workers, images a second": 1 / two["an image"],
            "overhead of one worker against one process": one["an image"] / alone["an image"] - 1,
            "parallel efficiency of two workers": one["an image"] / two["an image"] / 2,
            "seconds until it is under way, more than one process": one["start"] - alone["start"],
            "images, few and ten times as many": [FEW * len(small_study.CLASSES), MANY * len(small_study.CLASSES)],
            "milliseconds an image, few and many": [1000 * few["an image"], 1000 * many["an image"]],
            "MB of the process that waits, few and many": [few["megabytes"], many["megabytes"]],
            "MB in the object store at most, few and many": [few["store"], many["store"]],
            "MB of features on disk, few and many": [few["disk"], many["disk"]],
        },
    )  # fmt: skip


if __name__ == "__main__":
    main()
