"""Survival of cancer patients from tables of the cBioPortal."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant.datasets._info import (
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

_TIME = "Overall Survival (Months)"
_STATUS = "Overall Survival Status"
_PATIENT = "Patient ID"
_MISSING = ("", "NA")


@dataclass(frozen=True)
class _Column:
    """A feature: the published heading, and the word that becomes 1 where it holds words."""

    heading: str
    one: str | None = None

    def value(self, row: Mapping[str, str]) -> float:
        text = row[self.heading]
        return float(text) if self.one is None else float(text == self.one)


def _info(
    name: str,
    title: str,
    shape: tuple[int, int],
    n_censored: int,
    file: str,
    checksum: str,
    size: int,
    *,
    description: str,
    study: str,
    groups: str = "",
) -> DatasetInfo:
    repository = "TeaPearce/Censored_Quantile_Regression_NN"
    commit = "e7cf4d8c8070d7133a0c294c6a9452da29ff838a"
    url = github_url(repository, commit, f"02_datasets/{file}")
    return downloaded(
        name,
        title,
        shape,
        n_censored / shape[0],
        description=description,
        source=f"cBioPortal study {study}, with the code of the CQRNN paper, {repository} on "
        "GitHub",
        licence="MIT for the repository; see the terms of cBioPortal for the data",
        files=(DataFile(f"{name}/{file}", url, f"sha256:{checksum}", size),),
        groups=groups,
    )


TMB_IMMUNO = _info(
    "tmb_immuno",
    "TMBImmuno",
    (1660, 3),
    829,
    "tmb_immuno_mskcc.tsv",
    "63193dc339fce9943d5a4cc3550252c6fd049ccd5f27ecb4cc8dde2942acd712",
    347_293,
    description="Survival in months of 1660 patients under immunotherapy, several cancers: "
    "age in years, sex and mutational burden. 30 times are 0.",
    study="tmb_mskcc_2018",
)

BREAST_MSK = _info(
    "breast_msk",
    "BreastMSK",
    (1834, 5),
    1423,
    "breast_msk_2018_clinical_data.tsv",
    "db403c43de775b7a46353117372ef27a84ac81e17061c7a8369d5a06c9fa2100",
    939_744,
    description="Survival in months by tumour sample of breast cancer: receptors, mutations "
    "and mutational burden. The 1834 samples come from 1683 patients: split by groups.",
    study="breast_msk_2018",
    groups="samples of one patient",
)

LGGGBM = _info(
    "lgggbm",
    "LGGGBM",
    (638, 5),
    394,
    "lgggbm_tcga_pub_clinical_data.tsv",
    "c047d01226f5ad97a57e778cddb515b554bd3f980c03e089c3afc19b13344a9e",
    477_783,
    description="Survival in months of 638 patients with glioma: age, sex, tumour purity, "
    "mutations and mutational burden. Five times are 0.",
    study="lgggbm_tcga_pub",
)


@fetcher
def fetch_tmb_immuno(*, return_X_y: bool = True, as_frame: bool = True) -> Any:
    """Survival of 1660 patients under immunotherapy, 50 % of them censored.

    Several kinds of cancer; times are in months, and 30 of them are 0. Features: ``age`` in years,
    ``female`` (0, 1), ``tmb`` nonsynonymous mutations per megabase. One row of the file with a
    missing value is left out.

    Parameters
    ----------
    return_X_y, as_frame
        As in `censquant.datasets.load_gbsg2`.

    Returns
    -------
    X, y : DataFrame or ndarray of shape (1660, 3), and structured array of shape (1660,)
    data : RealData
        Instead of both if `return_X_y` is False.

    Examples
    --------
    >>> from censquant_bench.datasets import fetch_tmb_immuno
    >>> X, y = fetch_tmb_immuno()  # doctest: +SKIP
    """
    columns = {
        # The heading speaks of days, but the values run from 15 to 90.
        "age": _Column("Age at Which Sequencing was Reported (Days)"),
        "female": _Column("Sex", one="Female"),
        "tmb": _Column("TMB (nonsynonymous)"),
    }
    return _fetch(TMB_IMMUNO, columns, return_X_y, as_frame)


@fetcher
def fetch_breast_msk(*, return_X_y: bool = True, as_frame: bool = True) -> Any:
    """Survival by sample of breast cancer, 78 % of the 1834 samples censored.

    Times are in months. Features: ``er_positive``, ``her2_positive`` and ``hr_positive`` (1
    positive, 0 otherwise, also for 28 tumours of unknown oestrogen receptor status),
    ``mutation_count``, ``tmb`` nonsynonymous mutations per megabase. Rows with a missing value are
    left out. The samples come from 1683 patients, whose numbers are in ``groups``: a split that
    parts them is too easy.

    Parameters
    ----------
    return_X_y, as_frame
        As in `censquant.datasets.load_gbsg2`.

    Returns
    -------
    X, y : DataFrame or ndarray of shape (1834, 5), and structured array of shape (1834,)
    data : RealData
        Instead of both if `return_X_y` is False.

    Examples
    --------
    >>> from censquant_bench.datasets import fetch_breast_msk
    >>> X, y = fetch_breast_msk()  # doctest: +SKIP
    """
    columns = {
        "er_positive": _Column("ER Status of the Primary", one="Positive"),
        "her2_positive": _Column("Overall Patient HER2 Status", one="Positive"),
        "hr_positive": _Column("Overall Patient HR Status", one="Positive"),
        "mutation_count": _Column("Mutation Count"),
        "tmb": _Column("TMB (nonsynonymous)"),
    }
    return _fetch(BREAST_MSK, columns, return_X_y, as_frame)


@fetcher
def fetch_lgggbm(*, return_X_y: bool = True, as_frame: bool = True) -> Any:
    """Survival of 638 patients with glioma, 62 % of them censored.

    Gliomas of the TCGA of lower and of the highest grade; times are in months, and five of them
    are 0. Features: ``age`` in years, ``female`` (0, 1), ``purity`` of the tumour,
    ``mutation_count``, ``tmb`` nonsynonymous mutations per megabase. The 484 rows with a missing
    value are left out.

    Parameters
    ----------
    return_X_y, as_frame
        As in `censquant.datasets.load_gbsg2`.

    Returns
    -------
    X, y : DataFrame or ndarray of shape (638, 5), and structured array of shape (638,)
    data : RealData
        Instead of both if `return_X_y` is False.

    Examples
    --------
    >>> from censquant_bench.datasets import fetch_lgggbm
    >>> X, y = fetch_lgggbm()  # doctest: +SKIP
    """
    columns = {
        "age": _Column("Diagnosis Age"),
        "female": _Column("Sex", one="Female"),
        "purity": _Column("Absolute Purity"),
        "mutation_count": _Column("Mutation Count"),
        "tmb": _Column("TMB (nonsynonymous)"),
    }
    return _fetch(LGGGBM, columns, return_X_y, as_frame)


def _fetch(
    info: DatasetInfo, columns: Mapping[str, _Column], return_X_y: bool, as_frame: bool
) -> tuple[Any, NDArray[np.void]] | RealData:
    """Read the one file of a set, without the rows that lack a value."""
    needed = [_TIME, _STATUS, *(column.heading for column in columns.values())]
    with locate(info.files[0]).open(encoding="utf-8", newline="") as file:
        table = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        rows = [row for row in table if not any(row[heading] in _MISSING for heading in needed)]
    patients = np.array([row[_PATIENT] for row in rows])
    return hand_out(
        info,
        np.array([[column.value(row) for column in columns.values()] for row in rows]),
        Surv.from_arrays(
            # "1:DECEASED" or "0:LIVING"
            event=np.array([row[_STATUS].startswith("1") for row in rows]),
            time=np.array([float(row[_TIME]) for row in rows]),
        ),
        tuple(columns),
        groups=copies(patients) if info.groups else None,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


CBIOPORTAL = (
    CatalogueEntry(TMB_IMMUNO, fetch_tmb_immuno),
    CatalogueEntry(BREAST_MSK, fetch_breast_msk),
    CatalogueEntry(LGGGBM, fetch_lgggbm),
)
"""Data sets of the cBioPortal."""
