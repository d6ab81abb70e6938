"""Data frames as they are found, turned into a finite matrix of numbers."""

from censquant._rows._encoding._encoder import FrameEncoder
from censquant._rows._encoding._estimator import EncodesFrames
from censquant._rows._encoding._graph import encoder_graph, numbers_graph

__all__ = ["EncodesFrames", "FrameEncoder", "encoder_graph", "numbers_graph"]
