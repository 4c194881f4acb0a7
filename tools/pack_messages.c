#include "tools/pack_messages.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "libpack/base/name.h"
#include "libpack/base/numbers.h"
#include "libpack/source/records.h"
#include "tools/pack_lists.h"

enum { ERROR_LINES_MAX = 20 };

/* The part of a folder's path in front of its name, without slashes at either end; false
 * when there is none. */
static bool
parent_of(const char *folder, char *parent, size_t size)
{
    size_t n = strlen(folder);
    while (n > 0 && folder[n - 1] == '/')
        n--;
    while (n > 0 && folder[n - 1] != '/')
        n--;
    while (n > 1 && folder[n - 1] == '/')
        n--;
    snprintf(parent, size, "%.*s", (int)n, folder);
    return n > 0 && n < size;
}

/* Several flat folders ("photos/" and a star) are meant as classes more often than not. */
static void
say_unlabelled(const struct pack_args *args, const struct pack_source *source)
{
    char parent[PATH_MAX], other[PATH_MAX], text[PACK_NAME_TEXT_MAX];
    if (source->n_roots < 2 || args->no_labels || pack_source_has_labels(source))
        return;
    bool have_one = parent_of(args->folders[0], parent, sizeof parent);
    for (size_t i = 1; have_one && i < args->n_folders; i++)
        have_one = parent_of(args->folders[i], other, sizeof other) &&
                   strcmp(parent, other) == 0;
    if (have_one)
        cli_say("the images have no labels: '%s' as SOURCE, or --label-from-folder, "
                "makes each folder a class",
                pack_name_text(parent, text));
    else
        cli_say("the images have no labels: --label-from-folder makes each folder a "
                "class");
}

void
pack_messages_notes(const struct pack_args *args, const struct pack_source *source)
{
    char text[PACK_SOURCE_NOTE_TEXT_MAX], name[PACK_NAME_TEXT_MAX];
    const char *form = pack_source_list_form(source);
    if (form)
        cli_say("%s: %s", pack_name_text(args->list, name), form);
    say_unlabelled(args, source);
    for (int kind = 0; kind < PACK_NOTE_KINDS; kind++)
        if (pack_source_note_warns((enum pack_source_note_kind)kind) &&
            pack_source_note_text(source, (enum pack_source_note_kind)kind, text))
            cli_say("%s", text);
    for (int kind = 1; source && kind < PACK_IMAGE_KINDS; kind++)
        if (source->unread[kind].count) {
            const struct pack_source_note *note = &source->unread[kind];
            cli_say("%" PRIu64 " %s image%s passed over, which %s not read, first '%s'",
                    note->count, pack_image_kind_name(kind), note->count == 1 ? "" : "s",
                    note->count == 1 ? "is" : "are", pack_name_text(note->first, name));
        }
}

/* Images where others are taken, which nobody could tell from the exit status else. */
static bool
has_unread(const struct pack_convert_result *result)
{
    for (int i = 0; i < PACK_CONVERT_UNREAD_MAX; i++)
        if (result->unread[i].n_ignored)
            return true;
    return false;
}

static void
say_reject(struct pack_talk *talk, const struct pack_reject *reject)
{
    char text[PACK_NAME_TEXT_MAX];
    if (++talk->n_said <= ERROR_LINES_MAX + 1)
        cli_progress_hide(&talk->progress);
    if (talk->n_said <= ERROR_LINES_MAX)
        cli_say("'%s': %s", pack_name_text(reject->path, text), reject->reason);
    else if (talk->n_said == ERROR_LINES_MAX + 1)
        cli_say("further rejected images are %s", talk->rejects
                                                      ? "in the list of rejects only"
                                                      : "not shown: --rejects FILE.tsv");
}

bool
pack_messages_reject(void *context, const struct pack_reject *reject)
{
    struct pack_talk *talk = context;
    talk->n_rejects++;
    if (!reject->ends_run)
        say_reject(talk, reject);
    return !talk->rejects ||
           pack_lists_add_reject(talk->rejects, reject->path, reject->reason);
}

static void
complain(const struct pack_convert_result *result, enum pack_status status,
         const struct pack_error *err)
{
    char text[CLI_ERROR_MAX];
    cli_error_text(err, text);
    if (result->resumable && status == PACK_ERR_MISMATCH)
        cli_complain("%s (--resume packs again what differs)", text);
    else if (result->resumable)
        cli_complain("%s (%" PRIu64 " of %" PRIu64
                     " images are done; --resume goes on with them)",
                     text, result->n_saved, result->n_listed);
    else
        cli_complain("%s", text);
}

/* Where --scale16 auto did not do what is thought of it. */
static void
say_range(const struct pack_convert_result *r)
{
    struct pack_counted images = pack_counted(r->n_cut, "image", "images");
    if (r->n_cut && r->scales_16)
        cli_say("%s came when the range of the 16-bit samples had been found, %u:%u, and "
                "%s cut to it: --force packs all anew",
                images.text, r->low_16, r->high_16, r->n_cut == 1 ? "was" : "were");
    else if (r->n_cut)
        cli_say("%s of 16 bits came when there had been none to take a range from, and %s "
                "the high byte: --force packs all anew",
                images.text, r->n_cut == 1 ? "keeps" : "keep");
    else if (!r->scales_16)
        cli_say("no image has 16-bit samples: --scale16 auto scaled nothing");
    else if (r->low_16 == r->high_16)
        cli_say("all 16-bit samples are %u: by --scale16 auto they became 0", r->low_16);
}

/* Of 16-bit samples, what cannot be seen from the exit status. */
static void
say_scaling(const struct pack_convert_report *report)
{
    const struct pack_convert_result *r = report->result;
    if (report->params->options.finds_range_16 && report->job == PACK_JOB_PACK)
        say_range(r);
    else if (r->n_dim)
        cli_say("%s of 16 bits use%s 12 of them at most and %s nearly %s: --scale16 auto "
                "scales their range to 0 to 255, --scale16 0:4095 that of 12 bits",
                pack_counted(r->n_dim, "image", "images").text, r->n_dim == 1 ? "s" : "",
                r->n_dim == 1 ? "is" : "are",
                r->n_pale == 0         ? "black"
                : r->n_pale < r->n_dim ? "black, or white where 0 is"
                                       : "white");
}

/* Of chunks that are mostly empty, which HDF5 stores whole. */
static void
say_chunks(const struct pack_convert_report *report)
{
    enum { MUCH = 1 << 20 };
    const struct pack_convert_result *r = report->result;
    char pixels[PACK_BYTES_TEXT_MAX], file[PACK_BYTES_TEXT_MAX];
    uint64_t n = r->chunk.extent[0];
    if (report->job != PACK_JOB_PACK || n <= r->n_packed ||
        r->stored_bytes < 2 * r->pixel_bytes || r->stored_bytes < MUCH)
        return;
    pack_bytes_format(r->pixel_bytes, pixels);
    pack_bytes_format(r->stored_bytes, file);
    cli_say("a chunk has room for %" PRIu64 " images and is stored whole: %s for %s of pixels",
            n, file, pixels);
}

int
pack_messages_end(const struct pack_args *args, const struct pack_convert_report *report,
                  enum pack_status status, const struct pack_error *err)
{
    const struct pack_convert_result *result = report->result;
    struct pack_buf text = { 0 };
    struct pack_error own;
    if (status != PACK_OK)
        complain(result, status, err);
    if (status != PACK_OK && status != PACK_ERR_MISMATCH)
        return status == PACK_ERR_INTERRUPTED && cli_signal ? 128 + cli_signal
                                                            : CLI_FAILED;
    say_scaling(report);
    say_chunks(report);
    enum pack_status reported = args->json ? pack_report_convert_json(report, &text, &own)
                                           : pack_report_convert_text(report, &text, &own);
    if (reported != PACK_OK)
        complain(result, reported, &own);
    else if (args->json || !args->quiet)
        cli_print(&text);
    pack_buf_done(&text);
    return reported != PACK_OK ? CLI_FAILED
           : report->differs || result->n_rejected || result->additions.n_left_out ||
                   has_unread(result)
               ? CLI_LOOK
               : CLI_DONE;
}
