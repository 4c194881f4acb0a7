"""Other loaders on the samples of an HDF5 file of images: FFCV's, and MosaicML's streaming.

peers.py NAME --make FILE FOLDER writes the images of FILE as that one has them, as they are;
peers.py NAME FILE FOLDER BATCH WORKERS EPOCHS prints samples per second of the median of so many
epochs, each from its first batch to that of the next, behind one more, as bench_python.py times them.

NAME is "ffcv", "streaming", or with a resized crop to 192 and a flip, "ffcv-crop" and, of ours,
"loader-crop", which reads FILE.
"""
import statistics
import sys
import time

import h5pack

SIDE = 192


def samples(file):
    """Images as NumPy has them, one behind the other."""
    for batch in h5pack.Loader(file, 256, order="sequential", with_=(), out="numpy"):
        yield from batch[0] if isinstance(batch, tuple) else batch


def make_ffcv(file, folder):
    from ffcv.fields import RGBImageField
    from ffcv.writer import DatasetWriter

    class Images:
        def __init__(self):
            self.images = [(image.copy(),) for image in samples(file)]

        def __len__(self):
            return len(self.images)

        def __getitem__(self, i):
            return self.images[i]

    fields = {"image": RGBImageField(write_mode="raw")}
    DatasetWriter(f"{folder}/images.beton", fields, num_workers=1).from_indexed_dataset(Images())


def make_streaming(file, folder):
    from streaming import MDSWriter
    writer = None
    for image in samples(file):
        if writer is None:
            columns = {"image": "ndarray:uint8:" + ",".join(map(str, image.shape))}
            writer = MDSWriter(columns=columns, out=f"{folder}/mds")
        writer.write({"image": image})
    writer.finish()


def ffcv(folder, batch, workers, *operations):
    from ffcv.fields.decoders import SimpleRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import ToTensor
    pipeline = [*(operations or [SimpleRGBImageDecoder()]), ToTensor()]
    return Loader(f"{folder}/images.beton", batch_size=batch, num_workers=workers, os_cache=True,
                  order=OrderOption.RANDOM, seed=1, drop_last=False, pipelines={"image": pipeline})


def ffcv_crop(folder, batch, workers):
    from ffcv.fields.decoders import RandomResizedCropRGBImageDecoder
    from ffcv.transforms import RandomHorizontalFlip
    return ffcv(folder, batch, workers, RandomResizedCropRGBImageDecoder((SIDE, SIDE)),
                RandomHorizontalFlip())


def streaming(folder, batch, workers):
    from streaming import StreamingDataset
    from torch.utils.data import DataLoader
    dataset = StreamingDataset(local=f"{folder}/mds", shuffle=True, batch_size=batch)
    return DataLoader(dataset, batch_size=batch, num_workers=workers,
                      persistent_workers=workers > 0)


def loader_crop(file, batch, workers):
    return h5pack.Loader(file, batch, threads=workers, seed=1, with_=(), memory="2G",
                         resized_crop=SIDE, flip=True)


def count(batch):
    while not hasattr(batch, "shape"):  # a tuple or a dictionary, of one
        batch = next(iter(batch.values() if isinstance(batch, dict) else batch))
    return batch.shape[0]


def main():
    name, file, folder = sys.argv[1], sys.argv[-2], sys.argv[-1]
    if sys.argv[2] == "--make":
        return {"ffcv": make_ffcv, "streaming": make_streaming}[name](file, folder)
    file, folder, batch, workers, epochs = *sys.argv[2:4], *map(int, sys.argv[4:7])
    make = {"ffcv": ffcv, "ffcv-crop": ffcv_crop, "streaming": streaming,
            "loader-crop": loader_crop}[name]
    loader = make(file if name.startswith("loader") else folder, batch, workers)
    begins, n = [], 0
    for _ in range(epochs + 2):
        n = 0
        for number, images in enumerate(loader):
            if number == 0:
                begins.append(time.perf_counter())
            n += count(images)
            del images
    took = statistics.median(end - begin for begin, end in zip(begins[1:], begins[2:]))
    print(f"{n / took:.1f}")


if __name__ == "__main__":  # workers of a DataLoader may import this
    main()
