"""Layers for PyTorch on clattn's operators, as torch.nn.Modules.

Each computes on the device of clattn.torch.use. State dictionaries, deepcopy,
functional_call and DistributedDataParallel work as with PyTorch's own.
"""

from clattn._encoder import Encoder
from clattn._layers import HardAttention, Levels, SelfAttention
from clattn._multihead import MultiheadAttention, swap_attention
from clattn._recurrent import GRU, LSTM
from clattn._tagger import Sentences, Tagger

__all__ = [
    "GRU",
    "LSTM",
    "Encoder",
    "HardAttention",
    "Levels",
    "MultiheadAttention",
    "SelfAttention",
    "Sentences",
    "Tagger",
    "swap_attention",
]
