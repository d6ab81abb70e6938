"""Types of arrays that most files name."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
