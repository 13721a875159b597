#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A kernel of Triton's in a container with a limit of memory."""

from framework import found, step
from rows import fact

torch, triton, tl = found("torch", "triton", "triton.language")


@triton.jit
def double(source, target, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + at, tl.load(source + at, mask=at < count) * 2, mask=at < count)


with step("triton: a kernel"):
    fact("triton: version", triton.__version__)
    x = torch.arange(100_000, device="cuda", dtype=torch.float32)
    y = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    fact("triton: a kernel", "works" if torch.equal(y, x * 2) else "wrong")
