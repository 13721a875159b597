#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gets of the card's time: how long a step of each load takes. CARD_PERCENT is the limit that it was
started with, and 0 is without the library."""

import os
import sys
import time

from rows import figure, trouble

PERCENT = int(os.environ["CARD_PERCENT"])
NAME = f"limit of {PERCENT} %" if PERCENT else "without the library"
SECONDS = 1.5

try:
    import torch
except ModuleNotFoundError as error:
    trouble(f"torch, {NAME}", f"not installed: {error}")
    sys.exit(0)
except Exception as error:
    trouble(f"torch, {NAME}", f"cannot be loaded: {error}")
    sys.exit(0)


def products():
    """Eight products of matrices."""
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)

    def step():
        for _ in range(8):
            torch.mm(a, b)

    return step


def training():
    """A step of training of a small transformer."""
    layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    batch = torch.randn(16, 256, 512, device="cuda")

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()

    return step


def decoding():
    """A token of a decoder: a graph of small kernels."""
    weights = [torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16) / 45 for _ in range(24)]
    token = torch.randn(1, 2048, device="cuda", dtype=torch.bfloat16)

    def layers(x):
        for weight in weights:
            x = torch.nn.functional.silu(x @ weight) + x
        return torch.nn.functional.layer_norm(x, (2048,))

    for _ in range(3):
        layers(token)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        token.copy_(layers(token))
    return graph.replay


def measure(name, load):
    """Steps that are waited for, one by one, in ms; half a second goes before."""
    step = load()
    samples = []
    warm = time.perf_counter() + 0.5
    end = warm + SECONDS
    while (begun := time.perf_counter()) < end or len(samples) < 3:
        step()
        torch.cuda.synchronize()
        if begun >= warm:
            samples.append((time.perf_counter() - begun) * 1000)
    figure(f"{name}, {NAME}", "ms", samples[:5000])


for name, load in (("products of 4096", products), ("a step of training", training), ("a token in a graph", decoding)):
    try:
        measure(name, load)
    except Exception as error:
        trouble(f"{name}, {NAME}", f"{type(error).__name__}: {error}")
