"""What all benchmarks share: a clock, and results written beside the environment they came from."""

import json
import os
import platform
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

RESULTS = Path(__file__).parent / "results"
# Beside the project, with a ResNet-50's weights, some photos of the validation set, and adversarial ones; it may be absent.
IMAGENET = (
    next(p for p in Path(__file__).resolve().parents if (p / "shared").is_dir() or p == p.parent)
    / "shared"
    / "imagenet"
)
PEERS = ("torch", "numpy", "scipy", "laplace-torch", "curvlinops-for-pytorch")


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """The least time of some runs, after one to warm up: the least is what the machine can do when it is not disturbed."""
    work()
    return min(once(work) for _ in range(repeats))


def once(work: Callable[[], object]) -> float:
    """The time of one run."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def write(name: str, results: dict[str, object]) -> None:
    """Print the results, and keep them as benchmarks/results/NAME.json."""
    RESULTS.mkdir(exist_ok=True)
    environment = {
        "python": platform.python_version(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "packages": {peer: _version(peer) for peer in PEERS},
        "command": "python " + " ".join(sys.argv),
    }
    text = json.dumps({"results": results, "environment": environment}, indent=2, ensure_ascii=False)
    (RESULTS / f"{name}.json").write_text(text + "\n")
    print(f"── {name}")
    for key, value in results.items():
        print(f"{key:>60}  {value:.4g}" if isinstance(value, float) else f"{key:>60}  {value}")


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
