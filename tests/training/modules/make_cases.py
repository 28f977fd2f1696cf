#!/usr/bin/env python3
"""PyTorch's modules in double, for modules_test: state_dict, inputs, outputs, cotangents and the gradients of parameters
and inputs. Run by the Python of `scripts/peers torch`: make_cases.py [FILE]. A case trains where it is named in TRAINED."""
import os
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


def f(*shape):
    return torch.randn(*shape)


def ids(high, *shape):
    return torch.randint(0, high, shape)


class Of(nn.Module):
    """A function of tensors as a module."""

    def __init__(self, function, *children):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


class Packed(nn.Module):
    """A recurrent module on padded sequences; its parameters are its own."""

    def __init__(self, inner, lengths):
        super().__init__()
        self.inner, self.lengths = inner, lengths

    def state_dict(self):
        return self.inner.state_dict()

    def named_parameters(self):
        return self.inner.named_parameters()

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths.to(torch.int64), enforce_sorted=False)
        y, state = self.inner(packed)
        return (nn.utils.rnn.pad_packed_sequence(y)[0], *(state if isinstance(state, tuple) else (state,)))


def flat(result):
    if isinstance(result, torch.Tensor):
        return [result]
    return [each for part in result if part is not None for each in flat(part)]


causal = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
padding = torch.tensor([[False, False, False, False, True], [False, False, False, True, True]])
CASES = {
    "linear": (nn.Linear(4, 3), [f(2, 3, 4)]),
    "linear_plain": (nn.Linear(4, 3, bias=False), [f(5, 4)]),
    "bilinear": (nn.Bilinear(3, 4, 2), [f(5, 3), f(5, 4)]),
    "flatten": (nn.Flatten(), [f(2, 3, 4)]),
    "flatten_middle": (nn.Flatten(1, 2), [f(2, 3, 2, 4)]),
    "unflatten": (nn.Unflatten(1, (2, 3)), [f(2, 6, 2)]),
    "conv1d": (nn.Conv1d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2), [f(2, 4, 9)]),
    "conv2d": (nn.Conv2d(3, 4, (3, 2), stride=(1, 2), padding=(2, 1)), [f(2, 3, 5, 6)]),
    "conv2d_same": (nn.Conv2d(3, 4, (3, 4), padding="same", bias=False), [f(2, 3, 5, 6)]),
    "conv2d_reflect": (nn.Conv2d(2, 3, 3, padding=(2, 1), padding_mode="reflect"), [f(2, 2, 5, 6)]),
    "conv2d_replicate": (nn.Conv2d(2, 3, 3, padding=(2, 1), padding_mode="replicate"), [f(2, 2, 5, 6)]),
    "conv2d_circular": (nn.Conv2d(2, 3, 3, padding=(2, 1), padding_mode="circular"), [f(2, 2, 5, 6)]),
    "conv3d": (nn.Conv3d(2, 3, 2, padding=1), [f(1, 2, 3, 4, 3)]),
    "conv_transpose1d": (nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), [f(2, 4, 5)]),
    "conv_transpose2d": (nn.ConvTranspose2d(2, 3, 3, stride=2, dilation=2, bias=False), [f(2, 2, 3, 4)]),
    "conv_transpose3d": (nn.ConvTranspose3d(2, 3, 2, stride=2), [f(1, 2, 2, 3, 2)]),
    "batch_norm1d": (nn.BatchNorm1d(3), [f(5, 3)]),
    "batch_norm1d_train": (nn.BatchNorm1d(3, momentum=0.3), [f(5, 3)]),
    "batch_norm2d_train": (nn.BatchNorm2d(3, eps=1e-3), [f(3, 3, 2, 4)]),
    "batch_norm3d": (nn.BatchNorm3d(2, affine=False), [f(2, 2, 2, 2, 3)]),
    "batch_norm_untracked": (nn.BatchNorm2d(3, track_running_stats=False), [f(3, 3, 2, 4)]),
    "layer_norm": (nn.LayerNorm((3, 4)), [f(2, 3, 4)]),
    "layer_norm_without_bias": (nn.LayerNorm(4, eps=1e-3, bias=False), [f(2, 3, 4)]),
    "layer_norm_plain": (nn.LayerNorm(4, elementwise_affine=False), [f(2, 3, 4)]),
    "rms_norm": (nn.RMSNorm(4), [f(2, 3, 4)]),
    "rms_norm_plain": (nn.RMSNorm(4, eps=1e-3, elementwise_affine=False), [f(2, 3, 4)]),
    "group_norm": (nn.GroupNorm(2, 4), [f(2, 4, 3, 2)]),
    "group_norm_plain": (nn.GroupNorm(3, 6, affine=False), [f(2, 6, 5)]),
    "instance_norm": (nn.InstanceNorm2d(3, affine=True), [f(2, 3, 3, 2)]),
    "instance_norm_plain": (nn.InstanceNorm1d(3), [f(2, 3, 4)]),
    "embedding": (nn.Embedding(7, 3), [ids(7, 2, 4)]),
    "embedding_padding": (nn.Embedding(7, 3, padding_idx=2), [torch.tensor([[2, 1, 6], [0, 2, 2]])]),
    "bag_mean": (nn.EmbeddingBag(7, 3), [ids(7, 3, 4)]),
    "bag_sum_weights": (Of(None), [ids(7, 3, 4), f(3, 4)]),
    "bag_max_padding": (nn.EmbeddingBag(7, 3, mode="max", padding_idx=1), [torch.tensor([[1, 2, 3], [1, 1, 1]])]),
    "bag_offsets": (nn.EmbeddingBag(7, 3, padding_idx=2), [torch.tensor([0, 2, 2, 5, 6, 1]), torch.tensor([0, 3, 3])]),
    "bag_offsets_sum": (nn.EmbeddingBag(7, 3, mode="sum"), [torch.tensor([0, 2, 2, 5]), torch.tensor([0, 1])]),
    "lstm": (nn.LSTM(3, 4), [f(5, 2, 3)]),
    "lstm_deep": (nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True), [f(2, 5, 3), f(4, 2, 4), f(4, 2, 4)]),
    "lstm_lengths": (Packed(nn.LSTM(3, 4, bidirectional=True), None), [f(5, 3, 3), torch.tensor([5, 2, 3], dtype=torch.int32)]),
    "gru": (nn.GRU(3, 4, 2), [f(5, 2, 3)]),
    "gru_states": (nn.GRU(3, 4, 1, bias=False, batch_first=True, bidirectional=True), [f(2, 5, 3), f(2, 2, 4)]),
    "rnn": (nn.RNN(3, 4, 2, bidirectional=True), [f(5, 2, 3)]),
    "rnn_relu": (nn.RNN(3, 4, nonlinearity="relu"), [f(5, 2, 3), f(1, 2, 4)]),
    "sdpa": (Of(lambda q, k, v: F.scaled_dot_product_attention(q, k, v)), [f(2, 3, 4, 5), f(2, 3, 6, 5), f(2, 3, 6, 2)]),
    "sdpa_causal_groups": (Of(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True, scale=0.7)),
                           [f(2, 4, 5, 3), f(2, 2, 5, 3), f(2, 2, 5, 3)]),
    "sdpa_mask": (Of(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m)), [f(2, 3, 4, 5), f(2, 3, 6, 5), f(2, 3, 6, 5), f(4, 6)]),
    "mha": (nn.MultiheadAttention(6, 2), [f(5, 2, 6)]),
    "mha_masks": (nn.MultiheadAttention(6, 3, bias=False, batch_first=True), [f(2, 5, 6), f(2, 5, 6), causal, padding]),
    "mha_sizes": (nn.MultiheadAttention(6, 2, kdim=3, vdim=4), [f(5, 2, 6), f(4, 2, 3), f(4, 2, 4)]),
    "encoder_layer": (nn.TransformerEncoderLayer(6, 2, 8, dropout=0), [f(5, 2, 6)]),
    "encoder_layer_first": (nn.TransformerEncoderLayer(6, 2, 8, dropout=0, activation="gelu", batch_first=True, norm_first=True, bias=False),
                            [f(2, 5, 6), padding]),
    "decoder_layer": (nn.TransformerDecoderLayer(6, 2, 8, dropout=0), [f(5, 2, 6), f(3, 2, 6)]),
    "decoder_layer_first": (nn.TransformerDecoderLayer(6, 2, 8, dropout=0, batch_first=True, norm_first=True), [f(2, 5, 6), f(2, 3, 6), causal]),
    "encoder": (nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, dropout=0), 2, norm=nn.LayerNorm(6)), [f(5, 2, 6)]),
    "decoder": (nn.TransformerDecoder(nn.TransformerDecoderLayer(6, 2, 8, dropout=0), 2), [f(5, 2, 6), f(3, 2, 6)]),
    "sequential": (nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 3)), [f(2, 1, 6, 6)]),
    "prelu": (nn.PReLU(3), [f(2, 3, 4)]),
    "max_pool": (nn.MaxPool2d(3, 2, 1, ceil_mode=True), [f(2, 2, 6, 5)]),
    "max_pool_dilated": (nn.MaxPool1d(2, 1, dilation=2), [f(2, 2, 6)]),
    "avg_pool": (nn.AvgPool2d((2, 3), padding=1), [f(2, 2, 6, 7)]),
    "avg_pool_inside": (nn.AvgPool3d(2, padding=1, count_include_pad=False), [f(1, 2, 3, 4, 3)]),
    "lp_pool": (nn.LPPool2d(3, 2), [f(2, 2, 4, 5).abs()]),
    "adaptive_avg": (nn.AdaptiveAvgPool2d((3, 2)), [f(2, 2, 7, 5)]),
    "adaptive_avg_even": (nn.AdaptiveAvgPool1d(3), [f(2, 2, 6)]),
    "adaptive_avg_one": (nn.AdaptiveAvgPool3d(1), [f(2, 2, 2, 3, 2)]),
    "adaptive_max": (nn.AdaptiveMaxPool2d((3, 2)), [f(2, 2, 6, 4)]),
    "upsample": (nn.Upsample(scale_factor=2), [f(2, 2, 3, 2)]),
    "upsample_nearest_size": (nn.Upsample(size=(4, 5)), [f(2, 2, 3, 2)]),
    "upsample_linear": (nn.Upsample(scale_factor=(2, 1.5), mode="bilinear"), [f(2, 2, 3, 4)]),
    "upsample_corners": (nn.Upsample(size=(5, 4, 3), mode="trilinear", align_corners=True), [f(1, 2, 3, 2, 2)]),
    "upsample_cubic": (nn.Upsample(size=(7, 6), mode="bicubic"), [f(1, 2, 4, 5)]),
    "pixel_shuffle": (nn.PixelShuffle(2), [f(2, 8, 2, 3)]),
    "pixel_unshuffle": (nn.PixelUnshuffle(2), [f(2, 3, 4, 6)]),
    "channel_shuffle": (nn.ChannelShuffle(3), [f(2, 6, 2, 3)]),
    "unfold": (nn.Unfold((2, 3), dilation=(2, 1), padding=1, stride=2), [f(2, 3, 6, 7)]),
    "fold": (nn.Fold((5, 6), (2, 3), padding=(1, 0), stride=(1, 2)), [f(2, 12, 12)]),
    "max_unpool": (Of(lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)), [f(2, 3, 4, 6)]),
    "max_unpool_size": (Of(lambda x: F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2, output_size=(7,))), [f(2, 3, 7)]),
    "adaptive_max_uneven": (nn.AdaptiveMaxPool2d((3, 4)), [f(2, 2, 7, 6)]),
    "zero_pad": (nn.ZeroPad2d((1, 2, 3, 0)), [f(2, 2, 3, 2)]),
    "constant_pad": (nn.ConstantPad1d((2, -1), 0.7), [f(2, 2, 4)]),
    "reflection_pad": (nn.ReflectionPad2d((1, 2, 0, 1)), [f(2, 2, 3, 4)]),
    "replication_pad": (nn.ReplicationPad3d(1), [f(2, 2, 2, 3, 2)]),
    "circular_pad": (nn.CircularPad2d((1, 2, 2, 0)), [f(2, 2, 3, 4)]),
    "response_norm": (nn.LocalResponseNorm(3, alpha=0.4, k=2), [f(2, 5, 3, 2)]),
    "response_norm_even": (nn.LocalResponseNorm(4, alpha=0.4), [f(2, 6, 3)]),
    "cosine_similarity": (nn.CosineSimilarity(), [f(2, 5, 3), f(2, 5, 3)]),
    "pairwise_distance": (nn.PairwiseDistance(), [f(4, 5), f(4, 5)]),
    "pairwise_distance_one": (nn.PairwiseDistance(1, keepdim=True), [f(4, 5), f(4, 5)]),
    "pairwise_distance_three": (nn.PairwiseDistance(3), [f(4, 5), f(4, 5)]),
    "lstm_cell": (nn.LSTMCell(3, 4), [f(2, 3), f(2, 4), f(2, 4)]),
    "gru_cell": (nn.GRUCell(3, 4), [f(2, 3), f(2, 4)]),
    "gru_cell_start": (nn.GRUCell(3, 4, bias=False), [f(2, 3)]),
    "rnn_cell": (nn.RNNCell(3, 4, nonlinearity="relu"), [f(2, 3), f(2, 4)]),
    "lstm_projected": (nn.LSTM(3, 4, proj_size=2), [f(5, 2, 3)]),
    "lstm_projected_deep": (nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True, proj_size=2, bias=False), [f(2, 5, 3), f(4, 2, 2), f(4, 2, 4)]),
    "lstm_projected_lengths": (Packed(nn.LSTM(3, 4, bidirectional=True, proj_size=3), None),
                               [f(5, 3, 3), torch.tensor([5, 2, 3], dtype=torch.int32)]),
    "mha_bias_kv": (nn.MultiheadAttention(6, 2, add_bias_kv=True), [f(5, 2, 6), f(5, 2, 6), causal, padding]),
    "mha_zero_attn": (nn.MultiheadAttention(6, 3, add_bias_kv=True, add_zero_attn=True, batch_first=True), [f(2, 5, 6)]),
    "mha_zero_causal": (nn.MultiheadAttention(6, 3, add_zero_attn=True, batch_first=True), [f(2, 5, 6)]),
    "mha_weights": (nn.MultiheadAttention(6, 2), [f(5, 2, 6), f(5, 2, 6), causal, padding]),
    "mha_weights_heads": (nn.MultiheadAttention(6, 3, batch_first=True), [f(2, 5, 6)]),
    "transformer": (nn.Transformer(6, 2, 2, 1, 8, dropout=0, batch_first=True), [f(2, 5, 6), f(2, 5, 6), causal, padding]),
    "instance_norm_tracked": (nn.InstanceNorm2d(3, affine=True, track_running_stats=True), [f(2, 3, 3, 2)]),
    "instance_norm_train": (nn.InstanceNorm1d(3, momentum=0.3, track_running_stats=True), [f(2, 3, 4)]),
    "weight_norm": (nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), [f(2, 4)]),
    "weight_norm_conv": (nn.utils.parametrizations.weight_norm(nn.Conv1d(2, 3, 2), dim=1), [f(2, 2, 4)]),
    "spectral_norm": (nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)), [f(2, 4)]),
    "spectral_norm_train": (nn.utils.parametrizations.spectral_norm(nn.ConvTranspose1d(2, 3, 2), n_power_iterations=2, dim=1), [f(2, 2, 4)]),
    "adaptive_log_softmax": (nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 12], div_value=2), [f(6, 8), torch.tensor([0, 4, 5, 11, 12, 19])]),
    "alpha_dropout": (nn.AlphaDropout(0.3), [f(2, 3, 4)]),
    "feature_alpha_dropout": (nn.FeatureAlphaDropout(0.3), [f(2, 3, 4)]),
    "fractional_max_pool": (Of(lambda x, s: F.fractional_max_pool2d(x, (2, 3), (4, 3), _random_samples=s.detach())), [f(2, 3, 9, 8), torch.rand(2, 3, 2)]),
    "fractional_max_pool_ratio": (Of(lambda x, s: F.fractional_max_pool3d(x, 2, output_ratio=0.6, _random_samples=s.detach())),
                                  [f(2, 2, 6, 7, 5), torch.rand(2, 2, 3)]),
    "fractional_max_pool_one": (Of(lambda x, s: F.fractional_max_pool2d(x, (2, 3), (1, 4), _random_samples=s.detach())), [f(1, 2, 5, 6), torch.rand(1, 2, 2)]),
}
ACTIVATIONS = {
    "rrelu": nn.RReLU(0.1, 0.4), "relu": nn.ReLU(), "relu6": nn.ReLU6(), "leaky_relu": nn.LeakyReLU(0.2), "elu": nn.ELU(0.7), "selu": nn.SELU(),
    "celu": nn.CELU(1.3), "gelu": nn.GELU(), "gelu_tanh": nn.GELU("tanh"), "silu": nn.SiLU(), "mish": nn.Mish(),
    "sigmoid": nn.Sigmoid(), "log_sigmoid": nn.LogSigmoid(), "tanh": nn.Tanh(), "tanhshrink": nn.Tanhshrink(),
    "hardtanh": nn.Hardtanh(-2, 0.5), "hardsigmoid": nn.Hardsigmoid(), "hardswish": nn.Hardswish(), "hardshrink": nn.Hardshrink(),
    "softshrink": nn.Softshrink(0.7), "softplus": nn.Softplus(2, 3), "softsign": nn.Softsign(), "threshold": nn.Threshold(0.3, -1),
    "softmax": nn.Softmax(1), "softmin": nn.Softmin(-1), "log_softmax": nn.LogSoftmax(-1), "glu": nn.GLU(1),
}
TRAINED = {"batch_norm1d_train", "batch_norm2d_train", "batch_norm_untracked", "instance_norm_train", "spectral_norm_train", "lazy_batch_norm_train"}
EVALUATED = {"rrelu", "alpha_dropout", "feature_alpha_dropout", "instance_norm_tracked", "spectral_norm", "lazy_instance_norm"}


def later_cases():
    """Drawn after the others, whose numbers stay."""
    return {
        "embedding_max_norm": (nn.Embedding(7, 3, max_norm=0.8), [ids(7, 2, 4)]),
        "embedding_max_norm_one": (nn.Embedding(7, 3, padding_idx=2, max_norm=1.1, norm_type=1), [torch.tensor([[2, 1, 6], [0, 2, 2]])]),
        "embedding_max_norm_three": (nn.Embedding(7, 3, padding_idx=2, max_norm=0.7, norm_type=3), [torch.tensor([[2, 1, 6], [0, 2, 2]])]),
        "bag_max_norm": (nn.EmbeddingBag(7, 3, max_norm=0.5, norm_type=float("inf")), [ids(7, 3, 4)]),
        "lazy_linear": (nn.LazyLinear(3), [f(2, 3, 4)]),
        "lazy_linear_plain": (nn.LazyLinear(3, bias=False), [f(2, 4)]),
        "lazy_conv1d": (nn.LazyConv1d(5, 3, padding=1), [f(2, 3, 6)]),
        "lazy_conv2d": (nn.LazyConv2d(4, (3, 2)), [f(2, 3, 5, 4)]),
        "lazy_conv3d": (nn.LazyConv3d(2, 2), [f(2, 3, 3, 2, 4)]),
        "lazy_conv_transpose1d": (nn.LazyConvTranspose1d(3, 2), [f(2, 4, 5)]),
        "lazy_conv_transpose2d": (nn.LazyConvTranspose2d(3, 2, stride=2), [f(2, 4, 3, 2)]),
        "lazy_conv_transpose3d": (nn.LazyConvTranspose3d(2, 2), [f(1, 2, 2, 3, 2)]),
        "lazy_batch_norm": (nn.LazyBatchNorm2d(), [f(2, 3, 4, 2)]),
        "lazy_batch_norm_train": (nn.LazyBatchNorm1d(eps=1e-4, momentum=0.2), [f(5, 3, 2)]),
        "lazy_instance_norm": (nn.LazyInstanceNorm1d(), [f(2, 3, 4)]),
        "lazy_sequential": (nn.Sequential(nn.LazyConv2d(2, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(3)), [f(2, 1, 6, 6)]),
    }


# How some modules are called.
CALLS = {
    "lstm_deep": lambda m, x, h, c: m(x, (h, c)),
    "mha": lambda m, x: m(x, x, x, need_weights=False),
    "mha_masks": lambda m, q, kv, mask, padding: m(q, kv, kv, attn_mask=mask, key_padding_mask=padding, need_weights=False),
    "lstm_cell": lambda m, x, h, c: m(x, (h, c)),
    "lstm_projected_deep": lambda m, x, h, c: m(x, (h, c)),
    "mha_bias_kv": lambda m, q, kv, mask, padding: m(q, kv, kv, attn_mask=mask, key_padding_mask=padding, need_weights=False),
    "mha_weights": lambda m, q, kv, mask, padding: m(q, kv, kv, attn_mask=mask, key_padding_mask=padding),
    "mha_weights_heads": lambda m, x: m(x, x, x, average_attn_weights=False),
    "mha_zero_attn": lambda m, x: m(x, x, x, need_weights=False),
    "mha_zero_causal": lambda m, x: m(x, x, x, attn_mask=causal, need_weights=False),
    "transformer": lambda m, s, t, mask, padding: m(s, t, tgt_mask=mask, src_key_padding_mask=padding, memory_key_padding_mask=padding),
    "mha_sizes": lambda m, q, k, v: m(q, k, v, need_weights=False),
    "encoder_layer_first": lambda m, x, padding: m(x, src_key_padding_mask=padding),
    "decoder_layer_first": lambda m, x, memory, mask: m(x, memory, tgt_mask=mask),
    "bag_sum_weights": lambda m, x, w: m(x, per_sample_weights=w),
}


def make(name, module, inputs):
    if name.startswith("lazy"):
        module(*inputs)  # makes the parameters
    module.train(name in TRAINED or name not in EVALUATED and not any(isinstance(each, nn.modules.batchnorm._BatchNorm) for each in module.modules()))
    arrays = {}
    with torch.no_grad():
        for key, value in module.state_dict().items():
            if value.dtype == torch.float64:
                value.copy_(torch.rand_like(value) + 0.5 if key.endswith("var") else torch.randn_like(value) * 0.7)
                arrays["p/" + key] = value.clone()
    wanted = {"g/" + key: value for key, value in module.named_parameters()}
    for i, value in enumerate(inputs):
        arrays[f"x{i}"] = value.clone()
        if value.dtype == torch.float64:
            inputs[i] = value.clone().requires_grad_()
            wanted[f"g_x{i}"] = inputs[i]
    outputs = flat(CALLS.get(name, lambda m, *args: m(*args))(module, *inputs))
    cotangents = [torch.randn_like(each) if each.dim() > 0 else torch.ones_like(each) for each in outputs]
    gradients = torch.autograd.grad(outputs, list(wanted.values()), cotangents, allow_unused=True)
    for i, (output, cotangent) in enumerate(zip(outputs, cotangents)):
        arrays[f"y{i}"] = output
        if output.dim() > 0:
            arrays[f"d_y{i}"] = cotangent
    for (key, value), gradient in zip(wanted.items(), gradients):
        arrays[key] = torch.zeros_like(value) if gradient is None else gradient
    if name in TRAINED:
        for key, value in module.named_buffers():
            if value.dtype == torch.float64:
                arrays["next/" + key] = value
        arrays["trains"] = torch.ones(1)
    return {f"{name}/{key}": value.detach().numpy() for key, value in arrays.items()}


def main():
    file = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases.npz")
    CASES["bag_sum_weights"] = (nn.EmbeddingBag(7, 3, mode="sum"), CASES["bag_sum_weights"][1])
    for name, module in ACTIVATIONS.items():
        CASES[name] = (module, [f(2, 4, 3) * 2])
    CASES.update(later_cases())
    arrays = {}
    for index, (name, (module, inputs)) in enumerate(CASES.items()):
        torch.manual_seed(index)
        arrays.update(make(name, module, inputs))
    np.savez_compressed(file, **arrays)


main()
