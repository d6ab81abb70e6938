"""Images of digits, with the digit or with a drawn time as the target."""

from __future__ import annotations

import gzip
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from censquant._validation import RandomState, check_choice, generator
from censquant.datasets._info import CatalogueEntry, DataFile, RealData, downloaded, hand_out
from censquant.datasets._store import locate
from censquant.survival import Surv

_LICENCE = "CC BY-SA 3.0, copyright LeCun and Cortes"


def _file(name: str, checksum: str, size: int) -> DataFile:
    url = f"https://storage.googleapis.com/cvdf-datasets/mnist/{name}"
    return DataFile(f"mnist/{name}", url, f"sha256:{checksum}", size)


_TRAIN = (
    _file(
        "train-images-idx3-ubyte.gz",
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        9_912_422,
    ),
    _file(
        "train-labels-idx1-ubyte.gz",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        28_881,
    ),
)
_TEST = (
    _file(
        "t10k-images-idx3-ubyte.gz",
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        1_648_877,
    ),
    _file(
        "t10k-labels-idx1-ubyte.gz",
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        4_542,
    ),
)
_SUBSETS = {"train": _TRAIN, "test": _TEST}

MNIST = downloaded(
    "mnist",
    "MNIST",
    (60_000, 784),
    0.0,
    description="Images of 60000 handwritten digits, 28 x 28 grey values from 0 to 255, and "
    "10000 more for tests. The target is the digit: a class and no time.",
    source="LeCun and Cortes",
    licence=_LICENCE,
    files=(*_TRAIN, *_TEST),
)

SURVMNIST = downloaded(
    "survmnist",
    "SurvMNIST",
    (60_000, 784),
    0.0,
    description="The 60000 training images of MNIST with drawn times: gamma with a mean and a "
    "variance for each digit, divided by 10. All are observed; put censoring over them.",
    source="LeCun and Cortes; times after Goldstein et al. (2020) with the variances of "
    "Pearce et al. (2022)",
    licence=_LICENCE,
    files=_TRAIN,
)

_PIXELS = tuple(f"pixel_{row}_{column}" for row in range(28) for column in range(28))

# By digit, before the division by 10.
_MEANS = np.array([11.25, 2.25, 5.25, 5.0, 4.75, 8.0, 2.0, 11.0, 1.75, 10.75])
_VARIANCES = np.array([0.1, 0.5, 0.1, 0.2, 0.2, 0.2, 0.3, 0.1, 0.4, 0.6])


@overload
def fetch_mnist(
    *, subset: str = ..., return_X_y: Literal[True] = ..., as_frame: bool = ...
) -> tuple[Any, NDArray[np.uint8]]: ...


@overload
def fetch_mnist(
    *, subset: str = ..., return_X_y: Literal[False], as_frame: bool = ...
) -> RealData: ...


def fetch_mnist(
    *, subset: str = "train", return_X_y: bool = True, as_frame: bool = True
) -> tuple[Any, NDArray[np.uint8]] | RealData:
    """Images of 60000 handwritten digits, or of the 10000 for tests, with their digits.

    The target is a class and no time: these are the images under `fetch_survmnist`. An array of
    images has shape (n, 1, 28, 28), as convolutional networks take it; a frame has one column per
    pixel. Grey values are whole numbers from 0 to 255.

    Parameters
    ----------
    subset : {"train", "test"}
        Which of the two published sets.
    return_X_y, as_frame
        As in `censquant.datasets.load_gbsg2`.

    Returns
    -------
    X : DataFrame of shape (n, 784) or ndarray of shape (n, 1, 28, 28)
        Grey values, uint8.
    y : ndarray of shape (n,)
        Digits, uint8.
    data : RealData
        Instead of both if `return_X_y` is False.

    Examples
    --------
    >>> from censquant.datasets import describe
    >>> from censquant_bench.datasets import fetch_mnist
    >>> len(describe("mnist").files)
    4
    >>> images, digits = fetch_mnist(as_frame=False)  # doctest: +SKIP
    """
    check_choice("subset", subset, _SUBSETS)
    images, digits = _read(_SUBSETS[subset])
    return hand_out(MNIST, images, digits, _PIXELS, return_X_y=return_X_y, as_frame=as_frame)


@overload
def fetch_survmnist(
    *, random_state: RandomState = ..., return_X_y: Literal[True] = ..., as_frame: bool = ...
) -> tuple[Any, NDArray[np.void]]: ...


@overload
def fetch_survmnist(
    *, random_state: RandomState = ..., return_X_y: Literal[False], as_frame: bool = ...
) -> RealData: ...


def fetch_survmnist(
    *, random_state: RandomState = None, return_X_y: bool = True, as_frame: bool = True
) -> tuple[Any, NDArray[np.void]] | RealData:
    """Images of 60000 handwritten digits with drawn times, all observed.

    A digit's time is a tenth of a gamma variable with the digit's own mean and variance [1]_, so
    that images are all there is to learn from and the true quantiles are known: those of the gamma
    distribution with mean (1.125, 0.225, 0.525, 0.5, 0.475, 0.8, 0.2, 1.1, 0.175, 1.075) and
    variance (0.1, 0.5, 0.1, 0.2, 0.2, 0.2, 0.3, 0.1, 0.4, 0.6) / 100 for the digits 0 to 9, which
    `fetch_mnist` gives in the same order. `censquant.datasets.censor_uniform` puts the paper's
    censoring over it.

    Parameters
    ----------
    random_state : int, numpy Generator, numpy RandomState or None
        Source of the times; None differs each time. The global generator is never used.
    return_X_y, as_frame
        As in `censquant.datasets.load_gbsg2`.

    Returns
    -------
    X : DataFrame of shape (60000, 784) or ndarray of shape (60000, 1, 28, 28)
        Grey values, uint8.
    y : structured array of shape (60000,)
        ``event``, True everywhere, and ``time``.
    data : RealData
        Instead of both if `return_X_y` is False.

    References
    ----------
    .. [1] T. Pearce, J.-H. Jeong, Y. Jia and J. Zhu (2022). Censored quantile regression neural
       networks for distribution-free survival analysis. *NeurIPS* 35.

    Examples
    --------
    >>> from censquant.datasets import describe
    >>> from censquant_bench.datasets import fetch_survmnist
    >>> describe("survmnist").n_samples
    60000
    >>> X, y = fetch_survmnist(random_state=0, as_frame=False)  # doctest: +SKIP
    """
    rng = generator(random_state)
    images, digits = _read(_TRAIN)
    shapes, scales = _MEANS**2 / _VARIANCES, _VARIANCES / _MEANS
    time = rng.gamma(shapes[digits], scales[digits]) / 10.0
    return hand_out(
        SURVMNIST,
        images,
        Surv.from_arrays(event=np.ones(len(time), dtype=bool), time=time),
        _PIXELS,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def _read(files: tuple[DataFile, DataFile]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Images with their channel, and digits."""
    images, digits = (_read_idx(file) for file in files)
    return images[:, None], digits


def _read_idx(file: DataFile) -> NDArray[np.uint8]:
    """Array of an idx file of unsigned bytes: a header of sizes, then the values."""
    content = gzip.decompress(locate(file).read_bytes())
    n_dimensions = content[3]
    shape = np.frombuffer(content, dtype=">u4", count=n_dimensions, offset=4)
    values = np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * n_dimensions)
    # Copied, because what lies over bytes is read-only.
    return values.reshape(shape).copy()


DIGITS = (CatalogueEntry(MNIST, fetch_mnist), CatalogueEntry(SURVMNIST, fetch_survmnist))
"""Images of digits."""
