"""The programs of examples/, run as their first lines say."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

import h5pack
from made_images import need, packed, photos

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


def example(name, *words, folder, torchrun=0):
    """Its lines. Torch gets one thread, so that sums are added in the same order each time."""
    need("torch")
    if not EXAMPLES.exists():
        raise unittest.SkipTest("there are no examples beside the tests")
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", str(torchrun),
                "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"] if torchrun else []
    where = str(pathlib.Path(h5pack.__file__).resolve().parent.parent)
    environment = dict(os.environ, OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="",
                       PYTHONPATH=where + os.pathsep + os.environ.get("PYTHONPATH", ""))
    said = subprocess.run([sys.executable, *launcher, str(EXAMPLES / name), *map(str, words)],
                          cwd=folder, capture_output=True, text=True, env=environment,
                          timeout=900, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    return said.stdout


def last_loss(said):
    return re.search(r"last loss ([0-9.]+)", said).group(1)


def test_digits_are_learned_alike_by_loader_and_by_dataloader_and_after_a_stop(tmp_path):
    need("torch", "sklearn", "PIL", "h5py")
    whole = example("digits.py", "work", folder=tmp_path)
    assert float(re.search(r"accuracy ([0-9.]+)", whole).group(1)) >= 0.97, whole
    other = example("digits.py", "work", "--reader", "dataloader", folder=tmp_path)
    assert other == whole, "DataLoader and h5py in the same order give the same losses"
    stopped = example("digits.py", "work", "--stop-after", "101", folder=tmp_path)
    assert last_loss(stopped) != last_loss(whole)
    resumed = example("digits.py", "work", "--resume", folder=tmp_path)
    assert last_loss(resumed) == last_loss(whole), "a resumed one, too"
    assert int(stopped.split()[0]) + int(resumed.split()[0]) == int(whole.split()[0])


def test_every_loss_after_a_resume_is_that_of_the_whole_run(tmp_path):
    need("torch", "sklearn", "PIL", "h5py")
    code = ("import pathlib, sys, digits\n"
            "folder = pathlib.Path('work')\n"
            "folder.mkdir()\n"
            "path, _ = digits.pack(folder)\n"
            "for reader in digits.READERS:\n"
            "    keep = folder / (reader + '.pt')\n"
            "    whole = digits.train(path, reader, 2)[1]\n"
            "    for stop in 17, len(whole) // 2, 60:\n"
            "        begun = digits.train(path, reader, 2, checkpoint=keep, stop_after=stop)[1]\n"
            "        rest = digits.train(path, reader, 2, checkpoint=keep, resume=True)[1]\n"
            "        assert begun + rest == whole and len(begun) == stop, (reader, stop)\n"
            "    print(len(whole))\n")
    where = f"{EXAMPLES}{os.pathsep}{pathlib.Path(h5pack.__file__).resolve().parent.parent}"
    said = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True,
                          text=True, timeout=900, check=False,
                          env=dict(os.environ, OMP_NUM_THREADS="1", PYTHONPATH=where))
    assert said.returncode == 0 and len(set(said.stdout.split())) == 1, said.stdout + said.stderr


def test_two_ranks_see_every_sample_once(tmp_path):
    need("torch")
    path = tmp_path / "train.h5"  # as h5pack leaves it
    h5pack.pack(photos()[0], output=path, chunk=2, limit=20, progress=False)
    said = example("ranks.py", path, "--batch-size", "4", "--epochs", "2", folder=tmp_path,
                   torchrun=2)
    for epoch in range(2):
        assert f"epoch {epoch}: [10, 10] samples by rank, each once" in said, said


def test_imagenet_s_recipe_trains_and_goes_on_after_a_stop(tmp_path):
    path = packed(chunk=2)
    words = [path, path, "--arch", "small", "--size", "16", "--batch-size", "4", "--epochs", "2",
             "--lr", "0.05", "--cpu", "--memory", "128M", "--threads", "1"]
    whole = example("imagenet.py", *words, "--prometheus", "h5pack.prom", folder=tmp_path)
    assert re.findall(r"epoch 0: accuracy [01]\.\d+", whole), whole
    assert "h5pack_loader_samples_total" in (tmp_path / "h5pack.prom").read_text()
    assert example("imagenet.py", *words, "--stop-after", "7", "--checkpoint", "stopped.pt",
                   folder=tmp_path).count("epoch") == 1
    resumed = example("imagenet.py", *words, "--resume", "--checkpoint", "stopped.pt",
                      folder=tmp_path)
    last = re.search(r"epoch 1: accuracy ([0-9.]+)", whole).group(1)
    assert f"epoch 1: accuracy {last}" in resumed
    import torch

    one, two = (torch.load(tmp_path / name)["model"] for name in ("checkpoint.pt", "stopped.pt"))
    assert all(torch.equal(one[key], two[key]) for key in one), "to the same weights"


def test_imagenet_s_recipe_trains_in_two_ranks(tmp_path):
    path = packed(chunk=2)
    said = example("imagenet.py", path, path, "--arch", "small", "--size", "16", "--batch-size",
                   "4", "--epochs", "1", "--cpu", "--memory", "128M", "--threads", "1",
                   folder=tmp_path, torchrun=2)
    assert said.count("epoch 0: accuracy") == 1, said


def test_celeba_s_recipe_learns_attributes(tmp_path):
    need("torch")
    packed(chunk=2)
    files = sorted(pathlib.Path(photos()[0]).rglob("*.png"))
    lines = [str(len(files)), "Smiling Young"]
    for number, file in enumerate(files):
        lines.append(f"{file.relative_to(photos()[0])} {1 if number % 2 else -1} 1")
    (tmp_path / "list_attr_celeba.txt").write_text("\n".join(lines) + "\n")
    report = h5pack.pack(photos()[0], list=tmp_path / "list_attr_celeba.txt",
                         output=tmp_path / "celeba.h5", chunk=2, progress=False)
    assert report["result"]["packed"] == len(files)
    said = example("celeba.py", "celeba.h5", "--size", "16", "--batch-size", "4", "--epochs", "2",
                   "--memory", "128M", folder=tmp_path)
    assert "epoch 1: loss " in said and "Smiling 0." in said and "Young " in said, said
    one = example("celeba.py", "celeba.h5", "--size", "16", "--batch-size", "4", "--epochs", "1",
                  "--memory", "128M", "--attributes", "Young", folder=tmp_path)
    assert "Smiling" not in one and "Young " in one
