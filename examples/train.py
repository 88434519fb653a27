#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Train on a mount, with any number of ranks and loader workers.  Killed at any moment, the job
goes on at its sample when it is started again, also with another number of ranks.

  shufflefs mount -o segment=64M DATA /mnt/ds
  train.py --nproc=2 /mnt/ds OUT [OPTIONS]                     starts its ranks itself
  torchrun --nproc_per_node=2 train.py /mnt/ds OUT [OPTIONS]   on one node or many (Debian
                                                               12's torchrun does not run)

OUT gets checkpoint.pt, and a log of each rank, rank-R.log: a line "EPOCH POSITION KEY" for each
sample that it trained on.  All ranks must see OUT, and mounts of the same order.  The data are
JPEGs with a class, as scripts/make-dataset makes them; needs torch and Pillow.

How this works.  An epoch is a sequence of samples, at the positions 0, 1, 2, ...  As all lanes
have the same length (segment=64M), rank R of W has the positions p with p mod W = R, in their
order.  A step takes the next --batch positions, each rank its own.  So the job has always trained
on all positions before some T, and a checkpoint need only hold T: rank R goes on at its sample K,
the number of p before T with p mod W = R, whatever W is now.

A rank's lanes are distributed to its workers, so its next samples are spread over them, and the
DataLoader takes items from its workers in turn.  Therefore an item is not a batch of a worker's
samples, which would run ahead of the other workers', but what that worker has of one step's
samples, even if it is nothing: one item of each worker is a step, for any number of workers.

At the end ranks differ by a sample, so the last step is smaller, and empty for some.  The ranks
all-reduce sums of gradients and, with them, the number of samples; a step in which no rank had a
sample is the end of the epoch.

A checkpoint is renamed into its place when all ranks have logged what it holds, and nobody gets
past the next all-reduce before.  Lines that the logs have beyond it are removed when a job starts:
the model that goes on has not seen those samples.
"""
import argparse
import glob
import io
import itertools
import os
import re
import tarfile
import tempfile

import torch
import torch.distributed as dist
from PIL import Image
from torch.nn.utils import parameters_to_vector, vector_to_parameters

PIXELS, CLASSES = 32, 5


# Reading

def samples(path):
    """Each sample of a tar as (key, {field: bytes}), by WebDataset's rule of keys."""
    last, fields = None, {}
    with tarfile.open(path, "r|", bufsize=1 << 20) as tar:
        for member in iter(tar.next, None):
            tar.members.clear()  # else it keeps all members of the epoch
            match = re.match(r"((?:.*/|)[^.]+)[.]([^/]*)$", member.name)
            if not match or not member.isreg() or re.match(r"__[^/]*__($|/)", member.name):
                continue
            key, field = match.groups()
            if key != last and fields:
                yield last, fields
                fields = {}
            last = key
            fields[field.lower()] = tar.extractfile(member).read()
    if fields:
        yield last, fields


def decode(fields):
    image = Image.open(io.BytesIO(fields["jpg"])).convert("RGB").resize((PIXELS, PIXELS))
    pixels = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
    return pixels.view(PIXELS, PIXELS, 3).permute(2, 0, 1) / 127.5 - 1, int(fields["cls"])


class Part(torch.utils.data.IterableDataset):
    """A rank's part of an epoch from its sample `first` on, `per_step` samples a step.

    The rank has `n_lanes` lanes: its sample j comes from its lane j mod n_lanes, and worker I of
    N has its lanes I, I+N, I+2N, ...  An item is (step, the numbers j, keys, images, classes).
    """

    def __init__(self, folder, n_lanes, first, per_step):
        self.folder, self.n_lanes, self.first, self.per_step = folder, n_lanes, first, per_step

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        worker, n_workers = (info.id, info.num_workers) if info else (0, 1)
        rounds, rest = divmod(self.first, self.n_lanes)
        lanes = range(worker, self.n_lanes, n_workers)
        k = rounds * len(lanes) + len(range(worker, rest, n_workers))
        mine = (r * self.n_lanes + lane for r in itertools.count(rounds) for lane in lanes
                if r > rounds or lane >= rest)
        path = "%s/worker-%d-of-%d@%d.tar" % (self.folder, worker, n_workers, k)
        step, item = 0, []
        for (key, fields), j in zip(samples(path), mine):
            while j >= self.first + (step + 1) * self.per_step:
                yield self.collate(step, item)
                step, item = step + 1, []
            item.append((j, key, *decode(fields)))
        if item:
            yield self.collate(step, item)

    @staticmethod
    def collate(step, item):
        if not item:
            return step, [], [], torch.empty(0, 3, PIXELS, PIXELS), torch.empty(0, dtype=torch.long)
        numbers, keys, images, classes = zip(*item)
        return step, list(numbers), list(keys), torch.stack(images), torch.tensor(classes)


def settings(mount):
    """What .shufflefs/config says, as a dict."""
    with open(os.path.join(mount, ".shufflefs/config")) as file:
        lines = (line.split("#")[0].partition("=") for line in file)
        return {name.strip(): value.strip() for name, equals, value in lines if equals}


# Checkpoints and logs

def save(path, state):
    """All of it or nothing, whenever we are killed."""
    with open(path + ".new", "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def forget(log, epoch, done):
    """Remove from a log what it has beyond a checkpoint, and an unfinished line."""
    with open(log, "rb+") as file:
        end = 0
        for line in file:
            if not line.endswith(b"\n") or tuple(map(int, line.split()[:2])) >= (epoch, done):
                break
            end += len(line)
        file.truncate(end)


# Training

def new_model():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 5, stride=2), torch.nn.ReLU(),
        torch.nn.Conv2d(16, 32, 3, stride=2), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(3), torch.nn.Flatten(), torch.nn.Linear(288, CLASSES))


def train_step(model, optimizer, images, classes):
    """Train on the samples of all ranks.  Returns the number of samples and the sum of their
    losses."""
    optimizer.zero_grad(set_to_none=False)
    losses = torch.nn.functional.cross_entropy(model(images), classes, reduction="sum")
    losses.backward()
    grads = [p.grad for p in model.parameters()]
    sums = torch.cat([parameters_to_vector(grads), torch.tensor([len(classes), losses.item()])])
    dist.all_reduce(sums)
    n = int(sums[-2])
    if n:
        vector_to_parameters(sums[:-2] / n, grads)
        optimizer.step()
    return n, sums[-1].item()


class Job:
    def __init__(self, args):
        self.args = args
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.order = os.getxattr(os.path.join(args.mount, "epochs/0.tar"), "user.shufflefs.order").decode()
        mounted = settings(args.mount)
        self.n_lanes = int(mounted["lanes"]) // self.world
        if mounted["segment"] in ("shard", "random") and mounted["equal"] == "none":
            raise SystemExit("train: with segment=%s, a job can resume only with the same number of ranks: "
                             "mount with -o segment=64M" % mounted["segment"])
        if args.batch % self.world:
            raise SystemExit("train: --batch=%d cannot be shared by %d ranks" % (args.batch, self.world))
        self.model = new_model()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9)
        self.epoch, self.done = 0, 0
        self.path = os.path.join(args.out, "checkpoint.pt")
        if os.path.exists(self.path):
            self.load()
        if self.rank == 0:
            for log in glob.glob(os.path.join(args.out, "rank-*.log")):
                forget(log, self.epoch, self.done)
        dist.barrier()
        self.log = open(os.path.join(args.out, "rank-%d.log" % self.rank), "a")

    def load(self):
        state = torch.load(self.path)
        if state["order"] != self.order:
            raise SystemExit("train: %s belongs to another order than %s" % (self.path, self.args.mount))
        self.epoch, self.done = state["epoch"], state["done"]
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.rank == 0:
            print("going on in epoch %d after %d samples, with %d ranks (before: %d)"
                  % (self.epoch, self.done, self.world, state["world"]), flush=True)

    def commit(self):
        dist.barrier()  # all logs are written
        if self.rank == 0:
            save(self.path, {"epoch": self.epoch, "done": self.done, "world": self.world,
                             "order": self.order, "model": self.model.state_dict(),
                             "optimizer": self.optimizer.state_dict()})

    def steps(self, folder, first):
        """This rank's share of each step of what is left of the epoch, then empty ones."""
        part = Part(folder, self.n_lanes, first, per_step=self.args.batch // self.world)
        loader = torch.utils.data.DataLoader(part, batch_size=None, num_workers=self.args.workers)
        for _, items in itertools.groupby(loader, key=lambda item: item[0]):
            _, numbers, keys, images, classes = zip(*items)
            yield sum(numbers, []), sum(keys, []), torch.cat(images), torch.cat(classes)
        while True:
            yield Part.collate(None, [])[1:]

    def train_epoch(self):
        folder = "%s/epochs/%d/rank-%d-of-%d" % (self.args.mount, self.epoch, self.rank, self.world)
        k = len(range(self.rank, self.done, self.world))
        seen, loss = 0, 0.0
        for step, (numbers, keys, images, classes) in enumerate(self.steps(folder, k), 1):
            n, losses = train_step(self.model, self.optimizer, images, classes)
            if n == 0:
                break
            for j, key in zip(numbers, keys):
                self.log.write("%d %d %s\n" % (self.epoch, self.rank + j * self.world, key))
            self.log.flush()
            k += len(numbers)
            self.done += n
            seen, loss = seen + n, loss + losses
            if step % self.args.every == 0:
                self.commit()
        if k < int(os.getxattr(folder + ".tar", "user.shufflefs.samples")):
            raise SystemExit("train: %s.tar has more samples than the %d that were read" % (folder, k))
        if self.rank == 0:
            print("epoch %d: %d samples, %d of them in this run, with a mean loss of %.3f"
                  % (self.epoch, self.done, seen, loss / max(1, seen)), flush=True)
        self.epoch, self.done = self.epoch + 1, 0
        self.commit()


def run_rank(rank, args, meet):
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64 if args.double else torch.float32)
    if meet:
        dist.init_process_group("gloo", init_method=meet, rank=rank, world_size=args.nproc)
    else:
        dist.init_process_group("gloo")  # torchrun's environment says the rest
    job = Job(args)
    while job.epoch < args.epochs:
        job.train_epoch()
    dist.barrier()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("mount")
    parser.add_argument("out")
    parser.add_argument("--nproc", type=int, default=1, help="ranks, unless torchrun starts them")
    parser.add_argument("--workers", type=int, default=2, help="loader workers of a rank")
    parser.add_argument("--batch", type=int, default=48, help="samples of a step, of all ranks")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--double", action="store_true", help="in 64 bits: to compare models")
    parser.add_argument("--every", type=int, default=1, help="steps from one checkpoint to the next")
    parser.add_argument("--lr", type=float, default=0.05)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    if "RANK" in os.environ:
        run_rank(None, args, None)
        return
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with tempfile.TemporaryDirectory() as folder:
        try:
            torch.multiprocessing.start_processes(run_rank, args=(args, "file://%s/meet" % folder),
                                                  nprocs=args.nproc, start_method="fork")
        except torch.multiprocessing.ProcessExitedException as error:  # it has printed why
            raise SystemExit("train: %s" % error)


if __name__ == "__main__":
    main()
