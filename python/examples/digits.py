"""Trains a small network on handwritten digits: packed from PNG files, read by h5pack.

    python digits.py work                       # 97 % of the test images, in some seconds
    python digits.py work --reader dataloader   # the same losses, by DataLoader and h5py
    python digits.py work --stop-after 100      # as if the job was ended: a checkpoint is left
    python digits.py work --resume              # goes on in the middle of the epoch, as if not

Needs PyTorch, scikit-learn (whose digits they are), Pillow and h5py.
"""
import argparse
import pathlib

import torch
from torch import nn

import h5pack

BATCH = 32
CHUNKS = 8  # of 16 images: the pool that each batch is drawn from


def write_folders(folder):
    """folder/train/CLASS/N.png and folder/test/CLASS/N.png, 8 x 8 pixels of gray."""
    from PIL import Image
    from sklearn.datasets import load_digits

    digits = load_digits()
    for number, (pixels, label) in enumerate(zip(digits.images, digits.target)):
        place = folder / ("test" if number % 5 == 0 else "train") / str(label)
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray((pixels * 15).astype("uint8")).save(place / f"{number:04}.png")


def pack(folder):
    """folder/train.h5 and folder/test.h5, with the same classes; made once."""
    if not (folder / "test.h5").exists():
        write_folders(folder / "png")
        h5pack.pack(folder / "png/train", output=folder / "train.h5", gray=True, chunk=16,
                    shuffle=True, seed=1, force=True)
        h5pack.pack(folder / "png/test", output=folder / "test.h5", gray=True, chunk=16,
                    classes=folder / "train.h5", force=True)
    return folder / "train.h5", folder / "test.h5"


def network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 4 * 4, 10))


def by_loader(path, seed):
    """Threads of the library read: each item is (uint8 B x 8 x 8, int64 B)."""
    return h5pack.Loader(path, BATCH, order=f"block:chunks={CHUNKS},local", seed=seed, out="torch",
                         memory="64M")


class ByDataLoader:
    """The same batches, by h5py in a worker process."""

    def __init__(self, path, seed):
        from torch.utils.data import DataLoader

        self.sampler = h5pack.BlockSampler(path, BATCH, workers=1, chunks=CHUNKS, seed=seed)
        self.loader = DataLoader(h5pack.Images(path), batch_sampler=self.sampler, num_workers=1)
        self.used = 0

    def __len__(self):
        return len(self.sampler)

    def set_epoch(self, epoch):
        self.sampler.set_epoch(epoch)

    def __iter__(self):
        self.used = self.sampler.state_dict()["batch"]
        for batch in self.loader:
            self.used += 1
            yield batch

    def state_dict(self):
        return self.sampler.state_dict(batches=self.used)

    def load_state_dict(self, state):
        self.sampler.load_state_dict(state)


READERS = {"loader": by_loader, "dataloader": ByDataLoader}


def as_input(images):
    """uint8 B x 8 x 8 to float B x 1 x 8 x 8 of 0 to 1."""
    return images.unsqueeze(1).float() / 255


def accuracy(model, path):
    right = total = 0
    with torch.no_grad():
        for images, labels in h5pack.Loader(path, 256, order="sequential", out="torch",
                                            memory="64M"):
            right += (model(as_input(images)).argmax(1) == labels).sum().item()
            total += len(labels)
    return right / total


def train(path, reader, epochs, seed=0, checkpoint=None, resume=False, stop_after=None):
    """(the network, its losses from here on). Stops after so many steps of all, with a checkpoint."""
    torch.manual_seed(seed)
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    batches = READERS[reader](path, seed)
    losses, step = [], 0
    if resume:
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        batches.load_state_dict(saved["batches"])
        step = saved["step"]
    for epoch in range(step // len(batches), epochs):
        if step % len(batches) == 0:
            batches.set_epoch(epoch)
        for images, labels in batches:
            loss = nn.functional.cross_entropy(model(as_input(images)), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            step += 1
            if step == stop_after:
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                            "batches": batches.state_dict(), "step": step}, checkpoint)
                return model, losses
    return model, losses


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="where everything is written")
    parser.add_argument("--reader", choices=READERS, default="loader")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stop-after", type=int, metavar="STEPS")
    parser.add_argument("--resume", action="store_true")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    train_file, test_file = pack(args.folder)
    model, losses = train(train_file, args.reader, args.epochs, args.seed,
                          args.folder / "checkpoint.pt", args.resume, args.stop_after)
    print(f"{len(losses)} steps, last loss {losses[-1]:.6f}")
    print(f"accuracy {accuracy(model, test_file):.4f} of the test images")


if __name__ == "__main__":
    main()
