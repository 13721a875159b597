#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch in a container with a limit of memory, by the allocator that PYTORCH_CUDA_ALLOC_CONF names."""

import os

from framework import LIMIT, fill, found, step
from rows import fact

(torch,) = found("torch")
conf = os.environ.get("PYTORCH_CUDA_ALLOC_CONF")
name = f"torch, {conf}" if conf else "torch"


def own(error):
    return isinstance(error, torch.cuda.OutOfMemoryError)


with step(f"{name}: start"):
    fact(f"{name}: version", f"{torch.__version__}, CUDA {torch.version.cuda}")
    fact(f"{name}: devices", torch.cuda.device_count())
    fact(f"{name}: device", torch.cuda.get_device_name(0))
    free, total = torch.cuda.mem_get_info()
    fact(f"{name}: total is the limit", "yes" if total == LIMIT else f"{total} of {LIMIT}")
    fact(f"{name}: properties say the limit", "yes" if torch.cuda.get_device_properties(0).total_memory == LIMIT
         else torch.cuda.get_device_properties(0).total_memory)
    fact(f"{name}: free at the start", free)
with step(f"{name}: fill"):
    fill(name, lambda size: torch.empty(size, dtype=torch.uint8, device="cuda"), own)
with step(f"{name}: going on"):
    torch.cuda.empty_cache()
    a = torch.randn(1024, 1024, device="cuda")
    fact(f"{name}: goes on", "yes" if torch.allclose(a @ torch.eye(1024, device="cuda"), a, atol=1e-2) else "wrong")
with step(f"{name}: CUDA graph"):
    x = torch.randn(512, 512, device="cuda")
    for _ in range(3):
        x @ x
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x @ x
    graph.replay()
    torch.cuda.synchronize()
    fact(f"{name}: CUDA graph", "works" if torch.allclose(y, x @ x, atol=1e-1) else "wrong")
