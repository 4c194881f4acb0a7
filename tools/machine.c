/* Environment and cache folder are the programs' business, the library knows neither. */
#include "config.h"

#include "tools/machine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpack/advise/calibrate.h"
#include "libpack/base/checksum.h"
#include "libpack/base/outfile.h"
#include "libpack/base/textfile.h"
#include "libpack/hdf5/h5_probe.h"
#include "libpack/model/profile_terms.h"

/* CALIBRATION counts the changes of what a quick calibration measures: a profile from before one
 * is not read. */
enum { PATH_BYTES = 4096, TEXT_BYTES = 1 << 20, CALIBRATION = 2 };

/* A number for the processor: its model and flags as the system describes them. */
static uint64_t
processor_number(void)
{
    char line[4096];
    uint64_t sum = 0;
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file) && line[0] != '\n')
        if (strncmp(line, "model", 5) == 0 || strncmp(line, "flags", 5) == 0 ||
            strncmp(line, "CPU ", 4) == 0 || strncmp(line, "cache", 5) == 0)
            sum = pack_checksum(line, strlen(line), sum);
    if (file)
        fclose(file);
    return sum;
}

/* The folder, made when it is missing; false where the user has none. */
static bool
cache_folder(char *path)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;
    if (cache && cache[0] == '/') {
        n = snprintf(path, PATH_BYTES, "%s", cache);
    } else if (home && home[0] == '/') {
        n = snprintf(path, PATH_BYTES, "%s/.cache", home);
    } else {
        return false;
    }
    if (n < 0 || n > PATH_BYTES - 256)
        return false;
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return false;
    strcat(path, "/h5pack");
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static bool
profile_path(char *path)
{
    char host[65] = "", version[PACK_HDF5_VERSION_TEXT_MAX];
    if (!cache_folder(path))
        return false;
    gethostname(host, sizeof host - 1);
    for (char *c = host; *c; c++)
        if (*c == '/')
            *c = '_';
    size_t at = strlen(path);
    int n = snprintf(path + at, PATH_BYTES - at, "/%s-%016" PRIx64 "-%s-%d-hdf5-%s.json",
                     host, processor_number(), PACKAGE_VERSION, CALIBRATION,
                     pack_probe_hdf5_version(version));
    return n > 0 && (size_t)n < PATH_BYTES - at;
}

/* What does not read as a profile is measured anew. */
static bool
read_kept(const char *path, struct pack_profile *profile)
{
    struct pack_buf text = { 0 };
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    bool good = pack_textfile_read(path, TEXT_BYTES, &text, NULL) == PACK_OK &&
                pack_profile_parse((const char *)text.data, text.size, profile, NULL) ==
                    PACK_OK;
    pack_buf_done(&text);
    return good;
}

static void
keep(const char *path, const struct pack_profile *profile)
{
    struct pack_buf text = { 0 };
    if (pack_profile_print(profile, &text, NULL) == PACK_OK)
        (void)pack_outfile_write(path, true, text.data, text.size, NULL);
    pack_buf_done(&text);
}

bool
machine_kept(struct pack_profile *profile)
{
    char path[PATH_BYTES];
    return profile_path(path) && read_kept(path, profile);
}

enum pack_status
machine_processor(const struct pack_watch *watch, struct pack_profile *profile,
                  struct pack_error *err)
{
    struct pack_calibrate_params params = { .is_quick = true, .watch = *watch };
    struct pack_calibration calibration;
    char path[PATH_BYTES];
    bool has_path = profile_path(path);
    if (has_path && read_kept(path, profile))
        return PACK_OK;
    enum pack_status status = pack_calibrate(&params, &calibration, err);
    if (status != PACK_OK)
        return status;
    *profile = calibration.profile;
    if (has_path)
        keep(path, profile);
    return PACK_OK;
}
