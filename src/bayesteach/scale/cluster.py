"""Units of work on a Ray cluster: one that is there already, or one on this machine.

A worker reads images from the study's folder, keeps what it made there, and says no more than that it is done. So neither Ray's
object store nor the process that waits grows with the number of images, and what was done before a death is not done again.
"""

import logging
import os
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bayesteach.errors import BadSettings, BadStudy
from bayesteach.settings import Settings
from bayesteach.stages.context import Context, model_digest
from bayesteach.stages.crew import tree
from bayesteach.store.workspace import Workspace

LOCAL = "local"
# Workers that may die at one unit before it is taken for the cause.
_DEATHS = 8
# What has to be the same on all machines for the same bits to come out.
_SAME = ("bayesteach", "torch")
_REACHED_IN = 5.0  # seconds


@dataclass(frozen=True, slots=True)
class Site:
    """What a worker makes its own means from, and how it knows that it works on the same study."""

    root: str
    settings: str
    token: str
    versions: tuple[str, ...]
    model: str = ""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A crew of Ray's tasks, each with one processor, and a GPU where there are any.

    workers  how many units are under way; without, twice as many as there are processors, so that nobody waits
    """

    site: Site
    workers: int | None = None

    def each(
        self, context: Context, work: Callable[[Context, Any], Mapping[str, Tensor]], units: Sequence[Any]
    ) -> Iterator[Mapping[str, Tensor]]:
        """The workers keep them, and here they are recalled."""
        import ray  # noqa: PLC0415 — an extra

        kind = "GPU" if ray.cluster_resources().get("GPU") else "CPU"
        do = ray.remote(num_cpus=1, num_gpus=int(kind == "GPU"), max_retries=_DEATHS, max_calls=0)(_keep)
        site, shared = self._of(context), ray.put(work)
        todo = iter(enumerate(units))
        running: dict[Any, int] = {}
        done: set[int] = set()
        for place, unit in enumerate(units):
            while place not in done:
                for number, other in islice(todo, max(0, self._room(kind) - len(running))):
                    running[do.remote(site, shared, other)] = number
                finished, _ = ray.wait(list(running))
                for ref in finished:
                    _got(ref)
                    done.add(running.pop(ref))
            done.remove(place)
            yield work(context, unit)

    def total(
        self,
        context: Context,
        work: Callable[[Context, Any], Any],
        units: Sequence[Any],
        advance: Callable[[int], None],
    ) -> Any:
        """Sums stay where they are made until two of them meet."""
        import ray  # noqa: PLC0415 — an extra

        do, plus = (ray.remote(num_cpus=1, max_retries=_DEATHS)(function) for function in (_do, _plus))
        site, shared = self._of(context), ray.put(work)
        running: dict[Any, int] = {}

        def wait(room: int) -> None:
            while len(running) > room:
                finished, _ = ray.wait(list(running))
                for ref in finished:
                    advance(running.pop(ref))

        def begun() -> Iterator[Any]:
            for unit in units:
                wait(self._room("CPU") - 1)
                ref = do.remote(site, shared, unit)
                running[ref] = 1
                yield ref

        def both(one: Any, other: Any) -> Any:
            ref = plus.remote(one, other)
            running[ref] = 0
            return ref

        whole = tree(begun(), both)
        wait(0)
        return _got(whole)

    def _room(self, kind: str) -> int:
        """How many units may be under way; machines may have come or gone."""
        import ray  # noqa: PLC0415 — an extra

        return self.workers or 2 * max(1, int(ray.cluster_resources().get(kind, 0)))

    def _of(self, context: Context) -> Site:
        return replace(self.site, model=model_digest(context.classifier()))


@contextmanager
def cluster(address: str, study: Path, settings: Settings, workers: int | None = None) -> Iterator[Cluster]:
    """The cluster at an address, HOST:PORT or `auto` for the one that this machine is in, or a new one here: `local`."""
    if find_spec("ray") is None:
        raise BadSettings("--ray: Ray is not installed. Install it with pip install 'bayesteach[ray]'.")
    if not study.is_dir():
        raise BadStudy(f"study: there is no folder {study}. Make one with bayesteach init.")
    _reach(address)
    # Ray would tell its makers of every cluster, unless somebody wants it to.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray  # noqa: PLC0415 — an extra, and it takes a second

    here = {"num_cpus": workers, "include_dashboard": False} if address == LOCAL else {}
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **here)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise _unreached(address, error) from None
    token = study / f".cluster-{uuid.uuid4().hex}"
    try:
        token.touch()
        versions = tuple(version(name) for name in _SAME)
        yield Cluster(Site(str(study.absolute()), settings.model_dump_json(), token.name, versions), workers)
    finally:
        token.unlink(missing_ok=True)
        ray.shutdown()


def _reach(address: str) -> None:
    """Whether anybody listens there: Ray itself would try for minutes."""
    if address in {LOCAL, "auto"}:
        return
    host, colon, port = address.rpartition(":")
    if "://" in address or not colon or not port.isdecimal():
        raise BadSettings(
            f"--ray: found {address!r}, expected HOST:PORT of the head of a cluster, as ray start --head prints it; auto, on a "
            "machine of the cluster; or nothing, for one on this machine."
        )
    try:
        socket.create_connection((host, int(port)), _REACHED_IN).close()
    except (OSError, OverflowError) as error:
        raise _unreached(address, error) from None


def _unreached(address: str, error: Exception) -> BadSettings:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return BadSettings(
        f"--ray: no Ray cluster answers at {address} ({reason}). Begin one with ray start --head, check the address, or leave it "
        "out for one on this machine."
    )


def _keep(site: Site, work: Callable[[Context, Any], object], unit: Any) -> None:
    """On a worker: a unit that its work keeps in the study's folder."""
    work(_context(site), unit)


def _do(site: Site, work: Callable[[Context, Any], Any], unit: Any) -> Any:
    """On a worker: a unit whose result is wanted elsewhere."""
    return work(_context(site), unit)


def _plus(one: Any, other: Any) -> Any:
    """On a worker."""
    return one + other


@lru_cache(maxsize=1)
def _context(site: Site) -> Context:
    """A worker's own means, which stay with its process: a network takes seconds to load."""
    root, host = Path(site.root), socket.gethostname()
    if not (root / site.token).is_file():
        raise BadStudy(
            f"ray: the machine {host} does not see the folder {root}. Put the study and its images where all machines of the "
            "cluster find them under the same path."
        )
    for name, wanted in zip(_SAME, site.versions, strict=True):
        if version(name) != wanted:
            raise BadStudy(
                f"ray: the machine {host} has {name} {version(name)}, expected {wanted}. Install the same everywhere."
            )
    torch.set_num_threads(1)  # a processor a worker: threads of several workers would wait for one another
    context = Context.of(Settings.model_validate_json(site.settings), root, Workspace(root))
    if model_digest(context.classifier()) != site.model:
        raise BadStudy(
            f"ray: the machine {host} has other weights for the study's model. Name a file that all machines share as "
            "model.checkpoint, or give all the same cache."
        )
    return context


def _got(ref: Any) -> Any:
    """What a worker gave, or its error as if it were ours."""
    import ray  # noqa: PLC0415 — an extra

    try:
        return ray.get(ref)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    except ray.exceptions.RayError as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise BadStudy(
            f"ray: {_DEATHS + 1} workers died at one unit of work ({reason}). Is there enough memory? What is finished is kept."
        ) from error
