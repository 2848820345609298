"""Functions of neural networks, with the conventions of PyTorch, over NumPy's arrays and those of other libraries."""

from shiftreset_ad.nn.activations import (
    celu,
    elu,
    gelu,
    hard_sigmoid,
    hard_swish,
    hard_tanh,
    leaky_relu,
    log_sigmoid,
    mish,
    prelu,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softplus,
    softsign,
)
from shiftreset_ad.nn.attention import (
    attention,
    multi_head_attention,
)
from shiftreset_ad.nn.cells import (
    tree_lstm_cell,
)
from shiftreset_ad.nn.convolution import (
    conv,
    conv_transpose,
)
from shiftreset_ad.nn.ctc import (
    ctc_loss,
)
from shiftreset_ad.nn.gates import (
    memory_cell,
)
from shiftreset_ad.nn.kernels import (
    kernels,
)
from shiftreset_ad.nn.layers import (
    dropout,
    embedding,
    linear,
)
from shiftreset_ad.nn.losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
)
from shiftreset_ad.nn.normalization import (
    batch_norm,
    batch_norm_in_training,
    group_norm,
    instance_norm,
    layer_norm,
    rms_norm,
)
from shiftreset_ad.nn.pooling import (
    adaptive_average_pool,
    adaptive_max_pool,
    average_pool,
    global_average_pool,
    global_max_pool,
    max_pool,
)
from shiftreset_ad.nn.recurrent import (
    bidirectional,
    gru,
    gru_cell,
    lstm,
    lstm_cell,
    rnn,
    rnn_cell,
)
from shiftreset_ad.nn.softmax import (
    log_softmax,
    logsumexp,
    softmax,
)

__all__ = [
    "adaptive_average_pool",
    "adaptive_max_pool",
    "attention",
    "average_pool",
    "batch_norm",
    "batch_norm_in_training",
    "bidirectional",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "conv",
    "conv_transpose",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "elu",
    "embedding",
    "gelu",
    "global_average_pool",
    "global_max_pool",
    "group_norm",
    "gru",
    "gru_cell",
    "hard_sigmoid",
    "hard_swish",
    "hard_tanh",
    "huber_loss",
    "instance_norm",
    "kernels",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_sigmoid",
    "log_softmax",
    "logsumexp",
    "lstm",
    "lstm_cell",
    "max_pool",
    "memory_cell",
    "mish",
    "mse_loss",
    "multi_head_attention",
    "nll_loss",
    "prelu",
    "relu",
    "relu6",
    "rms_norm",
    "rnn",
    "rnn_cell",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "softsign",
    "tree_lstm_cell",
]
