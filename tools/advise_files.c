#include "tools/advise_files.h"

#include <stdlib.h>

#include "tools/cli.h"

enum pack_status
advise_files_note(const struct pack_advise_job *job, const char *profile,
                  struct advise_files *files, struct pack_error *err)
{
    files->others[0] = job->params.reading.pattern.file;
    files->others[1] = profile;
    if (!job->file)
        return PACK_OK;
    files->part.data = (struct pack_h5_dataset *)pack_advise_file_data(job->file);
    files->set.parts = &files->part;
    files->set.n_parts = 1;
    return pack_readset_note_files(&files->set, err);
}

enum pack_status
advise_files_check(const struct advise_files *files, const char *output, bool force,
                   struct pack_error *err)
{
    enum pack_status status = cli_check_output(output, force, files->others, 2, err);
    for (size_t i = 0; status == PACK_OK && i < files->set.n_files; i++)
        status = cli_check_output(output, force, &files->set.files[i].name, 1, err);
    return status;
}

bool
advise_files_done(struct advise_files *files, char *text, size_t size)
{
    bool is_changed = pack_readset_is_changed(&files->set, text, size);
    if (!is_changed)
        text[0] = '\0';
    free(files->set.files);
    *files = (struct advise_files){ .part.data = NULL };
    return is_changed;
}
