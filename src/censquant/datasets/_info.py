"""What is known of every real data set before any of its files is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from censquant.datasets._registry import FILES, DataFile

Kind = Literal["synthetic", "bundled", "download"]


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set before it is loaded.

    Parameters
    ----------
    name : str
        Name that `load` and `describe` take.
    title : str
        Name in print, for tables.
    kind : {"synthetic", "bundled", "download"}
        Whether rows are drawn, come with the package, or are read from published files.
    n_samples : int
        Rows that come out by default.
    n_features : int
        Columns; pixels where a row is an image.
    censored_share : float inside [0, 1]
        Share of the rows whose event was not seen; for drawn rows the one to expect of many, so
        that a sample of a few hundred may be some points off.
    description : str
        What was measured, in which unit of time, and what to beware of.
    source : str
        Who measured it, and where the files come from.
    licence : str
        Terms as far as they are stated.
    files : tuple of DataFile
        Files it is read from; empty unless it is downloaded.
    groups : str
        What rows of one group share, for splits that keep a group together; empty where every row
        stands for itself.

    Examples
    --------
    >>> from censquant.datasets import describe
    >>> info = describe("whas")
    >>> info.title, info.n_samples, info.groups
    ('WHAS', 1638, 'exact copies of a row')
    """

    name: str
    title: str
    kind: Kind
    n_samples: int
    n_features: int
    censored_share: float
    description: str
    source: str
    licence: str
    files: tuple[DataFile, ...] = ()
    groups: str = ""


COPIES = "exact copies of a row"

_DEEPSURV = "as prepared for DeepSurv (Katzman et al. 2018), jaredleekatzman/DeepSurv on GitHub"
_DEEPSURV_LICENCE = "MIT for the repository; no terms stated for the data"
_CQRNN = "with the code of the CQRNN paper, TeaPearce/Censored_Quantile_Regression_NN on GitHub"
_CQRNN_LICENCE = "MIT for the repository; see the terms of cBioPortal for the data"
_UCI = "UCI Machine Learning Repository"
_UCI_LICENCE = "no terms in the files; see the page of the set at UCI"
_NASA_LICENCE = "no licence stated; NASA asks to be cited"
_NAMES_INFERRED = "The file stores no column names; these are inferred from its values."


def _files(start: str) -> tuple[DataFile, ...]:
    return tuple(file for path, file in FILES.items() if path.startswith(start))


def _download(
    name: str,
    title: str,
    shape: tuple[int, int],
    censored_share: float,
    *,
    files: str | None = None,
    description: str,
    source: str,
    licence: str,
    groups: str = "",
) -> DatasetInfo:
    return DatasetInfo(
        name,
        title,
        "download",
        *shape,
        censored_share,
        description,
        source,
        licence,
        files=_files(files or f"{name}/"),
        groups=groups,
    )


_ALL = (
    DatasetInfo(
        "gbsg2",
        "GBSG2",
        "bundled",
        686,
        8,
        387 / 686,
        "German Breast Cancer Study Group, trial 2 (Schumacher et al. 1994): recurrence-free "
        "survival in days of 686 women with node-positive breast cancer, 299 of them with a "
        "recurrence or death.",
        "Schumacher et al. (1994), Journal of Clinical Oncology 12, 2086-2093; the copy in "
        "lifelines 0.30.3",
        "MIT for the copy in lifelines",
    ),
    _download(
        "metabric",
        "METABRIC",
        (1904, 9),
        801 / 1904,
        description="Survival in months of 1904 women with breast cancer: four gene expressions, "
        f"four treatments and markers, age. {_NAMES_INFERRED} One time is 0.",
        source=f"Curtis et al. (2012), {_DEEPSURV}",
        licence=_DEEPSURV_LICENCE,
    ),
    _download(
        "whas",
        "WHAS",
        (1638, 6),
        948 / 1638,
        description="Survival in days after a heart attack, Worcester Heart Attack Study. "
        f"{_NAMES_INFERRED} 903 of the 1638 rows are exact copies of others, so a random split "
        "tests on rows that were trained on: split by groups.",
        source=f"Worcester Heart Attack Study, {_DEEPSURV}",
        licence=_DEEPSURV_LICENCE,
        groups=COPIES,
    ),
    _download(
        "support",
        "SUPPORT",
        (8873, 14),
        2837 / 8873,
        description="Survival in days of 8873 seriously ill adults in hospital: age, illnesses "
        f"and physiology. {_NAMES_INFERRED}",
        source=f"Knaus et al. (1995), {_DEEPSURV}",
        licence=_DEEPSURV_LICENCE,
    ),
    _download(
        "gbsg",
        "GBSG",
        (2232, 7),
        965 / 2232,
        description="Survival in months of 2232 women with breast cancer, the Rotterdam tumour "
        "bank joined to trial 2 of the German Breast Cancer Study Group. "
        f"{_NAMES_INFERRED} Two rows are copies of others.",
        source=f"Rotterdam tumour bank and Schumacher et al. (1994), {_DEEPSURV}",
        licence=_DEEPSURV_LICENCE,
        groups=COPIES,
    ),
    _download(
        "tmb_immuno",
        "TMBImmuno",
        (1660, 3),
        829 / 1660,
        description="Survival in months of 1660 patients under immunotherapy, several cancers: "
        "age in years, sex and mutational burden. 30 times are 0.",
        source=f"cBioPortal study tmb_mskcc_2018, {_CQRNN}",
        licence=_CQRNN_LICENCE,
    ),
    _download(
        "breast_msk",
        "BreastMSK",
        (1834, 5),
        1423 / 1834,
        description="Survival in months by tumour sample of breast cancer: receptors, mutations "
        "and mutational burden. The 1834 samples come from 1683 patients: split by groups.",
        source=f"cBioPortal study breast_msk_2018, {_CQRNN}",
        licence=_CQRNN_LICENCE,
        groups="samples of one patient",
    ),
    _download(
        "lgggbm",
        "LGGGBM",
        (638, 5),
        394 / 638,
        description="Survival in months of 638 patients with glioma: age, sex, tumour purity, "
        "mutations and mutational burden. Five times are 0.",
        source=f"cBioPortal study lgggbm_tcga_pub, {_CQRNN}",
        licence=_CQRNN_LICENCE,
    ),
    _download(
        "housing",
        "Housing",
        (20_640, 8),
        0.0,
        description="Median house values of 20640 Californian districts in 100,000 dollars, in "
        "the place of times. All are observed, though none is above 5.00001, where the census "
        "capped them.",
        source="Pace and Barry (1997), StatLib; the copy of we-b/datasets_for_ai on GitHub",
        licence="none stated",
    ),
    _download(
        "protein",
        "Protein",
        (45_730, 9),
        0.0,
        description="Deviation of predicted protein structures from the true ones (RMSD, 0 to 21 "
        "angstrom) in the place of times. 1711 of the 45730 rows are copies of others.",
        source=f"{_UCI}, Physicochemical Properties of Protein Tertiary Structure; the copy of "
        "stanfordmlgroup/ngboost on GitHub",
        licence=_UCI_LICENCE,
        groups=COPIES,
    ),
    _download(
        "wine",
        "Wine",
        (6497, 11),
        0.0,
        description="Quality of 6497 Portuguese wines, red ones first, whole grades from 3 to 9 "
        "in the place of times. 1179 rows are copies of others.",
        source=f"Cortez et al. (2009), {_UCI}, Wine Quality",
        licence=_UCI_LICENCE,
        groups=COPIES,
    ),
    _download(
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
        groups="cycles of one engine",
    ),
    _download(
        "cmapss",
        "C-MAPSS FD001",
        (20_631, 25),
        0.0,
        files="cmapss_fd001/",
        description="Remaining life in cycles of 100 simulated jet engines run to failure under "
        "one condition, and of 100 more whose record stops early: age, 3 settings and 21 sensors "
        "at each cycle. Not PHM2008, though the simulator is the same. Rows of one engine depend "
        "on each other: split by groups. The last cycle before a failure has a time of 0.",
        source="NASA Prognostics Center of Excellence, C-MAPSS (Saxena et al. 2008); the copy of "
        "LahiruJayasinghe/RUL-Net on GitHub",
        licence=_NASA_LICENCE,
        groups="cycles of one engine",
    ),
    _download(
        "mnist",
        "MNIST",
        (60_000, 784),
        0.0,
        description="Images of 60000 handwritten digits, 28 x 28 grey values from 0 to 255, and "
        "10000 more for tests. The target is the digit: a class and no time.",
        source="LeCun and Cortes",
        licence="CC BY-SA 3.0, copyright LeCun and Cortes",
    ),
    _download(
        "survmnist",
        "SurvMNIST",
        (60_000, 784),
        0.0,
        files="mnist/train-",
        description="The 60000 training images of MNIST with drawn times: gamma with a mean and a "
        "variance for each digit, divided by 10. All are observed; put censoring over them.",
        source="LeCun and Cortes; times after Goldstein et al. (2020) with the variances of "
        "Pearce et al. (2022)",
        licence="CC BY-SA 3.0, copyright LeCun and Cortes",
    ),
)

REAL: dict[str, DatasetInfo] = {info.name: info for info in _ALL}
"""Real data sets by name."""
