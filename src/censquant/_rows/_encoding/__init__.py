"""Data frames as they are found, turned into a finite matrix of numbers."""

from censquant._rows._encoding._encoder import FrameEncoder
from censquant._rows._encoding._estimator import EncodesFrames

__all__ = ["EncodesFrames", "FrameEncoder"]
