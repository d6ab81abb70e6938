"""The data sets of a neutral comparison of survival learners, and what it published."""

from __future__ import annotations

import csv
import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant._validation import check_flag, look_up
from censquant.datasets._info import CatalogueEntry, RealData, packed, pandas_for_frames
from censquant.datasets._store import FOLDER_VARIABLE, locate, missing_folder
from censquant.survival import Surv
from censquant_bench.datasets._field_info import FIELD_INFOS

FIELD_DATASETS = tuple(FIELD_INFOS)
"""Names of the sets of Burk et al. that `fetch_field` knows."""

_SOURCE = "slds-lmu/paper_2023_survival_benchmark on GitHub"


@overload
def fetch_field(
    name: str, *, return_X_y: Literal[True] = ..., as_frame: bool = ...
) -> tuple[Any, NDArray[np.void]]: ...


@overload
def fetch_field(name: str, *, return_X_y: Literal[False], as_frame: bool = ...) -> RealData: ...


def fetch_field(
    name: str, *, return_X_y: bool = True, as_frame: bool = True
) -> tuple[Any, NDArray[np.void]] | RealData:
    """One of 34 survival sets on which Burk et al. compared 21 tuned learners.

    Methods of this package are developed on 17 of them (`FIELD_DEVELOPMENT`); the others
    (`FIELD_CONFIRMATION`) are scored with what is finished, so that the study [1]_
    has sets on which no choice depends. Rows with a missing value were removed by the study.
    `field_folds` has its divisions, `field_scores` its results; the suite ``field`` of the
    benchmark runs its protocol.

    Parameters
    ----------
    name : str
        One of `FIELD_DATASETS`, the study's own names. The catalogue lists the same set with
        ``field_`` before the name.
    return_X_y : bool
        Whether to return ``(X, y)`` only.
    as_frame : bool
        Whether the features are a pandas DataFrame, in which columns of words are categories. The
        array has numbers only: one column of 0 and 1 for each category except the alphabetically
        first, named as in ``sex=male``.

    Returns
    -------
    X : DataFrame or ndarray of shape (n_samples, n_columns)
        Features; numbers are float64.
    y : structured array of shape (n_samples,)
        ``event``, True where it was observed, and ``time``.
    data : RealData
        Instead of both if `return_X_y` is False.

    References
    ----------
    .. [1] L. Burk et al. (2026). A large-scale neutral comparison study of survival models on
       low-dimensional data. arXiv:2406.04098v2.

    Examples
    --------
    >>> from censquant.datasets import describe
    >>> from censquant_bench.datasets import FIELD_DATASETS
    >>> info = describe("field_lung")
    >>> len(FIELD_DATASETS), info.n_samples, info.n_features
    (34, 167, 8)
    """
    info = look_up("field data set", name, FIELD_INFOS)
    table = MixedTable.read(locate(info.files[0]))
    y = Surv.from_arrays(event=table.columns["status"] == 1, time=table.columns["time"])
    features = table.without("time", "status")
    if check_flag("as_frame", as_frame):
        return packed(info, features.frame(), y, features.names, return_X_y=return_X_y)
    X, names = features.numbers()
    return packed(info, X, y, names, return_X_y=return_X_y)


def field_folds(name: str) -> Any:
    """Training and test rows of the study's outer resampling: three folds, repeated.

    They are read from ``field/folds/NAME.csv`` in the folder that ``CENSQUANT_DATA`` names, and
    never downloaded.

    Parameters
    ----------
    name : str
        One of `FIELD_DATASETS`.

    Returns
    -------
    folds : DataFrame
        Columns ``set`` (``train`` or ``test``), ``iteration`` (from 1 on; the first three are one
        repetition) and ``row_id`` (row of the data set, from 1 on).

    Examples
    --------
    >>> from censquant_bench.datasets import field_folds
    >>> field_folds("long")
    Traceback (most recent call last):
    ValueError: There is no field data set 'long'; did you mean lung?
    """
    look_up("field data set", name, FIELD_INFOS)
    return table_in_folder(
        f"field/folds/{name}.csv", f"resamplings/repeated_cv/{name}.csv of {_SOURCE}"
    )


def field_scores() -> Any:
    """Scores that the study published, one row per data set, learner, tuning and iteration.

    They are read from ``field/published_scores.csv`` in the folder that ``CENSQUANT_DATA`` names,
    and never downloaded.

    Returns
    -------
    scores : DataFrame
        Columns ``task`` (a name of `FIELD_DATASETS`), ``learner``, ``tuned_for`` (``harrell_c``,
        ``isbs`` or both with a comma between), ``iteration``, ``harrell_c``, ``isbs`` and
        ``dcalib`` (the statistic of D-calibration); a score that the learner was not tuned for, or
        has no distribution for, is missing.

    Examples
    --------
    >>> from censquant_bench.datasets import field_scores
    >>> field_scores.__name__
    'field_scores'
    """
    return table_in_folder("field/published_scores.csv", f"the results of {_SOURCE}")


def from_folder(path: str, source: str) -> Path:
    """Return the place of a file that is looked for in the user's folder alone."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder and (own := Path(folder).expanduser() / path).is_file():
        return own
    preface = missing_folder(folder) if folder else ""
    raise FileNotFoundError(
        f"{preface}{path!r} is never downloaded: put it, made of {source}, into the folder that "
        f"the environment variable {FOLDER_VARIABLE} names."
    )


def table_in_folder(path: str, source: str) -> Any:
    """Return a CSV file that is looked for in the user's folder alone, as a DataFrame."""
    return pandas_for_frames().read_csv(from_folder(path, source))


def _loader(name: str) -> Callable[..., Any]:
    return functools.partial(fetch_field, name)


@dataclass(frozen=True, eq=False)
class MixedTable:
    """Columns of a CSV file by name: numbers, or words where a column has any.

    Parameters
    ----------
    columns : dict of str to ndarray
        float64, or text.
    """

    columns: dict[str, NDArray[Any]]

    @classmethod
    def read(cls, path: Path) -> MixedTable:
        """Return the table of a file whose first line has the names."""
        with path.open(encoding="utf-8", newline="") as stream:
            names, *rows = csv.reader(stream)
        texts = zip(*rows, strict=True)
        return cls({name: _column(column) for name, column in zip(names, texts, strict=True)})

    def without(self, *names: str) -> MixedTable:
        """Return the table without some columns."""
        return MixedTable({name: self.columns[name] for name in self.columns if name not in names})

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.columns)

    def frame(self) -> Any:
        """Return a pandas DataFrame: numbers, and categories in alphabetical order."""
        pd = pandas_for_frames()
        return pd.DataFrame(
            {
                name: values if _is_numeric(values) else pd.Categorical(values, np.unique(values))
                for name, values in self.columns.items()
            }
        )

    def numbers(self) -> tuple[Floats, tuple[str, ...]]:
        """Return an array and its names: a word becomes 0 or 1 per category except the first."""
        found: dict[str, Floats] = {}
        for name, values in self.columns.items():
            if _is_numeric(values):
                found[name] = values
            else:
                for category in np.unique(values)[1:]:
                    found[f"{name}={category}"] = (values == category).astype(np.float64)
        return np.column_stack(list(found.values())), tuple(found)


def _column(texts: Sequence[str]) -> NDArray[Any]:
    try:
        return np.array([float(text) for text in texts])
    except ValueError:
        return np.array(texts)


def _is_numeric(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "f"


FIELD = tuple(CatalogueEntry(info, _loader(name)) for name, info in FIELD_INFOS.items())
"""The field's data sets."""
