"""A Loader where others iterate: Lightning, Accelerate, Ignite, torchdata, each where it is
installed."""
import importlib
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no PyTorch here") from None

from files import N, write

import h5pack


def framework(*names):
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            pass
    raise unittest.SkipTest(f"no {names[0].partition('.')[0]} here")


def loader(tmp_path, batch_size=8, **options):
    if not (tmp_path / "x.h5").exists():
        write(tmp_path / "x.h5")
    return h5pack.Loader(tmp_path / "x.h5", batch_size, **options)


def straight(tmp_path, epochs=2, **options):
    """The labels of each batch, epoch by epoch, as a plain loop meets them."""
    under_test = loader(tmp_path, **options)
    return [[labels.tolist() for _, labels in under_test] for _ in range(epochs)]


def model():
    torch.manual_seed(1)
    return torch.nn.Linear(8 * 9 * 3, 2)


def loss_of(net, images):
    return net(images.flatten(1).float() / 255).square().mean()


def lightning_run(lightning, source, seen):
    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = model()

        def training_step(self, batch, _):
            images, labels = batch
            seen.append(labels.tolist())
            return loss_of(self.net, images)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.01)

    trainer = lightning.Trainer(accelerator="cpu", devices=1, logger=False,
                                enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False, max_epochs=2)
    trainer.fit(Model(), source)


def test_lightning(tmp_path):
    lightning = framework("lightning.pytorch", "pytorch_lightning")
    seen = []
    lightning_run(lightning, loader(tmp_path), seen)
    assert seen == sum(straight(tmp_path), [])


def test_accelerate(tmp_path):
    accelerate = framework("accelerate")
    accelerator = accelerate.Accelerator(cpu=True)
    net = model()
    net, optimizer, source = accelerator.prepare(net, torch.optim.SGD(net.parameters(), 0.01),
                                                 loader(tmp_path))
    seen = []
    for _ in range(2):
        for images, labels in source:
            optimizer.zero_grad()
            accelerator.backward(loss_of(net, images))
            optimizer.step()
            seen.append(labels.tolist())
    assert seen == sum(straight(tmp_path), [])


def test_ignite(tmp_path):
    engine = framework("ignite.engine")
    seen = []
    engine.Engine(lambda _, batch: seen.append(batch[1].tolist())).run(loader(tmp_path),
                                                                       max_epochs=2)
    assert seen == sum(straight(tmp_path), [])


def test_torchdata_saves_and_restores_it(tmp_path):
    nodes = framework("torchdata.nodes")
    first = nodes.IterableWrapper(loader(tmp_path))
    first.reset()
    seen = [next(first)[1].tolist() for _ in range(5)]
    second = nodes.IterableWrapper(loader(tmp_path))
    second.reset(first.state_dict())
    seen += [labels.tolist() for _, labels in second]
    assert seen == straight(tmp_path, 1)[0] and sum(map(len, seen)) == N
