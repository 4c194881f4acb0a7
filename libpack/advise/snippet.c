/*
 * Templates are text with @NAMES@; a second table says what each name becomes. Adding a
 * template is one entry; adding a name is one function.
 */
#include "libpack/advise/snippet_parts.h"

#include <stdio.h>
#include <string.h>

#include "libpack/advise/advise_parts.h"
#include "libpack/base/name.h"

static const struct {
    const char *name, *title, *text;
} templates[] = {
    { "h5py", "h5py",
      "import h5py@ZSTD_IMPORT@\n"
      "f = h5py.File(@PY_FILE@, 'r', rdcc_nbytes=@NBYTES@,\n"
      "              rdcc_nslots=@NSLOTS@, rdcc_w0=@W0@)\n"
      "images = f[@PY_DATASET@]  # keep this object: opening it again empties its cache\n" },
    { "c", "C",
      "hid_t file = H5Fopen(@C_FILE@, H5F_ACC_RDONLY, H5P_DEFAULT);\n"
      "hid_t access = H5Pcreate(H5P_DATASET_ACCESS);\n"
      "H5Pset_chunk_cache(access, @NSLOTS@, @NBYTES@, @W0@);\n"
      "hid_t dataset = H5Dopen2(file, @C_DATASET@, access);\n" },
    { "pytorch", "PyTorch",
      "import os@PY_IMPORT@\n"
      "import h5py@ZSTD_IMPORT@\n"
      "from torch.utils.data import DataLoader, Dataset, DistributedSampler, Sampler\n"
      "\n"
      "class Images(Dataset):\n"
      "    \"\"\"Opens the file once per process: HDF5 handles do not survive a fork.\"\"\"\n"
      "    def __init__(self, path):\n"
      "        self.path, self.pid = path, None\n"
      "        with h5py.File(path, 'r') as f:\n"
      "            self.n = @PY_LENGTH@\n"
      "    def __len__(self):\n"
      "        return self.n\n"
      "    def __getitem__(self, i):\n"
      "        if self.pid != os.getpid():\n"
      "            self.file = h5py.File(self.path, 'r', rdcc_nbytes=@NBYTES@,\n"
      "                                  rdcc_nslots=@NSLOTS@, rdcc_w0=@W0@)\n"
      "            self.images, self.pid = self.file[@PY_DATASET@], os.getpid()\n"
      "        @PY_READ@\n"
      "    def __getstate__(self):\n"
      "        return {'path': self.path, 'n': self.n, 'pid': None}\n"
      "\n"
      "@PY_SAMPLER@"
      "images = Images(@PY_FILE@)\n"
      "loader = DataLoader(images, num_workers=@WORKERS@@PERSISTENT@,\n"
      "                    @PY_ORDER@)\n" },
    { "h5pack", "h5pack, from the images", "@H5PACK@\n" },
    { "h5rechunk", "h5rechunk, from the file as it is", "@H5RECHUNK@\n" },
};

enum { N_TEMPLATES = sizeof templates / sizeof *templates };

const char *
pack_snippet_name(size_t i, const char **title)
{
    if (i >= N_TEMPLATES)
        return NULL;
    if (title)
        *title = templates[i].title;
    return templates[i].name;
}

/* ------------------------------------------------------------------ values */

/* What is to be read: where the file is to be written anew, that one. */
static const char *
file_of(const struct pack_snippet_subject *s)
{
    const struct pack_advise_config *now = s->params->now;
    return now && !pack_advise_same_layout(s->config, now) ? pack_snippet_new_file(s->file)
                                                           : s->file;
}

typedef enum pack_status (*value_fn)(const struct pack_snippet_subject *s,
                                     struct pack_buf *buf, struct pack_error *err);

static enum pack_status
py_file(const struct pack_snippet_subject *s, struct pack_buf *buf,
        struct pack_error *err)
{
    return pack_name_literal(file_of(s), '\'', buf, err);
}

static enum pack_status
py_dataset(const struct pack_snippet_subject *s, struct pack_buf *buf,
           struct pack_error *err)
{
    return pack_name_literal(s->dataset, '\'', buf, err);
}

static enum pack_status
c_file(const struct pack_snippet_subject *s, struct pack_buf *buf, struct pack_error *err)
{
    return pack_name_literal(file_of(s), '"', buf, err);
}

static enum pack_status
c_dataset(const struct pack_snippet_subject *s, struct pack_buf *buf,
          struct pack_error *err)
{
    return pack_name_literal(s->dataset, '"', buf, err);
}

static enum pack_status
nbytes(const struct pack_snippet_subject *s, struct pack_buf *buf, struct pack_error *err)
{
    return pack_buf_printf(buf, err, "%llu",
                           (unsigned long long)s->config->cache.size_bytes);
}

static enum pack_status
nslots(const struct pack_snippet_subject *s, struct pack_buf *buf, struct pack_error *err)
{
    return pack_buf_printf(buf, err, "%llu",
                           (unsigned long long)s->config->cache.n_slots);
}

static enum pack_status
w0(const struct pack_snippet_subject *s, struct pack_buf *buf, struct pack_error *err)
{
    return pack_buf_printf(buf, err, "%g", s->config->cache.w0);
}

static enum pack_status
workers(const struct pack_snippet_subject *s, struct pack_buf *buf,
        struct pack_error *err)
{
    return pack_buf_printf(buf, err, "%llu",
                           (unsigned long long)s->config->pattern.workers);
}

/* Workers that stay keep their caches; PyTorch takes the parameter with workers only. */
static enum pack_status
persistent(const struct pack_snippet_subject *s, struct pack_buf *buf,
           struct pack_error *err)
{
    if (s->config->pattern.workers == 0)
        return PACK_OK;
    return pack_buf_printf(buf, err, ", persistent_workers=%s",
                           s->params->reading.workers_end ? "False" : "True");
}

static enum pack_status
zstd_import(const struct pack_snippet_subject *s, struct pack_buf *buf,
            struct pack_error *err)
{
    return strstr(s->config->codec, "zstd")
               ? pack_buf_printf(buf, err, ", hdf5plugin  # decodes zstd")
               : PACK_OK;
}

static const struct {
    const char *name;
    value_fn print;
} values[] = {
    { "PY_FILE", py_file },
    { "PY_DATASET", py_dataset },
    { "C_FILE", c_file },
    { "NBYTES", nbytes },
    { "NSLOTS", nslots },
    { "W0", w0 },
    { "WORKERS", workers },
    { "PY_IMPORT", pack_snippet_py_import },
    { "PY_LENGTH", pack_snippet_py_length },
    { "PY_READ", pack_snippet_py_read },
    { "PY_SAMPLER", pack_snippet_py_sampler },
    { "PY_ORDER", pack_snippet_py_order },
    { "H5PACK", pack_snippet_h5pack },
    { "H5RECHUNK", pack_snippet_h5rechunk },
    { "C_DATASET", c_dataset },
    { "ZSTD_IMPORT", zstd_import },
    { "PERSISTENT", persistent },
};

static enum pack_status
print_value(const char *name, size_t length, const struct pack_snippet_subject *s,
            struct pack_buf *buf, struct pack_error *err)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strlen(values[i].name) == length && memcmp(values[i].name, name, length) == 0)
            return values[i].print(s, buf, err);
    return pack_fail(err, PACK_ERR_ARGUMENT, "no value is called '%.*s'", (int)length,
                     name);
}

enum pack_status
pack_snippet_print(size_t i, const struct pack_snippet_subject *s, struct pack_buf *buf,
                   struct pack_error *err)
{
    const char *text = templates[i].text;
    enum pack_status status = PACK_OK;
    while (status == PACK_OK && *text) {
        size_t length = strcspn(text, "@");
        status = pack_buf_append(buf, text, length, err);
        text += length;
        if (status == PACK_OK && *text == '@') {
            length = strcspn(text + 1, "@");
            status = print_value(text + 1, length, s, buf, err);
            text += length + 2;
        }
    }
    return status;
}
