"""The paper's network for images, as it is meant and as it was run."""

from typing import Any


def trained_cnn(input_shape: tuple[int, ...], n_outputs: int) -> Any:
    """Return the paper's network for images as it is meant."""
    from censquant.torch import image_cnn

    return image_cnn(input_shape, n_outputs)


def cnn_as_run(input_shape: tuple[int, ...], n_outputs: int) -> Any:
    """Return it as it was run: its last layer was made after the optimiser and never trained."""
    network = trained_cnn(input_shape, n_outputs)
    for parameter in network[-1].parameters():
        parameter.requires_grad_(False)
    return network
