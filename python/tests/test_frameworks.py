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


def lightning_run(lightning, source, seen, callbacks=(), resume=None, **options):
    """A training by Lightning, whose batches' labels are added to `seen`; its Trainer."""
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
                                enable_model_summary=False, callbacks=list(callbacks), **options)
    trainer.fit(Model(), source, ckpt_path=resume)
    return trainer


def test_lightning(tmp_path):
    lightning = framework("lightning.pytorch", "pytorch_lightning")
    seen = []
    lightning_run(lightning, loader(tmp_path), seen, max_epochs=2)
    assert seen == sum(straight(tmp_path), [])


def saved(lightning, path, step):
    """A callback that saves a checkpoint when so many steps were made."""
    class Save(lightning.Callback):
        def on_train_batch_end(self, trainer, *_):
            if trainer.global_step == step:
                trainer.save_checkpoint(path)

    return Save()


def test_lightning_goes_on_in_mid_epoch_where_it_was_stopped(tmp_path):
    """It saves and restores a Loader's state by itself there."""
    lightning = framework("lightning.pytorch", "pytorch_lightning")
    whole = sum(straight(tmp_path), [])
    for step in (5, 12, 14, 20):  # of 13 an epoch
        seen, checkpoint = [], tmp_path / f"{step}.ckpt"
        trainer = lightning_run(lightning, loader(tmp_path), seen, max_steps=step)
        trainer.save_checkpoint(checkpoint)
        assert seen == whole[:step]
        lightning_run(lightning, loader(tmp_path), seen, resume=checkpoint, max_steps=26)
        assert seen == whole, step


def test_lightning_goes_on_at_a_checkpoint_before_the_end_came(tmp_path):
    lightning = framework("lightning.pytorch", "pytorch_lightning")
    whole = sum(straight(tmp_path), [])
    for step in (4, 13, 17):
        seen, checkpoint = [], tmp_path / f"{step}.ckpt"
        lightning_run(lightning, loader(tmp_path), seen, [saved(lightning, checkpoint, step)],
                      max_steps=step + 2)
        del seen[step:]
        lightning_run(lightning, loader(tmp_path), seen, resume=checkpoint, max_epochs=2)
        assert seen == whole, step


def test_lightning_goes_on_behind_an_epoch_with_a_callback(tmp_path):
    """What it saved of a Loader is not restored where an epoch had ended; a callback's state is."""
    lightning = framework("lightning.pytorch", "pytorch_lightning")

    class Place(lightning.Callback):
        def __init__(self, source):
            self.source = source

        def state_dict(self):
            return self.source.state_dict()

        def load_state_dict(self, state):
            self.source.load_state_dict(state)

    whole = sum(straight(tmp_path, 3), [])
    for stop in ({"max_epochs": 1}, {"max_epochs": 2}, {"max_steps": 20}):
        seen, source = [], loader(tmp_path)
        trainer = lightning_run(lightning, source, seen, [Place(source)], **stop)
        trainer.save_checkpoint(tmp_path / "x.ckpt")
        source = loader(tmp_path)
        more = {"max_steps": 39} if "max_steps" in stop else {"max_epochs": 3}
        lightning_run(lightning, source, seen, [Place(source)], tmp_path / "x.ckpt", **more)
        assert seen == whole, stop


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
