"""What a loader has done, and what to change."""
import os
import resource

COUNTS = ("visits", "loads", "hits", "file_reads", "file_read_bytes")
TIMES = ("total_ns", "read_ns", "decode_ns", "transform_ns")
LITTLE = 0.05  # of the time waited: nothing to gain
BLOCK = 512  # bytes, of ru_inblock
MEMORY = 0.5e9  # bytes/s: what storage hands to a thread is slower


def _storage_bytes():
    """Read from storage by this process, whoever asked for them; not what the page cache had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_inblock * BLOCK


class Stats:
    def __init__(self):
        self.pid = os.getpid()
        self.waiting_ns = self.working_ns = self.batches = self.samples = 0
        self.past = dict.fromkeys(COUNTS + TIMES, 0)  # of readers that were closed
        self.last = {}
        self.seen = None  # what the reader said last
        self.storage_bytes = _storage_bytes()

    def add(self, waiting_ns, working_ns, samples):
        self.samples += samples
        self.waiting_ns += waiting_ns
        self.working_ns += working_ns
        self.batches += 1

    def close(self, reader):
        info = self._info(reader)
        if info is None:  # nor before a thread waited in it
            return
        self.last, self.seen = info, None
        for key in self.past:
            self.past[key] += self.last[key]

    def _info(self, reader):
        """What it says; what it said last while another thread waits for a batch of it."""
        try:
            self.seen = None if reader is None else reader.info()
        except RuntimeError:
            pass
        return self.seen

    def as_dict(self, reader):
        info = self._info(reader)
        elapsed_ns = self.waiting_ns + self.working_ns
        sums = {key: self.past[key] + (info[key] if info else 0) for key in self.past}
        shown = info or self.last
        return {
            "batches": self.batches,
            "samples": self.samples,
            "waiting_s": self.waiting_ns / 1e9,
            "working_s": self.working_ns / 1e9,
            "waiting_share": self.waiting_ns / elapsed_ns if elapsed_ns else 0.0,
            "samples_per_s": self.samples * 1e9 / elapsed_ns if elapsed_ns else 0.0,
            **{key: sums[key] for key in COUNTS},
            # of the parent's figures, a forked process reads none
            "storage_read_bytes": max(0, _storage_bytes() - self.storage_bytes),
            "hit_rate": sums["hits"] / sums["visits"] if sums["visits"] else 0.0,
            **{key.replace("_ns", "_thread_s"): sums[key] / 1e9 for key in TIMES},
            "engine": shown.get("engine", ""),
            "threads": shown.get("n_threads", 0),
            "memory_bytes": shown.get("memory_bytes", 0),
        }


def _share(stats):
    """The largest part of what the threads did, and how much of it all it is."""
    parts = {key: stats[f"{key}_thread_s"] for key in ("read", "decode", "transform")}
    total = max(stats["total_thread_s"], sum(parts.values()), 1e-9)
    parts["copy"] = total - sum(parts.values())
    most = max(parts, key=parts.get)
    return most, parts[most] / total


def _chunk_samples(loader):
    chunk = loader._facts["chunk"]
    return chunk[0] if chunk else 1


def _is_cached(stats):
    """Some file systems of a network do not count what they read, but are not that fast."""
    read = stats["file_read_bytes"]
    return read > MEMORY * stats["read_thread_s"] and stats["storage_read_bytes"] < 0.1 * read


def _of_reading(stats, loader):
    if _chunk_samples(loader) > 1 and not loader._order["order"].startswith(("block", "seq")):
        return "order='block:chunks=32' reads each chunk once"
    if _is_cached(stats):
        return "the page cache has it all: more threads, or smaller samples"
    return "faster storage, or fewer bytes: h5rechunk --compress zstd"


def _of_decoding(stats, loader):
    if _chunk_samples(loader) > 1 and stats["loads"] > 1.5 * len(_chunks_once(stats, loader)):
        return ("chunks are decoded again and again: order='block:chunks=32', or more memory")
    return "more threads, or filters that decode faster: h5rechunk --compress zstd"


def _chunks_once(stats, loader):
    """As many as there are chunks in the samples read."""
    return range(max(1, stats["samples"] // _chunk_samples(loader)))


REMEDIES = {
    "read": _of_reading,
    "decode": _of_decoding,
    "transform": lambda stats, loader: "more threads, or images packed smaller: h5pack --shorter",
    "copy": lambda stats, loader: "more threads, or smaller samples: memory is as fast as it is",
}
WORDS = {"read": "reading the file", "decode": "decoding chunks",
         "transform": "cropping, resizing and normalizing", "copy": "copying samples"}


def advice(stats, loader):
    if stats["batches"] < 2:
        return "nothing can be said before some batches were read"
    waiting = stats["waiting_share"]
    if waiting < LITTLE:
        return (f"the loader does not limit: the loop waits {waiting:.0%} of its time for batches, "
                f"{stats['samples_per_s']:.0f} samples/s")
    if stats["engine"] == "hdf5":
        return (f"the loop waits {waiting:.0%} of its time, and HDF5 itself reads, in one thread: "
                "h5rechunk writes a file that is read without it")
    most, share = _share(stats)
    return (f"the loop waits {waiting:.0%} of its time, {share:.0%} of the reader's is "
            f"{WORDS[most]}: {REMEDIES[most](stats, loader)}")
