"""Predicts the attributes of CelebA's faces: one dataset for each, read in step.

    h5pack --list list_attr_celeba.txt img_align_celeba --for block-shuffle -o celeba.h5
    python celeba.py celeba.h5 --attributes Smiling Young Male

list_attr_celeba.txt gives the file a dataset of -1 and 1 for each of its columns.
"""
import argparse

import torch
from torch import nn

import h5pack


def network(outputs):
    layers, before = [], 3
    for width in (32, 64, 128):
        layers += [nn.Conv2d(before, width, 3, stride=2, padding=1), nn.BatchNorm2d(width),
                   nn.ReLU(inplace=True)]
        before = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, outputs))


def attributes_of(file):
    """The datasets that have one number for each image."""
    datasets = h5pack.facts(file)["datasets"]
    images = next(one["extent"][0] for one in datasets if one["path"] == "images")
    return [one["path"] for one in datasets
            if one["extent"] == [images] and one["type"].startswith(("int", "uint"))
            and one["path"] not in ("labels", "source_index")]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--attributes", nargs="+", metavar="NAME",
                        help="datasets of the file (default: all columns of the list)")
    parser.add_argument("--size", type=int, default=160, help="of a random crop")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--memory", default="2G")
    parser.add_argument("--tensorboard", metavar="FOLDER")
    args = parser.parse_args()
    names = args.attributes or attributes_of(args.file)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    loader = h5pack.Loader(args.file, args.batch_size, with_=names, order="block:chunks=64,local",
                           crop=args.size, flip=True, normalize=True, layout="nchw",
                           memory=args.memory, device=device, out="torch")
    writer = None
    if args.tensorboard:
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter(args.tensorboard)
    torch.manual_seed(0)
    model = network(len(names)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), args.lr)
    for epoch in range(args.epochs):
        loader.set_epoch(epoch)
        right = total = 0
        for images, *columns in loader:
            wanted = torch.stack([column > 0 for column in columns], 1).float()
            said = model(images)
            loss = nn.functional.binary_cross_entropy_with_logits(said, wanted)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            right += ((said > 0) == (wanted > 0)).sum(0)
            total += len(images)
        rates = ", ".join(f"{name} {rate:.3f}" for name, rate in zip(names, (right / total).tolist()))
        print(f"epoch {epoch}: loss {loss.item():.4f}; right: {rates}", flush=True)
        if writer is not None:
            loader.log_to(writer, epoch)
    print(loader.advice())


if __name__ == "__main__":
    main()
