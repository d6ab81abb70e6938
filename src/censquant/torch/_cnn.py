"""The paper's network for images."""

import torch
from torch import nn

_SMALLEST_SIDE = 16  # below it nothing is left after the convolutions


def image_cnn(input_shape: tuple[int, ...], n_outputs: int, *, dropout: float = 0.2) -> nn.Module:
    """Convolutional network of the paper's SurvMNIST experiment, for ``network=``.

    Three convolutions (64 of 5 x 5, 128 of 5 x 5, 256 of 3 x 3) with ReLU, whole channels dropped
    and averages over 2 x 2 pixels after the first two, and a linear layer. The last layer is made
    with the others and so is trained; in the authors' program it was made after the optimiser,
    which never saw it.

    Parameters
    ----------
    input_shape : tuple of int
        Channels, height and width; 28 x 28 in the paper, at least 16 x 16.
    n_outputs : int
    dropout : float in [0, 1), default 0.2
        Share of channels dropped.

    Returns
    -------
    module : torch.nn.Module

    Examples
    --------
    >>> import torch
    >>> from censquant.torch import image_cnn
    >>> image_cnn((1, 28, 28), 19)(torch.zeros(5, 1, 28, 28)).shape
    torch.Size([5, 19])

    ``CQRNN(network=image_cnn, learning_rate=0.001)`` fits images of shape ``(n, 1, 28, 28)``.
    """
    if len(input_shape) != 3 or min(input_shape[1:]) < _SMALLEST_SIDE:
        raise ValueError(
            "image_cnn needs rows of shape (channels, height, width) with at least "
            f"{_SMALLEST_SIDE} x {_SMALLEST_SIDE} pixels, got {tuple(input_shape)}."
        )
    features = nn.Sequential(
        nn.Conv2d(input_shape[0], 64, kernel_size=5),
        nn.ReLU(),
        nn.Dropout2d(dropout),
        nn.AvgPool2d(2),
        nn.Conv2d(64, 128, kernel_size=5),
        nn.ReLU(),
        nn.Dropout2d(dropout),
        nn.AvgPool2d(2),
        nn.Conv2d(128, 256, kernel_size=min(3, _left(input_shape[1:]))),
        nn.ReLU(),
        nn.Flatten(),
    )
    with torch.no_grad():
        n_features = features.eval()(torch.zeros(1, *input_shape)).shape[1]
    return nn.Sequential(*features.train(), nn.Linear(n_features, n_outputs))


def _left(sides: tuple[int, ...]) -> int:
    """Return the smaller side of what reaches the last convolution."""
    return min(((side - 4) // 2 - 4) // 2 for side in sides)
