"""Trains a network on ImageNet, packed once, at the speed of the GPU.

    h5pack imagenet/train --shorter 256 --crop 256x256 --for block-shuffle -o train.h5
    h5pack imagenet/val --shorter 256 --crop 224x224 --classes train.h5 -o val.h5
    python imagenet.py train.h5 val.h5 --batch-size 256
    torchrun --nproc-per-node 8 imagenet.py train.h5 val.h5     # the batch size of each rank

Random crops, flips and normalizing are done by the reader's threads; on a GPU batches are copied
beside the computation. Any file packed with labels does, of images of one size. A checkpoint is written
after each epoch and every --save-every steps; --resume goes on from there, in mid-epoch. With
torchvision --arch takes the names of its models, else there is `small`.
"""
import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import nn

import h5pack

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # torchvision's, of values 0 to 1


class Small(nn.Module):
    """Some convolutions, for a try without torchvision."""

    def __init__(self, classes):
        super().__init__()
        layers, before = [], 3
        for width in (32, 64, 128, 256):
            layers += [nn.Conv2d(before, width, 3, stride=2, padding=1), nn.BatchNorm2d(width),
                       nn.ReLU(inplace=True)]
            before = width
        self.features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.classifier = nn.Linear(before, classes)

    def forward(self, images):
        return self.classifier(self.features(images))


def network(arch, classes):
    if arch == "small":
        return Small(classes)
    import torchvision

    return torchvision.models.get_model(arch, num_classes=classes)


def loaders(args, device):
    """Of training: random crops of --size; of validation: the centre, in order."""
    common = {"normalize": (MEAN, STD), "layout": "channels_last", "rank": "auto", "out": "torch",
              "memory": args.memory, "threads": args.threads, "device": device}
    train = h5pack.Loader(args.train, args.batch_size, order=args.order, seed=args.seed,
                          resized_crop=args.size, flip=True, drop_last=True, **common)
    val = h5pack.Loader(args.val, args.batch_size, order="sequential", centre_crop=args.size,
                        **common)
    return train, val


def reduced(*numbers, device):
    """Sums over all ranks."""
    sums = torch.tensor(numbers, dtype=torch.float64, device=device)
    if dist.is_initialized():
        dist.all_reduce(sums)
    return sums.tolist()


def validate(model, loader, device):
    """Top-1 accuracy. Where ranks do not share the images evenly, some count twice."""
    model.eval()
    right = total = 0
    with torch.no_grad():
        for images, labels in loader:
            right += (model(images).argmax(1) == labels).sum().item()
            total += len(labels)
    right, total = reduced(right, total, device=device)
    return right / total


class Training:
    def __init__(self, args):
        self.args = args
        self.rank = int(os.environ.get("RANK", 0))
        cuda = torch.cuda.is_available() and not args.cpu
        if "RANK" in os.environ:
            dist.init_process_group("nccl" if cuda else "gloo")
        local = int(os.environ.get("LOCAL_RANK", 0))
        self.device = torch.device("cuda", local) if cuda else torch.device("cpu")
        if cuda:
            torch.cuda.set_device(self.device)
        torch.manual_seed(args.seed)
        self.train, self.val = loaders(args, self.device)
        classes = h5pack.facts(args.train, "class_names")["extent"][0]
        self.model = network(args.arch, classes).to(self.device, memory_format=torch.channels_last)
        if dist.is_initialized():
            self.model = nn.parallel.DistributedDataParallel(self.model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), args.lr, momentum=0.9,
                                         weight_decay=1e-4, nesterov=True)
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, args.lr, total_steps=max(2, args.epochs * len(self.train)))
        self.step = 0

    def state(self):
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                "schedule": self.schedule.state_dict(), "train": self.train.state_dict(),
                "step": self.step}

    def save(self):
        if self.rank == 0:
            torch.save(self.state(), self.args.checkpoint + ".part")
            os.replace(self.args.checkpoint + ".part", self.args.checkpoint)

    def resume(self):
        saved = torch.load(self.args.checkpoint, map_location=self.device)
        for name in ("model", "optimizer", "schedule"):
            getattr(self, name).load_state_dict(saved[name])
        # rank 0 wrote it for all, who are equally far
        self.train.load_state_dict({**saved["train"], "rank": self.rank})
        self.step = saved["step"]

    def run_epoch(self, epoch):
        """False when it is to end in the middle."""
        self.model.train()
        if self.step % len(self.train) == 0:
            self.train.set_epoch(epoch)
        for images, labels in self.train:
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.args.amp):
                loss = nn.functional.cross_entropy(self.model(images), labels,
                                                   label_smoothing=0.1)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            self.schedule.step()
            self.step += 1
            if self.args.save_every and self.step % self.args.save_every == 0:
                self.save()
            if self.step == self.args.stop_after:
                self.save()
                return False
        return True

    def run(self):
        for epoch in range(self.step // len(self.train), self.args.epochs):
            begin = time.monotonic()
            if not self.run_epoch(epoch):
                return
            self.save()
            accuracy = validate(self.model, self.val, self.device)
            if self.rank == 0:
                print(f"epoch {epoch}: accuracy {accuracy:.4f}, "
                      f"{time.monotonic() - begin:.1f} s; {self.train.advice()}", flush=True)
                if self.args.prometheus:
                    h5pack.write_prometheus(self.args.prometheus, self.train.stats())


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("val")
    parser.add_argument("--arch", default="resnet50")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--lr", type=float, default=0.5)
    parser.add_argument("--order", default="block:chunks=256,local",
                        help="as h5pack.Loader's: blocks of many chunks mix like a shuffle")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--memory", default="4G", help="of the reader, in each rank")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--amp", action="store_true", help="compute in bfloat16")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--checkpoint", default="checkpoint.pt")
    parser.add_argument("--save-every", type=int, metavar="STEPS")
    parser.add_argument("--stop-after", type=int, metavar="STEPS")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--prometheus", metavar="FILE", help="the reader's figures, each epoch")
    args = parser.parse_args()
    training = Training(args)
    if args.resume:
        training.resume()
    training.run()
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
