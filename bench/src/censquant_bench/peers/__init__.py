"""Methods of other libraries behind one small interface, where these are installed."""

from censquant_bench.peers._base import Peer
from censquant_bench.peers._registry import PEER_TITLES, available_peers, make_peer

__all__ = [
    "PEER_TITLES",
    "Peer",
    "available_peers",
    "make_peer",
]
