"""A training program that survives: what a program must do so that a cluster can stop it, move it and shrink it.

PyTorch, data parallel (DDP), a small transformer on synthetic data; on CPUs with gloo, on GPUs with NCCL. Start it
with ``torchrun``, or let ``clusterwright submit`` do it (``job.yaml`` beside this file). What yours should do, too:

* It resumes from the newest whole checkpoint, on any number of processes. A step is the same samples whatever their
  number, so that the loss goes on as if nothing had been.
* A checkpoint is written beside the old one, is given its name once it is complete, and carries sizes and checksums.
  A torn one is passed over. When the disk is full the old one stays, training goes on, and the output says so.
* Once the file ``$STOP_FILE`` is there it writes a checkpoint and ends with exit code 0; the batch script requeues.
* Every step is a line of JSON in the loss log: step, loss, time, attempt, world.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from keeping import Checkpoints, Log, say
from torch import nn
from torch.nn.parallel import DistributedDataParallel

VOCABULARY, LENGTH = 64, 16
_BETWEEN_TRIES_S = 2.0


class Model(nn.Module):
    """A transformer of a few thousand parameters that predicts the next token."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.places = nn.Embedding(LENGTH, width)
        block = nn.TransformerEncoderLayer(width, 2, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.out = nn.Linear(width, VOCABULARY)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(LENGTH), persistent=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits of the next token, shape (batch, LENGTH, VOCABULARY)."""
        held = self.tokens(tokens) + self.places.weight
        return self.out(self.blocks(held, mask=self.mask, is_causal=True))


def samples(first: int, count: int, seed: int) -> torch.Tensor:
    """Samples ``first`` to ``first + count``, shape (count, LENGTH + 1): sequences x -> a x + b with 8 pairs (a, b).

    A sample depends on its number alone, so every world size sees the same data.
    """
    number = torch.arange(first, first + count, dtype=torch.int64)
    mixed = (number * 2654435761 + seed * 40503 + 12345) & 0x7FFFFFFF
    mixed = ((mixed >> 15) ^ mixed) * 73244475 & 0x7FFFFFFF
    kind, now = (mixed >> 7) % 8, (mixed >> 11) % VOCABULARY
    made = [now]
    for _ in range(LENGTH):
        made.append((made[-1] * (2 * kind + 3) + 5 * kind + 1) % VOCABULARY)
    return torch.stack(made, dim=1)


def share(batch: int, rank: int, world: int) -> tuple[int, int]:
    """The first sample of a rank within the batch, and how many it has; shares differ by one at most."""
    first = batch * rank // world
    return first, batch * (rank + 1) // world - first


def one_step(
    model: DistributedDataParallel, step: int, asked: argparse.Namespace, device: torch.device
) -> torch.Tensor:
    """Gradients of one global batch, accumulated over micro-batches; the sum of this rank's losses is returned.

    Each loss is weighed so that DDP's mean over ranks is the mean over the samples, whatever the shares are.
    """
    rank, world = dist.get_rank(), dist.get_world_size()
    first, count = share(asked.global_batch, rank, world)
    total = torch.zeros((), dtype=torch.float64)
    for at in range(0, count, asked.micro_batch):
        size = min(asked.micro_batch, count - at)
        data = samples(step * asked.global_batch + first + at, size, asked.seed).to(device)
        model.require_backward_grad_sync = at + size == count
        logits = model(data[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), data[:, 1:].flatten(), reduction="sum") / LENGTH
        (loss * world / asked.global_batch).backward()
        total += loss.detach().double().cpu()
    return total


def asked_for(words: list[str] | None = None) -> argparse.Namespace:
    """The command line; what the batch script exports are the defaults."""
    have = os.environ.get
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--steps", type=int, default=200)
    made.add_argument("--global-batch", type=int, default=48, help="samples of a step, over all processes")
    made.add_argument("--micro-batch", type=int, default=8)
    made.add_argument("--width", type=int, default=32)
    made.add_argument("--layers", type=int, default=2)
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--checkpoints", type=Path, default=Path(have("CHECKPOINTS", "checkpoints")))
    made.add_argument("--checkpoint-s", type=float, default=float(have("CHECKPOINT_INTERVAL_S", "600")))
    made.add_argument("--checkpoint-steps", type=int, default=0, help="between two checkpoints; 0 for by time alone")
    made.add_argument("--keep", type=int, default=2, help="checkpoints that stay")
    made.add_argument("--room-s", type=float, default=600.0, help="for which a full disk is waited for at the end")
    made.add_argument("--pause-s", type=float, default=0.0, help="after each step, to stand for a larger model")
    made.add_argument("--timeout-s", type=float, default=600.0, help="after which a silent peer is given up")
    return made.parse_args(words)


def main(words: list[str] | None = None) -> None:
    """Train to the last step, or until told to stop."""
    asked = asked_for(words)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if gpu else torch.device("cpu")
    dist.init_process_group("nccl" if gpu else "gloo", timeout=timedelta(seconds=asked.timeout_s))
    rank, world = dist.get_rank(), dist.get_world_size()
    if world > asked.global_batch:
        raise SystemExit(f"{world} processes for {asked.global_batch} samples a step: some would have none")
    torch.manual_seed(asked.seed)
    model = DistributedDataParallel(Model(asked.width, asked.layers).to(device))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    attempt = int(os.environ.get("SLURM_RESTART_COUNT", "0"))
    kept = Checkpoints(asked.checkpoints, attempt, asked.keep)
    log = Log(asked.checkpoints / "loss.jsonl" if rank == 0 else None)
    step = kept.load(model, optimizer)
    say(f"attempt {attempt}: {world} processes, from step {step} of {asked.steps}")
    train(asked, model, optimizer, step, kept, log, {"attempt": attempt, "world": world}, device)
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)  # taking gloo's threads down in order can hang (seen with PyTorch 2.13); everything is written


def train(
    asked: argparse.Namespace,
    model: DistributedDataParallel,
    optimizer: torch.optim.Optimizer,
    step: int,
    kept: Checkpoints,
    log: Log,
    about: dict[str, Any],
    device: torch.device,
) -> None:
    """The loop. Rank 0 decides for all when a checkpoint is due and when to stop, so that no two ranks disagree."""
    stop_file = os.environ.get("STOP_FILE")
    written, written_at = step, time.monotonic()
    while step < asked.steps:
        optimizer.zero_grad(set_to_none=True)
        total = one_step(model, step, asked, device)
        optimizer.step()
        step += 1
        due = time.monotonic() - written_at >= asked.checkpoint_s
        due = due or bool(asked.checkpoint_steps and step - written >= asked.checkpoint_steps)
        stop = bool(stop_file and Path(stop_file).exists())
        told = torch.tensor([float(due and dist.get_rank() == 0), float(stop and dist.get_rank() == 0), total.item()],
                            dtype=torch.float64, device=device)  # fmt: skip
        dist.all_reduce(told)
        log.write({"step": step, "loss": told[2].item() / asked.global_batch, "time": time.time(), **about})
        if told[0] or told[1] or step == asked.steps:
            last = bool(told[1]) or step == asked.steps
            save(kept, step, model, optimizer, asked.room_s if last else 0.0)
            written, written_at = step, time.monotonic()
        if told[1] and step < asked.steps:
            say(f"told to stop: ends at step {step}")
            break
        if asked.pause_s:
            time.sleep(asked.pause_s)
    log.close()


def save(
    kept: Checkpoints, step: int, model: DistributedDataParallel, optimizer: torch.optim.Optimizer, patience_s: float
) -> None:
    """Write a checkpoint. One that may fail is tried once; without the last one the training would be lost."""
    tries = int(patience_s / _BETWEEN_TRIES_S)
    while not kept.save(step, model, optimizer) and patience_s:
        if not tries:
            raise SystemExit("the last checkpoint could not be written")
        tries -= 1
        time.sleep(_BETWEEN_TRIES_S)


if __name__ == "__main__":
    main()
