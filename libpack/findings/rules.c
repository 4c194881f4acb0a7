/* One table; --explain, the list of rules and the manual's are all made of it. */
#include "libpack/findings/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NO_THRESHOLD { { NULL, 0, NULL } }

/* clang-format off */
static const struct pack_rule rules[] = {
    { 101, "missing-filter", PACK_FINDING_HAZARD,
      "a filter that this machine lacks",
      "Chunks went through a filter whose code is not in this HDF5 and in no plugin "
      "that it finds. Whoever opens the file sees shapes and types, and fails at the "
      "first read. The finding names the filter, and the package that usually brings "
      "it (import hdf5plugin for most).",
      NO_THRESHOLD },
    { 102, "chunk-overhang", PACK_FINDING_COST,
      "chunks that hang over the edge of the data",
      "HDF5 stores whole chunks. Where the chunk does not divide the extent, the last "
      "ones hold padding, which is written, read and cached like data. The well-known "
      "recipe chunks=(100,3,217,178) for images of 3x218x178 has two chunks along the "
      "height, the second with one row: it doubles the file, and each image takes two "
      "chunks. Compressed, padding takes little of the file, but is decoded with the "
      "rest.",
      { { "factor", 1.02, "bytes of all chunks over those of the data, at least" } } },
    { 103, "cut-samples", PACK_FINDING_COST,
      "samples that are gathered from several chunks",
      "One sample, which is read at once, lies in several chunks: each has to be "
      "found, read and decoded, and what else is in it comes along. Chunks that hold "
      "whole samples, one or some, take one look-up. An image of 224x224x3 in chunks "
      "of 56x56x1 is 48 chunks.",
      { { "chunks", 1.5, "that a sample is gathered from, at least" } } },
    { 104, "guessed-chunks", PACK_FINDING_NOTE,
      "chunks that h5py guessed",
      "These are the chunks that h5py makes up with chunks=True, or with compression "
      "and no chunks: it halves all dimensions in turn until a chunk has some ten to "
      "a hundred KiB, without knowing what is read together. For images that is "
      "nearly always wrong, as samples are cut in all directions.",
      NO_THRESHOLD },
    { 105, "dragged-chunks", PACK_FINDING_COST,
      "random reads that drag whole chunks along",
      "A read of one sample loads a whole chunk of many, and in a random order the "
      "others are not asked for before the chunk has left the cache. Loads and bytes "
      "are counted by replaying the reads through HDF5's chunk cache. Smaller chunks, "
      "an order that stays within some chunks for a while (block shuffle), or a cache "
      "that holds everything, change that. Chunks of up to 64 KiB are no matter: to "
      "get at them takes longer than to read them.",
      { { "factor", 2, "bytes read over bytes wanted, at least" },
        { "bytes", 64 << 10, "of a chunk, more than these" } } },
    { 106, "tiny-chunks", PACK_FINDING_COST,
      "chunks so small that what is known of them outweighs them",
      "Each chunk takes some 24 to 60 bytes in an index, a look-up at every access "
      "and a write of its own; its filter starts anew. Chunks of some hundred bytes "
      "spend more on that than on data. From about 10 KiB on it no longer matters.",
      { { "bytes", 2048, "of a chunk, at most" },
        { "chunks", 10000, "that there are, at least" } } },
    { 107, "huge-chunks", PACK_FINDING_HAZARD,
      "chunks that few readers can hold",
      "A filtered chunk is read and decoded as a whole, into memory of its size twice "
      "over, in each worker process. Chunks of 4 GiB and more cannot be read before "
      "HDF5 2.0 at all.",
      { { "bytes", 1 << 30, "of a filtered chunk, at least" } } },
    { 201, "bypass-cliff", PACK_FINDING_HAZARD,
      "chunks that an upgrade to HDF5 2.0 makes slow",
      "An unfiltered chunk that does not fit the chunk cache is not loaded: just what "
      "is asked for is read. Between 1 MiB, the default cache of HDF5 1.x, and 8 MiB, "
      "that of 2.0, the same file is read past the cache by the one and chunk by "
      "chunk by the other, which may be a hundred times slower under a random order. "
      "Setting rdcc_nbytes decides it.",
      { { "factor", 1.25, "how many times slower, at least" } } },
    { 202, "w0-one", PACK_FINDING_HAZARD,
      "a cache that outgrows its size",
      "With rdcc_w0 = 1 only chunks that were read completely are evicted, so that "
      "partial reads fill memory without a bound. It is found in recipes that copy "
      "settings meant for sequential reading.",
      { { "factor", 1.01, "what the cache grows to over its size, more than this" } } },
    { 203, "slot-collisions", PACK_FINDING_COST,
      "chunks that push each other out of a cache with room",
      "The chunk cache is a hash table: two chunks with one slot cannot both stay, "
      "however much room there is. The number of slots is to be a prime, some times "
      "the number of chunks that fit. It is a finding where the reads are faster with "
      "as many: in a random order over chunks that are hardly asked for again, what "
      "more of them is kept is looked after in vain.",
      { { "rate", 0.01, "of the loads that push out a chunk, at least" },
        { "factor", 1.05, "how many times as fast without, at least" } } },
    { 204, "memory-times-workers", PACK_FINDING_NOTE,
      "caches that add up over worker processes",
      "Every worker process of a DataLoader opens the file for itself and has a chunk "
      "cache of its own: what one may have is to be divided by their number.",
      NO_THRESHOLD },
    { 205, "decoded-again", PACK_FINDING_COST,
      "filtered chunks larger than the chunk cache",
      "A filtered chunk cannot be read in part. When it does not fit the cache it is "
      "read and decoded for every access, and thrown away: with 16 images of 147 KB a "
      "chunk and the cache of 1 MiB of HDF5 1.x each image costs the decoding of 16. "
      "A cache that holds the chunk helps only where it is asked for again soon; "
      "smaller chunks always do.",
      NO_THRESHOLD },
    { 301, "shared-pool", PACK_FINDING_COST,
      "a block shuffle whose chunks all workers load",
      "PyTorch deals batches to workers in turn. A block shuffle that does not know "
      "of it has each chunk loaded by every worker.",
      { { "factor", 1.5, "how many workers load a chunk, at least" } } },
    { 302, "reopening", PACK_FINDING_COST,
      "a dataset that is opened for each read",
      "A chunk cache belongs to an open dataset: f['images'][i] opens it by name, "
      "reads and closes it, and the cache is gone each time. An audit says so of "
      "readers who do.",
      NO_THRESHOLD },
    { 303, "scattered-batch", PACK_FINDING_COST,
      "scattered samples in one read",
      "One H5Dread of an irregular union of samples makes HDF5 look at each element "
      "by itself, where file and memory differ in shape. Reading sample by sample, or "
      "the span that holds the batch, is many times faster.",
      { { "factor", 1.25, "how many times slower, at least" } } },
    { 401, "shuffled-bytes", PACK_FINDING_COST,
      "the shuffle filter on elements of one byte",
      "Shuffle sorts the first bytes of all elements, then the second ones, and so "
      "on. Elements of one byte have no second: it copies, and its time is lost at "
      "every read.",
      { { "bytes", 1 << 20, "of all stored chunks, at least" } } },
    { 402, "variable-length", PACK_FINDING_COST,
      "elements of variable length",
      "Strings and sequences of variable length lie in heaps of their own, some 16 "
      "bytes of reference each, and no filter reaches them: compression set on such a "
      "dataset compresses the references. Strings of fixed length, or one flat "
      "dataset and offsets, are read in one piece.",
      { { "elements", 1000, "that there are, at least" } } },
    { 403, "needless-compression", PACK_FINDING_COST,
      "compression that saves nearly nothing",
      "What is stored is hardly smaller than the data, as with photographs, which are "
      "noise to a byte compressor; but every chunk is still decoded whole at each "
      "load.",
      { { "rate", 0.95, "of the data that is left, more than this" },
        { "bytes", 1 << 20, "of all stored chunks, at least" } } },
    { 404, "slow-codec", PACK_FINDING_COST,
      "deflate where zstd decodes several times faster",
      "deflate (gzip) is decoded at some 200 to 400 MB/s a core, zstd at 1 to 2 GB/s, "
      "at about the same size, of masks and the like at up to twice that. HDF5 finds zstd "
      "as a plugin (import hdf5plugin).",
      { { "factor", 1.5, "how many times faster, at least" },
        { "bytes", 1 << 20, "of all stored chunks, at least" } } },
    { 405, "wide-bytes", PACK_FINDING_COST,
      "numbers that are bytes, in a wider type",
      "Images that were converted to float32 before they were stored: all values are "
      "integers of 0 to 255, or those by 255. As uint8 they take a quarter of the file, of "
      "the page cache and of the bus, and normalising them on the GPU costs nothing. It is "
      "seen in samples, and proven by a look at all of them; h5rechunk, which makes bytes of "
      "them, proves it too, and refuses with the first value that is none.",
      { { "bytes", 1 << 20, "of the data, at least" } } },
    { 406, "missing-compression", PACK_FINDING_NOTE,
      "data that compression would make smaller",
      "What is stored as it is was tried with zstd, behind a shuffle where elements are "
      "wider than a byte, and less than half was left. It pays where storage or a network "
      "is the limit; a file that lies in memory is read faster without. Photos leave nine "
      "tenths, and are not found.",
      { { "rate", 0.5, "of the data that is left, at most" },
        { "bytes", 1 << 20, "that are stored, at least" } } },
    { 501, "truncated", PACK_FINDING_HAZARD,
      "a file that ends before it should",
      "The file says where it ended when it was closed, and now it is shorter: a copy "
      "or a download that was broken off, a disk that was full. HDF5 refuses to open "
      "it. The rest cannot be had from here; what lies before the cut is looked at, can be "
      "verified, and salvaged.",
      NO_THRESHOLD },
    { 502, "marked-open", PACK_FINDING_HAZARD,
      "a file that is marked as open for writing",
      "HDF5 1.10 and later mark a file that a writer has open, and take the mark away "
      "when it is closed. Either somebody is writing now, or a writer has crashed; "
      "then parts of it may be missing. h5clear -s FILE takes the mark away once "
      "nobody writes.",
      NO_THRESHOLD },
    { 503, "hdf5-crashes", PACK_FINDING_HAZARD,
      "a file on which HDF5 itself crashes or hangs",
      "HDF5 was tried on the file in a process of its own, which came to a bad end. "
      "The file is damaged, or made to be. Programs that open it share that fate.",
      NO_THRESHOLD },
    { 504, "unreadable", PACK_FINDING_HAZARD,
      "a file that HDF5 does not open",
      "It is no HDF5 file, or its beginning is damaged.",
      NO_THRESHOLD },
    { 505, "damaged-dataset", PACK_FINDING_HAZARD,
      "a dataset that HDF5 cannot make sense of",
      "The file can be opened, but what it says of this dataset, or of where its "
      "chunks lie, is damaged. Other datasets may be whole.",
      NO_THRESHOLD },
    { 506, "overlapping-chunks", PACK_FINDING_HAZARD,
      "chunks that share bytes of the file",
      "Two chunks claim the same bytes; at most one of them holds what was written.",
      NO_THRESHOLD },
    { 507, "chunks-beyond-end", PACK_FINDING_HAZARD,
      "chunks that lie beyond the end of the file",
      "The index names bytes that the file does not have: reading these chunks fails.",
      NO_THRESHOLD },
    { 508, "missing-chunks", PACK_FINDING_NOTE,
      "data that was never written",
      "Nothing is stored for such chunks, or for data without chunks, and it reads as "
      "the fill value: as planned in sparse data, as zeros in the middle of a training "
      "set where a writer was stopped.",
      { { "chunks", 1, "that are missing, at least; all data without chunks counts as one" } } },
    { 509, "scattered-chunks", PACK_FINDING_NOTE,
      "chunks that lie in another order than they are numbered",
      "A reader in order jumps about in the file. A disk pays for each jump with some "
      "10 ms; memory and SSDs hardly notice.",
      { { "rate", 0.25, "of the chunks that lie in front, at least" },
        { "chunks", 16, "that are stored, at least" } } },
    { 510, "free-space", PACK_FINDING_COST,
      "space that nothing uses",
      "Deleted and rewritten objects leave holes, which HDF5 fills only in part, and "
      "forgets when the file is closed unless told otherwise. Copying the file closes "
      "them.",
      { { "rate", 0.2, "of the file, at least" },
        { "bytes", 1 << 20, "that nothing uses, at least" } } },
    { 511, "old-index", PACK_FINDING_NOTE,
      "a version 1 B-tree of very many chunks",
      "Files in the old format find a chunk by walking a tree in steps of 64 entries "
      "or so; looking for missing ones, or listing all, walks the whole of it. Files "
      "of libver='v110' or later have arrays.",
      { { "chunks", 100000, "that there are, at least" } } },
    { 512, "many-datasets", PACK_FINDING_COST,
      "a dataset for each sample",
      "Each dataset is an object with a header of its own, some hundred bytes, to be "
      "found by name and opened for each read, which takes longer than reading a "
      "small image. One dataset with one more dimension holds them all.",
      { { "datasets", 100, "of one shape, at least" } } },
    { 513, "masked-chunks", PACK_FINDING_NOTE,
      "chunks that skipped some of their filters",
      "A filter that is optional may leave a chunk as it is, as compression that "
      "would have made it larger. Readers know; it is worth knowing when sizes are "
      "compared.",
      { { "chunks", 1, "that skipped filters, at least" } } },
    { 514, "missing-sources", PACK_FINDING_HAZARD,
      "a virtual dataset whose sources are not all there",
      "HDF5 gives fill values, mostly zeros, for what lies in a file that it does not find, and "
      "no error: training goes on with black images. Sources are looked for beside the file, "
      "then from the current folder; they were moved, renamed, or not copied along.",
      NO_THRESHOLD },
    { 515, "shared-bytes", PACK_FINDING_HAZARD,
      "datasets that claim the same bytes",
      "Two datasets say that the same bytes of the file are theirs; at most one of them holds "
      "what was written, and writing to either changes both. No library makes such files: one "
      "was damaged, or put together by hand.",
      NO_THRESHOLD },
    { 516, "data-beyond-end", PACK_FINDING_HAZARD,
      "data in one piece that lies beyond the end of the file",
      "The dataset has a place in the file, and the file ends before that does. HDF5 refuses "
      "to read it, or reads zeros.",
      NO_THRESHOLD },
    { 517, "unlisted-chunks", PACK_FINDING_COST,
      "more chunks than are listed here",
      "Nothing is damaged: the dataset has room for more than 67,108,864 chunks, whether they "
      "are stored or not, and this program lists no more. Its readers find each of them in an "
      "index, all the same, and tools that walk over all of them take minutes. Chunks of some "
      "whole samples, ten KiB and more, are fewer; so are those of an extent that ends where "
      "its data ends.",
      NO_THRESHOLD },
    { 601, "lengths-differ", PACK_FINDING_COST,
      "datasets beside each other that differ in length",
      "Images and labels of one group are read in step; here one of them is longer, "
      "so that pairs are wrong from some place on, or an epoch ends early.",
      NO_THRESHOLD },
    { 602, "odd-numbers", PACK_FINDING_NOTE,
      "samples with a NaN or an infinity in them",
      "In grids of measurements a NaN may stand for what was not measured. In a training set "
      "one makes the loss NaN, and from there on all weights. Samples are counted from 0.",
      { { "samples", 1, "that have one, at least" } } },
    { 603, "constant-samples", PACK_FINDING_NOTE,
      "samples that hold one value in all places",
      "An image of one colour is mostly one that failed to load, a chunk that was never "
      "written, or the rest of an array that was made too long.",
      { { "samples", 1, "that are constant, at least" },
        { "values", 64, "of a sample, at least" } } },
    { 604, "equal-samples", PACK_FINDING_NOTE,
      "samples that are exactly as an earlier one",
      "Found where all samples are looked at, by 128 bits of checksum of each. Copies weigh "
      "double in "
      "training, and where a set is split at random one may be tested on what was trained.",
      { { "samples", 1, "that are copies, at least" },
        { "values", 64, "of a sample, at least" } } },
    { 605, "sorted-labels", PACK_FINDING_COST,
      "labels that come in runs",
      "A folder that is packed in the order of its names has all of one class first. Under a "
      "uniform shuffle that is no matter. In order, through a buffer, or in a block shuffle "
      "that mixes few chunks, a batch holds few classes, and training goes worse. Rewriting "
      "the file once in a random order cures it. It is a note where samples are drawn "
      "from all of them.",
      { { "rate", 0.5, "classes seen beside one, over those of a random order, at most" },
        { "samples", 100, "that there are, at least" } } },
};
/* clang-format on */

enum { N_RULES = sizeof rules / sizeof *rules };

const struct pack_rule *
pack_rule_at(size_t i)
{
    return i < N_RULES ? &rules[i] : NULL;
}

const struct pack_rule *
pack_rule_of(int code)
{
    for (size_t i = 0; i < N_RULES; i++)
        if (rules[i].code == code)
            return &rules[i];
    return NULL;
}

const struct pack_rule *
pack_rule_find(const char *name)
{
    char code[16];
    const char *digits = strncasecmp(name, "H5A", 3) == 0 ? name + 3 : name;
    for (size_t i = 0; i < N_RULES; i++) {
        snprintf(code, sizeof code, "%d", rules[i].code);
        if (strcmp(digits, code) == 0 || strcmp(name, rules[i].id) == 0)
            return &rules[i];
    }
    return NULL;
}
