"""Transformers of scikit-learn as parts of a model file: data, no pickle."""

import builtins
import warnings
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import sklearn

from censquant._files import in_one_line
from censquant._storage._parts import (
    Decoder,
    Encoder,
    Part,
    UnstorableError,
    expect,
    is_fitted,
)
from censquant.exceptions import ModelFileError

# What each class says about the training data; a class that is not here is never looked up.
_CONTENTS = {
    "sklearn.compose.ColumnTransformer": (),
    "sklearn.impute.MissingIndicator": ("which features had missing values",),
    "sklearn.impute.SimpleImputer": ("a value per feature to fill in",),
    "sklearn.pipeline.Pipeline": (),
    "sklearn.preprocessing.FunctionTransformer": (),
    "sklearn.preprocessing.MinMaxScaler": ("minimum and maximum of each feature",),
    "sklearn.preprocessing.OneHotEncoder": ("categories of each feature",),
    "sklearn.preprocessing.OrdinalEncoder": ("categories of each feature",),
    "sklearn.preprocessing.RobustScaler": ("median and quantile range of each feature",),
    "sklearn.preprocessing.StandardScaler": ("mean and standard deviation of each feature",),
}
_BUILTINS = ("bool", "float", "int", "object", "str")
# Between scikit-learn 1.6 and 1.9: parameters without effect that were removed, and
# attributes of imputers that were added, with those whose value they have.
_GONE = {"force_int_remainder_cols"}
_ADDED = {"_fill_dtype": "_fit_dtype"}
# Above so many features the trial row is not worth its memory.
_MOST_FEATURES = 100_000


def transformer_to_part(transformer: Any) -> Part:
    """Return a transformer of scikit-learn, fitted or not, as data.

    Parameters and fitted attributes are stored by name, private ones too, together with
    scikit-learn's version.
    """
    name = type(transformer).__name__
    class_name = next((entry for entry in _CONTENTS if _class_of(entry) is type(transformer)), None)
    if class_name is None:
        known = ", ".join(entry.rpartition(".")[2] for entry in _CONTENTS)
        raise TypeError(
            f"{name} cannot be saved: a model file holds estimators that censquant exports and, of "
            f"scikit-learn, {known}."
        )
    encode = _Encoder(transformer_to_part, exact=True)
    parameters: dict[str, Any] = {}
    state: dict[str, Any] = {}
    for attribute, value in vars(transformer).items():
        if attribute == "_metadata_request":  # what fit is to be handed, which is over
            continue
        try:
            encoded = encode(value, attribute)
        except UnstorableError as error:
            raise TypeError(
                f"{name} cannot be saved: its {attribute} is or contains {error}, and a model "
                "file holds no code and no objects of other libraries."
            ) from None
        is_parameter = attribute in transformer.get_params(deep=False)
        (parameters if is_parameter else state)[attribute] = encoded
    names = ("feature names",) if "feature_names_in_" in state else ()
    return Part(
        class_name,
        parameters,
        {"scikit_learn": sklearn.__version__, "state": state, "tried": _works(transformer)},
        encode.arrays,
        encode.parts,
        contents=(*names, *_CONTENTS[class_name]) if state else (),
        fitted=is_fitted(transformer),
    )


def transformer_from_part(part: Part) -> Any:
    """Return the transformer that :func:`transformer_to_part` made a part of."""
    version = expect("scikit_learn", part.description["scikit_learn"], str)
    try:
        transformer = _rebuilt(part)
        if expect("tried", part.description["tried"], bool):
            _try(transformer)
    except ModelFileError:
        raise
    except Exception as error:
        # Private attributes, and any of another version, may fail in any way.
        raise ModelFileError(
            f"holds a {part.class_name} of scikit-learn {version[:20]} that cannot be made again "
            f"with scikit-learn {sklearn.__version__} ({in_one_line(error)})."
        ) from None
    return transformer


def _rebuilt(part: Part) -> Any:
    if part.class_name not in _CONTENTS:
        raise ModelFileError(
            f"holds a transformer that is not known here: {part.class_name[:40]!r}."
        )
    cls = _class_of(part.class_name)
    decode = _Decoder(part, transformer_from_part, exact=True)
    known = set(part.parameters) - (_GONE - set(cls._get_param_names()))
    transformer = cls(**{name: decode(part.parameters[name]) for name in known})
    state = part.description["state"]
    for new, old in _ADDED.items():
        if old in state and new in _set_by_imputers():
            state = {new: state[old], **state}
    for name, value in state.items():
        # Attributes only, as fit sets them: never anything that the class itself defines.
        is_fitted_attribute = name.endswith("_") or name.startswith("_")
        if not is_fitted_attribute or name.startswith("__") or hasattr(cls, name):
            raise ModelFileError(f"sets {name!r}, which is no fitted attribute of its transformer.")
        setattr(transformer, name, decode(value))
    _refuse_wide_encoder(transformer)
    return transformer


@cache
def _set_by_imputers() -> frozenset[str]:
    """Return the attributes that this version of scikit-learn gives to an imputer."""
    imputer = _class_of("sklearn.impute.SimpleImputer")
    return frozenset(vars(imputer().fit([[0.0]])))


def _refuse_wide_encoder(transformer: Any) -> None:
    """Raise if an encoder claims more columns than categories: it would allocate them."""
    widths = getattr(transformer, "_n_features_outs", None)
    if widths is None:
        return
    sizes = [len(categories) for categories in transformer.categories_]
    if len(widths) != len(sizes) or not all(
        isinstance(width, int) and 0 <= width <= size
        for width, size in zip(widths, sizes, strict=True)
    ):
        raise ModelFileError("holds an encoder whose columns are not those of its categories.")


def _class_of(class_name: str) -> Any:
    module, _, name = class_name.rpartition(".")
    return getattr(import_module(module), name)


class _Encoder(Encoder):
    """Knows what else transformers hold: types, slices, selectors of columns, pandas' NA."""

    def _other(self, value: Any, path: str) -> Any:
        if isinstance(value, np.dtype) and value.kind in "biufO":
            return {"$dtype": value.str}
        if isinstance(value, slice):
            ends = (value.start, value.stop, value.step)
            return {"$slice": [self(end, f"{path}.{place}") for place, end in enumerate(ends)]}
        if isinstance(value, type):
            name = str(value.__name__)
            if issubclass(value, np.generic) and getattr(np, name, None) is value:
                return {"$type": f"numpy.{name}"}
            if name in _BUILTINS and getattr(builtins, name) is value:
                return {"$type": name}
        if type(value) is _selector():
            return {"$selector": {k: self(v, f"{path}.{k}") for k, v in vars(value).items()}}
        if type(value).__name__ == "NAType":
            return {"$missing": "pandas.NA"}
        return super()._other(value, path)


class _Decoder(Decoder):
    def _tagged(self, tag: str, content: Any) -> Any:
        if tag == "$dtype":
            dtype = np.dtype(expect(tag, content, str))
            if dtype.kind not in "biufO":
                raise ModelFileError(f"holds the type {content!r}, which no transformer has.")
            return dtype
        if tag == "$slice":
            return slice(*(self(end) for end in content))
        if tag == "$type":
            return _type(expect(tag, content, str))
        if tag == "$selector":
            return _selector()(**{name: self(value) for name, value in content.items()})
        if tag == "$missing":
            import pandas as pd

            return pd.NA
        return super()._tagged(tag, content)


def _type(name: str) -> type:
    """Return a builtin type of plain values, or one of numpy's types of numbers, by its name."""
    module, _, own = name.rpartition(".")
    found = getattr(np, own, None) if module == "numpy" else None
    if name in _BUILTINS:
        found = getattr(builtins, name)
    elif not isinstance(found, type) or not issubclass(found, np.generic):
        raise ModelFileError(f"holds the type {name!r}, which no transformer has.")
    return found


def _selector() -> Any:
    return _class_of("sklearn.compose.make_column_selector")


def _works(transformer: Any) -> bool:
    """Say whether the transformer accepts a row that is made of its own state."""
    try:
        _try(transformer)
    except Exception:
        return False
    return True


def _try(transformer: Any) -> None:
    """Transform one row: what scikit-learn's version lacks or renamed comes out here."""
    row = _row(transformer)
    names = getattr(transformer, "feature_names_in_", None)
    X: Any
    if names is not None:
        import pandas as pd

        X = pd.DataFrame([row], columns=names)
    else:
        X = np.array([row], dtype=object)
        if all(isinstance(value, int | float) for value in row):
            X = X.astype(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transformer.transform(X)


def _row(transformer: Any) -> list[Any]:
    """Return a value for each feature that a fitted transformer knows."""
    name = type(transformer).__name__
    if name == "Pipeline":
        steps = [step for _, step in transformer.steps if not isinstance(step, str | None)]
        return _row(steps[0])
    if name in ("OneHotEncoder", "OrdinalEncoder"):
        return [np.asarray(categories)[0] for categories in transformer.categories_]
    n_features = transformer.n_features_in_
    if n_features > _MOST_FEATURES:
        raise ValueError(f"too many features to try: {n_features}")
    if name == "SimpleImputer":
        is_text = transformer.statistics_.dtype.kind == "O"
        return list(transformer.statistics_) if is_text else [0.0] * n_features
    row: list[Any] = [0.0] * n_features
    if name == "ColumnTransformer":
        for step, inner, _ in transformer.transformers_:
            if not isinstance(inner, str):
                columns = transformer._transformer_to_input_indices[step]
                for column, value in zip(columns, _row(inner), strict=True):
                    row[column] = value
    return row
