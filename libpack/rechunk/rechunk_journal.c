/* What a run puts down for another to go on from. Chunks are put down some at a time, when
 * their bytes were handed to the system: whether they came to the disk, their checksums
 * say. */
#include <string.h>

#include <libpack/libpack.h>
#include "libpack/rechunk/rechunk_run.h"

enum { ENTRY_BYTES_MAX = 32 << 10, STORED_BYTES_MAX = 256 << 10 };

static enum pack_status
add_set(struct pack_buf *text, const struct pack_rechunk_set *set, struct pack_error *err)
{
    char chunk[PACK_SHAPE_TEXT_MAX];
    enum pack_status status =
        pack_buf_printf(text, err, "%zu %s\n%s%s", strlen(set->path), set->path,
                        pack_shape_format(&set->chunk, chunk),
                        set->is_contiguous ? " contiguous" : "");
    for (int i = 0; i < set->pipeline.n && status == PACK_OK; i++) {
        const struct pack_filter *filter = &set->pipeline.filter[i];
        status = pack_buf_printf(text, err, " %u/%u", (unsigned)filter->id,
                                 (unsigned)filter->flags);
        for (size_t k = 0; k < filter->n_cd && status == PACK_OK; k++)
            status = pack_buf_printf(text, err, ",%u", (unsigned)filter->cd[k]);
    }
    if (set->narrow && status == PACK_OK)
        status = pack_buf_printf(text, err, " uint8 %d", (int)set->narrow->scale);
    return status == PACK_OK ? pack_buf_printf(text, err, "\n") : status;
}

/* What decides about the file's bytes, besides the source's: chunks and filters as they were
 * found, however they were asked for. */
enum pack_status
pack_rechunk_identify(struct pack_rechunk_run *run, struct pack_error *err)
{
    const struct pack_rechunk_result *result = run->result;
    const struct pack_rechunk_params *p = run->params;
    enum pack_status status =
        pack_buf_printf(&run->identity, err, "h5rechunk %s\n%llu %s %s %d %llu\n",
                        pack_version(), (unsigned long long)p->memory_bytes,
                        p->as ? p->as : "", p->layout ? p->layout : "", p->shuffle,
                        (unsigned long long)p->seed);
    for (size_t i = 0; i < result->n_sets && status == PACK_OK; i++)
        status = add_set(&run->identity, &result->sets[i], err);
    return status;
}

struct pack_journal_params
pack_rechunk_journal(const struct pack_rechunk_run *run)
{
    return (struct pack_journal_params){ .fd = pack_outfile_journal_fd(run->out),
                                         .name = pack_outfile_journal_path(run->out),
                                         .identity = run->identity.data,
                                         .identity_size = run->identity.size };
}

struct source_entry
pack_rechunk_source(const struct pack_rechunk_run *run)
{
    const struct pack_chunkmap_file *file = &run->result->sets[0].map->file;
    return (struct source_entry){ file->size_bytes, file->mtime_ns };
}

enum pack_status
pack_rechunk_journal_begin(struct pack_rechunk_run *run, struct pack_error *err)
{
    const struct pack_journal_params params = pack_rechunk_journal(run);
    const struct source_entry source = pack_rechunk_source(run);
    enum pack_status status = pack_journal_create(&params, &run->journal, err);
    if (status == PACK_OK)
        status = pack_journal_append(run->journal, ENTRY_SOURCE, &source, sizeof source, err);
    return status == PACK_OK ? pack_journal_flush(run->journal, err) : status;
}

enum pack_status
pack_rechunk_journal_flush(struct pack_rechunk_run *run, struct pack_error *err)
{
    struct pack_buf *entry = &run->entry;
    if (entry->size == 0)
        return PACK_OK;
    enum pack_status status =
        pack_journal_append(run->journal, ENTRY_CHUNKS, entry->data, entry->size, err);
    if (status == PACK_OK)
        status = pack_journal_flush(run->journal, err);
    if (status == PACK_OK)
        run->result->n_saved +=
            (entry->size - sizeof(struct chunks_head)) / sizeof(struct chunk_entry);
    entry->size = 0;
    run->entry_bytes = 0;
    return status;
}

enum pack_status
pack_rechunk_journal_chunk(struct pack_rechunk_run *run, size_t set,
                           const struct chunk_entry *chunk, struct pack_error *err)
{
    struct chunks_head head = { set };
    struct pack_buf *entry = &run->entry;
    enum pack_status status = PACK_OK;
    if (entry->size > 0 && memcmp(entry->data, &head, sizeof head) != 0)
        status = pack_rechunk_journal_flush(run, err);
    if (status == PACK_OK && entry->size == 0)
        status = pack_buf_append(entry, &head, sizeof head, err);
    if (status == PACK_OK)
        status = pack_buf_append(entry, chunk, sizeof *chunk, err);
    run->entry_bytes += chunk->stored_bytes;
    return status == PACK_OK && (entry->size >= ENTRY_BYTES_MAX ||
                                 run->entry_bytes >= STORED_BYTES_MAX)
               ? pack_rechunk_journal_flush(run, err)
               : status;
}

/* From here on the file may have its name while the journal is still there. */
enum pack_status
pack_rechunk_journal_end(struct pack_rechunk_run *run, struct pack_error *err)
{
    struct done_entry done = { run->result->output_bytes };
    enum pack_status status =
        pack_journal_append(run->journal, ENTRY_DONE, &done, sizeof done, err);
    if (status == PACK_OK)
        status = pack_journal_sync(run->journal, err);
    pack_journal_close(run->journal, NULL);
    run->journal = NULL;
    return status;
}
