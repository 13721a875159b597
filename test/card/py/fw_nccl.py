#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""NCCL, by PyTorch, in a container with a limit of memory: one rank and, where there are two cards, two."""

import os
import socket
import sys

from framework import found, step
from rows import fact

torch, distributed, multiprocessing = found("torch", "torch.distributed", "torch.multiprocessing")


def rank(number, of, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(number)
    distributed.init_process_group("nccl", rank=number, world_size=of)
    x = torch.full((1 << 20,), float(number + 1), device="cuda")
    distributed.all_reduce(x)
    torch.cuda.synchronize()
    if number == 0:
        right = x[0].item() == of * (of + 1) / 2
        fact(f"nccl: all-reduce of {of}", "works" if right else f"wrong: {x[0].item()}")
        free, total = torch.cuda.mem_get_info()
        fact(f"nccl: memory in use, {of} ranks", (total - free) >> 20, "MiB")
    distributed.destroy_process_group()


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


if __name__ == "__main__":
    with step("nccl: one rank"):
        if not distributed.is_nccl_available():
            sys.exit("nccl is not in this PyTorch")
        fact("nccl: version", ".".join(map(str, torch.cuda.nccl.version())))
        rank(0, 1, free_port())
    if torch.cuda.device_count() >= 2:
        with step("nccl: two ranks"):
            multiprocessing.spawn(rank, args=(2, free_port()), nprocs=2)
