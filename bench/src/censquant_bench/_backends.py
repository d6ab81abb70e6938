"""Where cells run: this machine's cores, or a cluster's through dask or ray."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

CLUSTERS = ("dask", "ray")
"""Backends that may stand for more than one machine."""

_PACKAGES = {"dask": "distributed", "ray": "ray"}


@contextmanager
def backend_of(name: str | None, address: str | None = None) -> Iterator[None]:
    """Let joblib use a backend inside the block.

    Parameters
    ----------
    name : str, optional
        One of joblib's, or ``"dask"`` or ``"ray"``; None leaves what is set around the block.
    address : str, optional
        Where the scheduler of dask or the head of ray is; by default a client that exists
        already, else this machine.
    """
    import joblib

    if address is not None and name not in CLUSTERS:
        raise ValueError(
            f"address belongs to the backends {' and '.join(CLUSTERS)}, got {address!r} with "
            f"backend={name!r}."
        )
    if name is None:
        yield
        return
    with ExitStack() as stack:
        if name == "dask":
            stack.enter_context(_dask_client(address))
        elif name == "ray":
            _start_ray(address)
        try:
            stack.enter_context(joblib.parallel_config(backend=name))
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"backend must be one that joblib knows, such as loky, threading, dask or ray, "
                f"got {name!r}."
            ) from error
        yield


@contextmanager
def _dask_client(address: str | None) -> Iterator[None]:
    distributed = _module("distributed", "dask")
    if address is None:
        try:
            distributed.default_client()
        except ValueError:  # there is none
            pass
        else:
            yield
            return
    with distributed.Client(address):
        yield


def _start_ray(address: str | None) -> None:
    ray, for_joblib = _module("ray", "ray"), _module("ray.util.joblib", "ray")
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False)
    for_joblib.register_ray()


def _module(name: str, backend: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise ImportError(
            f"backend={backend!r} needs {backend}, which is not installed: run "
            f"pip install {_PACKAGES[backend]}."
        ) from None


def as_they_finish(tasks: Sequence[Any], n_workers: int) -> Iterator[Any]:
    """Yield the results of joblib's delayed calls, each as soon as it is available.

    Backends that only return all at once get a few tasks at a time, so that little is lost when a
    run is ended.
    """
    import joblib

    try:
        parallel = joblib.Parallel(n_jobs=n_workers, return_as="generator_unordered")
    except ValueError:  # raised by a backend that cannot
        for start in range(0, len(tasks), n_workers):
            yield from joblib.Parallel(n_jobs=n_workers)(tasks[start : start + n_workers])
    else:
        yield from parallel(tasks)
