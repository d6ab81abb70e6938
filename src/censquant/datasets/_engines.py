"""Remaining life of simulated jet engines, from tables of one row per cycle."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant._validation import check_choice
from censquant.datasets._info import CatalogueEntry, DataFile, downloaded, github_url
from censquant.datasets._real import RealData, hand_out
from censquant.datasets._store import locate
from censquant.survival import Surv

_NASA_LICENCE = "no licence stated; NASA asks to be cited"


def _file(path: str, source: str, checksum: str, size: int | None) -> DataFile:
    commit = "165933e9b370cb64703132b65e52ae4a4db7b29e"
    return DataFile(path, github_url("LahiruJayasinghe/RUL-Net", commit, source), checksum, size)


PHM2008 = downloaded(
    "phm2008",
    "PHM",
    (45_918, 21),
    0.0,
    description="Remaining life in cycles of 218 simulated jet engines run to failure, "
    "21 sensors at each cycle. Rows of one engine depend on each other: split "
    "by groups. The last cycle of each engine has a time of 0.",
    source="NASA Prognostics Center of Excellence, PHM08 challenge; the copy of "
    "LahiruJayasinghe/RUL-Net on GitHub",
    licence=_NASA_LICENCE,
    # About 7.7 MB; of this file only the name of its content in git has been recorded.
    files=(
        _file(
            "phm2008/train.txt",
            "PHM08/train.txt",
            "git-sha1:d3c7c8e9db96873f76096d5da76091f96b516061",
            None,
        ),
    ),
    groups="cycles of one engine",
)

_RUN_TO_FAILURE = _file(
    "cmapss_fd001/train_FD001.txt",
    "CMAPSSData/train_FD001.txt",
    "sha256:963b5e22825b34d8b21c69e1aeb4af3e647050eb672ee8834ba4b5d91d2de0f8",
    3_515_356,
)
_STOPPED_EARLY = _file(
    "cmapss_fd001/test_FD001.txt",
    "CMAPSSData/test_FD001.txt",
    "sha256:3cda7109ce17bafb5443f2ac926cfcf88154b941b8c4cf95eb55d1ddd6f52851",
    2_228_855,
)
_REMAINING_LIVES = _file(
    "cmapss_fd001/RUL_FD001.txt",
    "CMAPSSData/RUL_FD001.txt",
    "sha256:a19c8ec94931949d0485bdc35118206e9c81c4547b422efb9cf86f4ceddbceca",
    429,
)

CMAPSS = downloaded(
    "cmapss",
    "C-MAPSS FD001",
    (20_631, 25),
    0.0,
    description="Remaining life in cycles of 100 simulated jet engines run to failure under "
    "one condition, and of 100 more whose record stops early: age, 3 settings and 21 sensors "
    "at each cycle. Not PHM2008, though the simulator is the same. Rows of one engine depend "
    "on each other: split by groups. The last cycle before a failure has a time of 0.",
    source="NASA Prognostics Center of Excellence, C-MAPSS (Saxena et al. 2008); the copy of "
    "LahiruJayasinghe/RUL-Net on GitHub",
    licence=_NASA_LICENCE,
    files=(_RUN_TO_FAILURE, _STOPPED_EARLY, _REMAINING_LIVES),
    groups="cycles of one engine",
)

_SENSORS = tuple(f"sensor_{number}" for number in range(1, 22))
_CMAPSS_FEATURES = ("cycle", "setting_1", "setting_2", "setting_3", *_SENSORS)
_N_RUN_TO_FAILURE = 100


_Rows = tuple[Floats, Floats, NDArray[np.bool_]]
"""Table of cycles, time and event of each row."""


@overload
def fetch_phm2008(
    *, return_X_y: Literal[True] = ..., as_frame: bool = ...
) -> tuple[Any, NDArray[np.void]]: ...


@overload
def fetch_phm2008(*, return_X_y: Literal[False], as_frame: bool = ...) -> RealData: ...


def fetch_phm2008(
    *, return_X_y: bool = True, as_frame: bool = True
) -> tuple[Any, NDArray[np.void]] | RealData:
    """Remaining life of 218 simulated jet engines at each of 45918 cycles, all observed.

    The training engines of the challenge of the 2008 conference on prognostics and health
    management [1]_. Each row holds the 21 sensors at one cycle; the ``time`` is the number of
    cycles left until the failure, 0 at the last one. Settings and age are not among the features,
    as in the CQRNN paper. Rows of one engine share a number in ``groups``: a split that parts them
    is too easy. `fetch_cmapss` is another set of the same simulator, and no substitute.

    Parameters
    ----------
    return_X_y, as_frame
        As in `load_gbsg2`.

    Returns
    -------
    X : DataFrame or ndarray of shape (45918, 21)
        Features, float64.
    y : structured array of shape (45918,)
        ``event``, True where it was observed, and ``time``.
    data : RealData
        Instead of both if `return_X_y` is False.

    References
    ----------
    .. [1] A. Saxena et al. (2008). Damage propagation modeling for aircraft engine run-to-failure
       simulation. *International Conference on Prognostics and Health Management*.

    Examples
    --------
    >>> from censquant.datasets import describe, fetch_phm2008
    >>> info = describe("phm2008")
    >>> info.n_samples, info.n_features
    (45918, 21)
    >>> X, y = fetch_phm2008()  # doctest: +SKIP
    """
    table = _cycles(PHM2008.files[0])
    return hand_out(
        PHM2008,
        table[:, 5:],
        Surv.from_arrays(event=np.ones(len(table), dtype=bool), time=_cycles_left(table)),
        _SENSORS,
        groups=table[:, 0].astype(np.int64),
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


@overload
def fetch_cmapss(
    *, subset: str = ..., return_X_y: Literal[True] = ..., as_frame: bool = ...
) -> tuple[Any, NDArray[np.void]]: ...


@overload
def fetch_cmapss(
    *, subset: str = ..., return_X_y: Literal[False], as_frame: bool = ...
) -> RealData: ...


def fetch_cmapss(
    *, subset: str = "train", return_X_y: bool = True, as_frame: bool = True
) -> tuple[Any, NDArray[np.void]] | RealData:
    """Remaining life of simulated jet engines at each cycle, set FD001 of C-MAPSS.

    Each row is one cycle of one engine [1]_: its age in cycles, three settings and 21 sensors; the
    ``time`` is the number of cycles left until the failure, 0 at the last one. Rows of one engine
    share a number in ``groups``: a split that parts them is too easy. Settings and sensors that
    never change are kept: ``setting_3`` and the sensors 1, 5, 10, 16, 18 and 19.

    The set holds 100 engines run to failure and 100 whose record stops before it. With
    ``subset="censored"`` both are one fleet as it was recorded, the second half right-censored
    where its record stops. That censoring is *not* independent of the failure: records were cut
    before the failure, so an engine whose record ends is nearer to its failure than one whose
    record continues. The Kaplan-Meier curve of the fleet is 0.56 at the true median life of its
    engines; methods for censored data are as optimistic here, and since the true lives are known,
    by how much can be measured. For censoring without that harm put `censor_uniform` over
    ``subset="train"``.

    Parameters
    ----------
    subset : {"train", "test", "censored"}
        The engines 1 to 100, run to failure (20631 rows, all observed); the others with their true
        remaining lives, which the publisher gives apart from the record (13096 rows, all
        observed), here numbered 101 to 200; or both as they were recorded (33727 rows, 39 %
        censored).
    return_X_y, as_frame
        As in `load_gbsg2`.

    Returns
    -------
    X : DataFrame or ndarray of shape (n, 25)
        Features, float64.
    y : structured array of shape (n,)
        ``event``, True where it was observed, and ``time``.
    data : RealData
        Instead of both if `return_X_y` is False.

    References
    ----------
    .. [1] A. Saxena et al. (2008). Damage propagation modeling for aircraft engine run-to-failure
       simulation. *International Conference on Prognostics and Health Management*.

    Examples
    --------
    >>> from censquant.datasets import describe, fetch_cmapss
    >>> describe("cmapss").groups
    'cycles of one engine'
    >>> X, y = fetch_cmapss(subset="censored")  # doctest: +SKIP
    """
    check_choice("subset", subset, ("train", "test", "censored"))
    parts = []
    if subset != "test":
        parts.append(_run_to_failure())
    if subset != "train":
        parts.append(_stopped_early(to_failure=subset == "test"))
    table, time, event = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return hand_out(
        CMAPSS,
        table[:, 1:],
        Surv.from_arrays(event=event, time=time),
        _CMAPSS_FEATURES,
        groups=table[:, 0].astype(np.int64),
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def _run_to_failure() -> _Rows:
    """Rows of the engines whose record ends with their failure."""
    table = _cycles(_RUN_TO_FAILURE)
    return table, _cycles_left(table), np.ones(len(table), dtype=bool)


def _stopped_early(*, to_failure: bool) -> _Rows:
    """Rows of the other engines, with the time to the failure or to the end of the record."""
    table = _cycles(_STOPPED_EARLY)
    time = _cycles_left(table)
    if to_failure:
        unseen = np.loadtxt(locate(_REMAINING_LIVES), ndmin=1)
        time = time + unseen[table[:, 0].astype(np.int64) - 1]
    # Both files count their engines from 1.
    table[:, 0] += _N_RUN_TO_FAILURE
    return table, time, np.full(len(table), to_failure)


def _cycles(file: DataFile) -> Floats:
    """Table of engine, cycle, 3 settings and 21 sensors."""
    return np.loadtxt(locate(file), ndmin=2)


def _cycles_left(table: Floats) -> Floats:
    """Cycles until the last one that each engine has in the table."""
    engine, cycle = table[:, 0].astype(np.int64), table[:, 1]
    last = np.zeros(engine.max() + 1)
    np.maximum.at(last, engine, cycle)
    return last[engine] - cycle


ENGINES = (CatalogueEntry(PHM2008, fetch_phm2008), CatalogueEntry(CMAPSS, fetch_cmapss))
"""Simulated jet engines."""
