/* Code that reports print, for settings made up here: what a user pastes. */
#include "libpack/advise/snippet.h"
#include "tests/tap.h"

static struct pack_advise_config config, now;
static struct pack_advise_params params;
static struct pack_snippet_subject subject;

/* Images of 32 x 48, channels last, in chunks of 8. */
static void
setup(void)
{
    params = (struct pack_advise_params){ .data.extent = { 4, { 100, 32, 48, 3 } },
                                          .data.elem_size = 1 };
    config = (struct pack_advise_config){
        .chunk = { 4, { 8, 32, 48, 3 } },
        .codec = "none",
        .pattern = { .kind = PACK_PATTERN_SHUFFLE, .batch = 16, .workers = 3 },
        .cache = { 1009, 8 << 20, 0.5, PACK_HDF5_1_10 },
    };
    subject = (struct pack_snippet_subject){ .file = "it's \"my\".h5",
                                             .dataset = "a/b",
                                             .source = "my photos",
                                             .params = &params,
                                             .config = &config };
}

/* The code of a name; valid until the next. */
static const char *
code(const char *name)
{
    static struct pack_buf buf;
    const char *found;
    buf.size = 0;
    for (size_t i = 0; (found = pack_snippet_name(i, NULL)) != NULL; i++)
        if (strcmp(found, name) == 0)
            (void)pack_snippet_print(i, &subject, &buf, NULL);
    pack_buf_append(&buf, "", 1, NULL);
    return (const char *)buf.data;
}

static void
has(const char *name, const char *piece, const char *sentence)
{
    const char *text = code(name);
    if (!ok(strstr(text, piece) != NULL, "%s", sentence))
        note("'%s' is not in:\n%s", piece, text);
}

static void
test_settings(void)
{
    has("h5py",
        "h5py.File('it\\'s \"my\".h5', 'r', rdcc_nbytes=8388608,\n"
        "              rdcc_nslots=1009, rdcc_w0=0.5)\nimages = f['a/b']",
        "h5py gets the cache, and names as Python reads them");
    ok(!strstr(code("h5py"), "hdf5plugin"), "without zstd there is no plugin to import");
    strcpy(config.codec, "shuffle+zstd:3");
    has("h5py", "import h5py, hdf5plugin", "with zstd there is");
    has("c", "H5Fopen(\"it's \\\"my\\\".h5\", H5F_ACC_RDONLY", "C reads names in its own way");
    subject.file = "Bl\xc3\xa4tter \xff.h5";
    const struct pack_advise_config now = { .chunk = { 4, { 4, 32, 48, 3 } } };
    params.now = &now;
    has("h5py", "h5py.File('new.h5'", "what is to be written anew is read from there");
    has("c", "H5Fopen(\"new.h5\"", "in C as well");
    params.now = NULL;
    has("h5py", "h5py.File('Bl\xc3\xa4tter \\udcff.h5'", "bytes that are no UTF-8 are Python's,");
    has("c", "H5Fopen(\"Bl\xc3\xa4tter \\377.h5\"", "or C's");
    has("c", "H5Pset_chunk_cache(access, 1009, 8388608, 0.5);", "slots come before bytes there");
    setup();
}

static void
test_orders(void)
{
    has("pytorch", "num_workers=3, persistent_workers=True,\n                    batch_size=16, "
                   "shuffle=True)", "workers stay, and shuffle");
    params.reading.workers_end = true;
    has("pytorch", "persistent_workers=False", "unless they end with each epoch");
    config.pattern.workers = 0;
    has("pytorch", "num_workers=0,\n", "what is nobody does not persist");
    config.pattern.kind = PACK_PATTERN_SEQUENTIAL;
    has("pytorch", "batch_size=16, shuffle=False)", "an order is not shuffled");
    config.pattern.world = 4;
    config.pattern.rank = 1;
    has("pytorch", "sampler=DistributedSampler(images, shuffle=False,\n                    "
                   "num_replicas=4, rank=int(os.environ.get('RANK', 1)))",
        "ranks take their own part");
    setup();
    config.pattern.kind = PACK_PATTERN_BLOCK;
    config.pattern.pool_chunks = 24;
    has("pytorch", "import os, random\n", "block shuffles draw");
    has("pytorch", "batch_size=16, sampler=BlockShuffle(\n                        len(images), "
                   "chunk=8, pool=24)", "from pools of chunks");
    config.pattern.local = true;
    has("pytorch", "import os, numpy as np\n", "or with NumPy,");
    has("pytorch", "batch_sampler=LocalBlocks(\n                        len(images), chunk=8, "
                   "pool=24, batch=16, workers=3)", "worker by worker");
    config.pattern.world = 2;
    has("pytorch", "workers=3,\n                    world=2, rank=int(os.environ.get('RANK', 0)))",
        "and rank by rank");
    setup();
    config.pattern.kind = PACK_PATTERN_BLOCK;
    config.pattern.batch = 0;
    has("pytorch", "batch_size=1, sampler=BlockShuffle(\n                        len(images), "
                   "chunk=8, pool=32)", "32 of them in batches of one, unless told");
    config.pattern.step = 4;
    has("pytorch", "chunk=2, pool=32)", "a chunk of 8 rows holds two samples that begin at every fourth");
    config.pattern.step = 16;
    has("pytorch", "chunk=1, pool=32)", "or a part of one");
    config.pattern.step = 0;
    config.chunk.rank = 0;
    has("pytorch", "chunk=1, pool=32)", "without chunks each sample is one");
    config.pattern.kind = PACK_PATTERN_SHUFFLE;
    has("pytorch", "batch_size=1, shuffle=True)", "a shuffle has batches of one, too");
    setup();
    config.pattern.kind = PACK_PATTERN_REPLACEMENT;
    has("pytorch", "batch_size=16, sampler=RandomSampler(\n                        images, "
                   "replacement=True, num_samples=len(images)))", "draws are independent");
    config.pattern.kind = PACK_PATTERN_WEIGHTED;
    config.pattern.file = "my 'w'";
    config.pattern.draws = 50;
    config.pattern.world = 2;
    has("pytorch", "with open('my \\'w\\'') as f:\n    weights = [float(w)",
        "by weights of the file");
    has("pytorch", "sampler=WeightedRandomSampler(\n                        weights, "
                   "num_samples=50 // 2))", "and divided over ranks");
    setup();
    config.pattern.kind = PACK_PATTERN_BUFFER;
    has("pytorch", "# PyTorch has no sampler for a shuffle buffer", "what there is not is said,");
    has("pytorch", "batch_size=16, shuffle=False)", "and not shuffled otherwise");
    config.pattern.kind = PACK_PATTERN_TRACE;
    config.pattern.box = (struct pack_shape){ 4, { 2, 32, 48, 3 } };
    has("pytorch", "# a trace is an order of its own", "nor is a trace,");
    has("pytorch", "return self.images[i]\n", "whose boxes are not known here");
    setup();
}

static void
test_samples(void)
{
    has("pytorch", "self.n = f['a/b'].shape[0]\n", "samples are counted");
    config.pattern.box = (struct pack_shape){ 4, { 1, 16, 48, 3 } };
    has("pytorch", "import os, random\n", "a crop begins anywhere");
    has("pytorch", "        box = (1, 16, 48, 3)\n        at = [i] + [random.randint(",
        "along its axes");
    has("pytorch", "return self.images[cut][0]\n", "and has the dimensions of a sample");
    config.pattern.box = (struct pack_shape){ 4, { 4, 32, 48, 3 } };
    config.pattern.step = 2;
    has("pytorch", "self.n = (f['a/b'].shape[0] - 4) // 2 + 1\n", "so are windows,");
    has("pytorch", "return self.images[i * 2:i * 2 + 4]\n", "read in one piece each");
    config.pattern.kind = PACK_PATTERN_BLOCK;
    has("pytorch", "len(images), chunk=4, pool=32", "of which a chunk holds fewer");
    config.pattern.box.rank = 0;
    has("pytorch", "self.n = (f['a/b'].shape[0] - 1) // 2 + 1\n", "every other sample");
    has("pytorch", "return self.images[i * 2]\n", "is one");
    ok(!strstr(code("pytorch"), "        # "), "all of it is as it was judged");
    config.pattern.read = PACK_READ_BATCH;
    subject.with = "l'abels";
    has("pytorch",
        "        # a batch in one read takes a __getitems__ of its own\n"
        "        # and self.file['l\\'abels'][i], which is read in step\n"
        "        return self.images[i * 2]\n",
        "what is not in it is told");
    setup();
}

static void
test_pack(void)
{
    strcpy(config.codec, "zstd:3");
    is_text(code("h5pack"), "h5pack 'my photos' --size 32x48 --chunk 8 --compress zstd:3 -o new.h5\n",
            "images are packed from their folder");
    config.chunk.extent[1] = 16;
    has("h5pack", " --chunk 8x16x48x3 ", "in parts of images too");
    static const struct {
        struct pack_shape extent;
        const char *piece;
    } layouts[] = {
        { { 4, { 100, 3, 32, 48 } }, "photos' --size 32x48 --layout nchw --chunk 8 " },
        { { 4, { 100, 1, 32, 48 } }, "photos' --size 32x48 --layout nchw --gray --chunk 8 " },
        { { 4, { 100, 32, 48, 1 } }, "photos' --size 32x48 --gray --chunk 8 " },
        { { 4, { 100, 3, 48, 3 } }, "photos' --size 3x48 --chunk 8 " }, /* channels last wins */
    };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        params.data.extent = config.chunk = layouts[i].extent;
        config.chunk.extent[0] = 8;
        has("h5pack", layouts[i].piece, "axes lie as in the file");
    }
    subject.source = NULL;
    has("h5pack", "h5pack FOLDER ", "a folder that is not known is to be filled in");
    params.data.extent.rank = config.chunk.rank = 3;
    has("h5pack", "# h5pack writes images; see h5rechunk", "other data are for others");
    config.chunk.rank = 0;
    has("h5pack", "# h5pack writes chunks; see h5rechunk", "so is a file without chunks");
    setup();
}

/* What h5rechunk can write is written by it; 'NAME:/PATH' is one word. */
static void
test_rechunk(void)
{
    static const char *const codecs[] = { "none", "gzip:9", "zstd:5",
                                          "shuffle+gzip:4+fletcher32" };
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        char piece[64];
        strcpy(config.codec, codecs[i]);
        snprintf(piece, sizeof piece, " --compress %s -o new.h5\n", codecs[i]);
        has("h5rechunk", piece, "filters have the names that all programs take");
    }
    strcpy(config.codec, "none");
    is_text(code("h5rechunk"),
            "h5rechunk 'it'\\''s \"my\".h5:/a/b' --chunk 8x32x48x3 --compress none -o new.h5\n",
            "a file is rewritten, its name quoted for a shell");
    subject.file = "/data/new.h5";
    is_text(code("h5rechunk"),
            "h5rechunk /data/new.h5:/a/b --chunk 8x32x48x3 --compress none -o newer.h5\n",
            "not over itself");
    subject.file = "-f.h5";
    has("h5rechunk", "h5rechunk ./-f.h5:/a/b ", "nor is a name taken for an option");
    static const char *const odd[] = { "a b", "a;b", "$HOME", "a|b" };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        char piece[32];
        subject.dataset = odd[i];
        snprintf(piece, sizeof piece, "h5rechunk './-f.h5:/%s' ", odd[i]);
        has("h5rechunk", piece, "what a shell would take apart is in quotes");
    }
    subject.dataset = "a,b:c";
    has("h5rechunk", "h5rechunk ./-f.h5:/a,b:c ", "h5rechunk itself takes any name");
    setup();
    now = config;
    params.now = &now;
    has("h5rechunk", "# the file stays as it is", "what is so already stays");
    strcpy(config.codec, "gzip:4");
    has("h5rechunk", "--chunk 8x32x48x3 --compress gzip:4 ", "another codec is written");
    setup();
}

/* What it cannot is Python's. */
static void
test_rewrite(void)
{
    static const struct {
        const char *codec, *head, *piece;
    } layouts[] = {
        { "none", "import h5py\n", "chunks=(8, 32, 48, 3,))\n" },
        { "gzip:9", "import h5py\n", "3,), compression='gzip', compression_opts=9)\n" },
        { "zstd:5", "import h5py, hdf5plugin  # encodes zstd\n",
          "3,), compression=32015, compression_opts=(5,))\n" },
        { "shuffle+gzip:4+fletcher32", "import h5py\n",
          "3,), shuffle=True, compression='gzip', compression_opts=4, fletcher32=True)\n" },
    };
    now = config;
    now.chunk.extent[0] = 4;
    now.is_virtual = true;
    params.now = &now;
    has("h5rechunk", "\nname = 'a/b'\n", "a virtual dataset is written by Python");
    params.now = NULL;
    subject.needs_python = true;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        strcpy(config.codec, layouts[i].codec);
        has("h5rechunk", layouts[i].head, "what encodes is imported");
        has("h5rechunk", layouts[i].piece, "filters have h5py's names");
    }
    params.now = &now;
    strcpy(now.codec, "zstd:3");
    strcpy(config.codec, "none");
    has("h5rechunk", "import h5py, hdf5plugin  # decodes zstd\n", "so is what decodes");
    strcpy(now.codec, "none");
    has("h5rechunk", "import h5py\n", "where there is nothing to decode, nothing is");
    params.now = NULL;
    strcpy(config.codec, layouts[3].codec);
    /* 4608 bytes a sample: as many whole chunks of 8 as 32 MiB hold */
    has("h5rechunk", "range(0, len(data), 7280):\n        copy[i:i + 7280] = data[i:i + 7280]\n",
        "as much is copied at once as takes little memory");
    config.chunk.extent[0] = 20000;
    has("h5rechunk", "range(0, len(data), 20000):\n", "but never less than a chunk");
    config.chunk.rank = 0;
    has("h5rechunk", "range(0, len(data), 7281):\n", "or than a sample");
    strcpy(config.codec, "none");
    has("h5rechunk", "fillvalue=data.fillvalue)\n", "without chunks none are named");
    subject.needs_python = false;
    has("h5rechunk", " --chunk none -o new.h5\n", "h5rechunk writes data without chunks");
    setup();
}

int
main(void)
{
    setup();
    test_settings();
    test_orders();
    test_samples();
    test_pack();
    test_rechunk();
    test_rewrite();
    return done();
}
