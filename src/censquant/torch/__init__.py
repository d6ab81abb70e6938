"""For users of PyTorch: the losses for one's own loop, and any module as a network.

Needs ``pip install "censquant[torch]"``; nothing else in the package imports torch.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        'censquant.torch needs PyTorch. Install it with: pip install "censquant[torch]"'
    ) from error

from censquant.torch._losses import pinball_loss, portnoy_loss
from censquant.torch._network import TorchNetwork, image_cnn

__all__ = ["TorchNetwork", "image_cnn", "pinball_loss", "portnoy_loss"]
