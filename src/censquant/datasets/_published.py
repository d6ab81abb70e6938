"""Real data from their publishers: survival as DeepSurv prepared it, engines as NASA ran them."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant._validation import check_choice
from censquant.datasets._info import (
    COPIES,
    CatalogueEntry,
    DataFile,
    DatasetInfo,
    RealData,
    copies,
    downloaded,
    fetcher,
    github_url,
    hand_out,
)
from censquant.datasets._store import locate
from censquant.survival import Surv

_DEEPSURV = "as prepared for DeepSurv (Katzman et al. 2018), jaredleekatzman/DeepSurv on GitHub"
_NAMES_INFERRED = "The file stores no column names; these are inferred from its values."


def _deepsurv(
    name: str,
    title: str,
    shape: tuple[int, int],
    n_censored: int,
    file: str,
    checksum: str,
    size: int,
    *,
    description: str,
    source: str,
    groups: str = "",
) -> DatasetInfo:
    commit = "f0803f57bff9395f2bfbb99da2f1031adcf01331"
    path = f"{name}/{file}"
    url = github_url("jaredleekatzman/DeepSurv", commit, f"experiments/data/{path}")
    return downloaded(
        name,
        title,
        shape,
        n_censored / shape[0],
        description=description,
        source=f"{source}, {_DEEPSURV}",
        licence="MIT for the repository; no terms stated for the data",
        files=(DataFile(path, url, f"sha256:{checksum}", size),),
        groups=groups,
    )


METABRIC = _deepsurv(
    "metabric",
    "METABRIC",
    (1904, 9),
    801,
    "metabric_IHC4_clinical_train_test.h5",
    "e959131973c906c7e8b1e662c81160914768156a6da145a9bfed9b9ee8bf3e72",
    90_016,
    description="Survival in months of 1904 women with breast cancer: four gene expressions, "
    f"four treatments and markers, age. {_NAMES_INFERRED} One time is 0.",
    source="Curtis et al. (2012)",
)

WHAS = _deepsurv(
    "whas",
    "WHAS",
    (1638, 6),
    948,
    "whas_train_test.h5",
    "2ed86f073fdbe34be10f7e485eeaf67b61004521390c46b9a18aa9b82d5e8f9c",
    58_656,
    description="Survival in days after a heart attack, Worcester Heart Attack Study. "
    f"{_NAMES_INFERRED} 903 of the 1638 rows are exact copies of others, so a random split "
    "tests on rows that were trained on: split by groups.",
    source="Worcester Heart Attack Study",
    groups=COPIES,
)

SUPPORT = _deepsurv(
    "support",
    "SUPPORT",
    (8873, 14),
    2837,
    "support_train_test.h5",
    "e398f49930e4efc4ecd675a72ac547f0d1ae25ccf13f6a1024cded12ea88a83e",
    574_112,
    description="Survival in days of 8873 seriously ill adults in hospital: age, illnesses "
    f"and physiology. {_NAMES_INFERRED}",
    source="Knaus et al. (1995)",
)

GBSG = _deepsurv(
    "gbsg",
    "GBSG",
    (2232, 7),
    965,
    "gbsg_cancer_train_test.h5",
    "bd455f4395322a8b23040c15cedbef00ad51a447d02c95f1f1d686a6b196484b",
    86_592,
    description="Survival in months of 2232 women with breast cancer, the Rotterdam tumour "
    "bank joined to trial 2 of the German Breast Cancer Study Group. "
    f"{_NAMES_INFERRED} Two rows are copies of others.",
    source="Rotterdam tumour bank and Schumacher et al. (1994)",
    groups=COPIES,
)


@fetcher
def fetch_metabric(*, return_X_y: bool = True, as_frame: bool = True) -> Any:
    """Survival of 1904 women with breast cancer, 42 % of them censored.

    Times are in months, up to 355; one of them is 0. The file stores no names of columns: those
    given here are inferred from the values and from what was written about the set [1]_, and which
    of the genes MKI67, EGFR, PGR and ERBB2 is ``gene_1`` is unknown. The rows of DeepSurv's
    own test set come first, as in the code of the CQRNN paper.

    Parameters
    ----------
    return_X_y, as_frame
        As in `load_gbsg2`.

    Returns
    -------
    X, y : DataFrame or ndarray of shape (1904, 9), and structured array of shape (1904,)
    data : RealData
        Instead of both if `return_X_y` is False.

    References
    ----------
    .. [1] C. Curtis et al. (2012). The genomic and transcriptomic architecture of 2,000 breast
       tumours reveals novel subgroups. *Nature* 486, 346-352.

    Examples
    --------
    >>> from censquant.datasets import fetch_metabric
    >>> X, y = fetch_metabric()  # doctest: +SKIP
    """
    names = (
        "gene_1 gene_2 gene_3 gene_4 hormone_treatment radiotherapy chemotherapy er_positive age"
    )
    return _read_deepsurv(METABRIC, names.split(), return_X_y, as_frame)


@fetcher
def fetch_whas(*, return_X_y: bool = True, as_frame: bool = True) -> Any:
    """Survival of 1638 rows of the Worcester Heart Attack Study, 58 % of them censored.

    Times are in days. The file stores no names of columns: ``age`` and ``bmi`` are inferred from
    their ranges, the four others hold 0 and 1. **Only 735 rows are distinct**; the others are exact
    copies, up to twelve of one. About 70 % of the test rows of a random split were trained on, and
    scores reward memory: split by ``groups``, where copies share a number.

    Parameters
    ----------
    return_X_y, as_frame
        As in `load_gbsg2`.

    Returns
    -------
    X, y : DataFrame or ndarray of shape (1638, 6), and structured array of shape (1638,)
    data : RealData
        Instead of both if `return_X_y` is False.

    Examples
    --------
    >>> from censquant.datasets import fetch_whas
    >>> X, y = fetch_whas()  # doctest: +SKIP
    """
    names = "x0 age x2 bmi x4 x5"
    return _read_deepsurv(WHAS, names.split(), return_X_y, as_frame)


@fetcher
def fetch_support(*, return_X_y: bool = True, as_frame: bool = True) -> Any:
    """Survival of 8873 seriously ill adults in hospital, 32 % of them censored.

    Times are in days. The file stores no names of columns: those given here are inferred from the
    values and from what was written about the set [1]_. By its range ``sodium`` stands before
    ``white_cell_count``, although lists in print have them the other way round.

    Parameters
    ----------
    return_X_y, as_frame
        As in `load_gbsg2`.

    Returns
    -------
    X, y : DataFrame or ndarray of shape (8873, 14), and structured array of shape (8873,)
    data : RealData
        Instead of both if `return_X_y` is False.

    References
    ----------
    .. [1] W. A. Knaus et al. (1995). The SUPPORT prognostic model. *Annals of Internal Medicine*
       122, 191-203.

    Examples
    --------
    >>> from censquant.datasets import fetch_support
    >>> X, y = fetch_support()  # doctest: +SKIP
    """
    names = (
        "age sex race n_comorbidities diabetes dementia cancer mean_blood_pressure heart_rate "
        "respiration_rate temperature sodium white_cell_count creatinine"
    )
    return _read_deepsurv(SUPPORT, names.split(), return_X_y, as_frame)


@fetcher
def fetch_gbsg(*, return_X_y: bool = True, as_frame: bool = True) -> Any:
    """Survival of 2232 women with breast cancer, 43 % of them censored.

    The Rotterdam tumour bank joined to the 686 women of `load_gbsg2`, who come first; times are in
    months. The file stores no names of columns: those given here are inferred from the values. Two
    rows are copies of others; ``groups`` numbers them.

    Parameters
    ----------
    return_X_y, as_frame
        As in `load_gbsg2`.

    Returns
    -------
    X, y : DataFrame or ndarray of shape (2232, 7), and structured array of shape (2232,)
    data : RealData
        Instead of both if `return_X_y` is False.

    Examples
    --------
    >>> from censquant.datasets import fetch_gbsg
    >>> X, y = fetch_gbsg()  # doctest: +SKIP
    """
    names = (
        "hormone_therapy size_or_grade menopause age positive_nodes progesterone_receptor "
        "oestrogen_receptor"
    )
    return _read_deepsurv(GBSG, names.split(), return_X_y, as_frame)


def _read_deepsurv(
    info: DatasetInfo, feature_names: list[str], return_X_y: bool, as_frame: bool
) -> Any:
    """Read the one file of a set."""
    try:
        import h5py
    except ImportError:
        raise ImportError(
            'Reading HDF5 files needs h5py; install it with: pip install "censquant[data]"'
        ) from None
    # The order of the program behind the published numbers, whose seeded splits depend on it.
    with h5py.File(locate(info.files[0]), "r") as file:
        X, time, event = (
            np.concatenate([file[part][column][:] for part in ("test", "train")])
            for column in ("x", "t", "e")
        )
    X = X.astype(np.float64)
    return hand_out(
        info,
        X,
        Surv.from_arrays(event=event, time=time),
        tuple(feature_names),
        groups=copies(X, time, event) if info.groups == COPIES else None,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


_NASA_LICENCE = "no licence stated; NASA asks to be cited"


def _nasa_file(path: str, source: str, checksum: str, size: int | None) -> DataFile:
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
        _nasa_file(
            "phm2008/train.txt",
            "PHM08/train.txt",
            "git-sha1:d3c7c8e9db96873f76096d5da76091f96b516061",
            None,
        ),
    ),
    groups="cycles of one engine",
)

_RUN_TO_FAILURE = _nasa_file(
    "cmapss_fd001/train_FD001.txt",
    "CMAPSSData/train_FD001.txt",
    "sha256:963b5e22825b34d8b21c69e1aeb4af3e647050eb672ee8834ba4b5d91d2de0f8",
    3_515_356,
)
_STOPPED_EARLY = _nasa_file(
    "cmapss_fd001/test_FD001.txt",
    "CMAPSSData/test_FD001.txt",
    "sha256:3cda7109ce17bafb5443f2ac926cfcf88154b941b8c4cf95eb55d1ddd6f52851",
    2_228_855,
)
_REMAINING_LIVES = _nasa_file(
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


_EngineRows = tuple[Floats, Floats, NDArray[np.bool_]]
"""Table of cycles, time and event of each row."""


@fetcher
def fetch_phm2008(*, return_X_y: bool = True, as_frame: bool = True) -> Any:
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
    X, y : DataFrame or ndarray of shape (45918, 21), and structured array of shape (45918,)
    data : RealData
        Instead of both if `return_X_y` is False.

    References
    ----------
    .. [1] A. Saxena et al. (2008). Damage propagation modeling for aircraft engine run-to-failure
       simulation. *International Conference on Prognostics and Health Management*.

    Examples
    --------
    >>> from censquant.datasets import fetch_phm2008
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


def _run_to_failure() -> _EngineRows:
    """Rows of the engines whose record ends with their failure."""
    table = _cycles(_RUN_TO_FAILURE)
    return table, _cycles_left(table), np.ones(len(table), dtype=bool)


def _stopped_early(*, to_failure: bool) -> _EngineRows:
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


PUBLISHED = (
    CatalogueEntry(METABRIC, fetch_metabric),
    CatalogueEntry(WHAS, fetch_whas),
    CatalogueEntry(SUPPORT, fetch_support),
    CatalogueEntry(GBSG, fetch_gbsg),
    CatalogueEntry(PHM2008, fetch_phm2008),
    CatalogueEntry(CMAPSS, fetch_cmapss),
)
"""Real data sets that are downloaded."""
