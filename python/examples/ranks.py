"""Several ranks train together; each reads its part of the file.

    torchrun --nproc-per-node 2 ranks.py train.h5

Of an epoch every sample is seen by one rank, and once, where their number is a multiple of the
ranks; else the epoch's first samples fill up the last. The names of the images' files, which h5pack
keeps beside them, are gathered to show it.
"""
import argparse

import torch
import torch.distributed as dist
from torch import nn

import h5pack


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="packed by h5pack")
    parser.add_argument("--batch-size", type=int, default=32, help="of each rank")
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args()
    dist.init_process_group("gloo")  # the model is small: it stays where the images are
    rank, world = dist.get_rank(), dist.get_world_size()
    loader = h5pack.Loader(args.file, args.batch_size, with_=("labels", "filenames"),
                           rank="auto", order="block:chunks=8,local", out="torch", memory="64M")
    n_samples = h5pack.facts(args.file, "images")["extent"][0]
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(make_model(args.file))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for epoch in range(args.epochs):
        loader.set_epoch(epoch)
        seen = []
        for images, labels, names in loader:
            loss = nn.functional.cross_entropy(model(images.float() / 255), labels)
            optimizer.zero_grad()
            loss.backward()  # gradients are averaged over the ranks
            optimizer.step()
            seen += names.tolist()
        parts = [None] * world
        dist.all_gather_object(parts, seen)
        if rank == 0:
            everything = sum(parts, [])
            once = len(everything) == len(set(everything)) == n_samples
            print(f"epoch {epoch}: {[len(part) for part in parts]} samples by rank, "
                  f"{'each once' if once else 'NOT each once'}, loss {loss.item():.4f}")
    dist.destroy_process_group()


def make_model(file):
    shape = h5pack.facts(file, "images")["extent"]
    classes = h5pack.facts(file, "class_names")["extent"][0]
    return nn.Sequential(nn.Flatten(), nn.Linear(shape[1] * shape[2] * shape[3], classes))


if __name__ == "__main__":
    main()
