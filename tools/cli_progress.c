/* The line on a terminal that says how far a long call is, or lines of JSON for programs. */
#include "tools/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "libpack/base/clock.h"
#include "libpack/base/json.h"

char *
cli_thousands(uint64_t number, char *text)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, number);
    char *out = text;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return text;
}

char *
cli_duration(double seconds, char *text)
{
    uint64_t s = seconds < 0 ? 0 : seconds > 1e9 ? 1000000000 : (uint64_t)(seconds + 0.5);
    if (s < 3600)
        snprintf(text, 32, "%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
    else
        snprintf(text, 32, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600, s / 60 % 60,
                 s % 60);
    return text;
}

void
cli_progress_begin(struct cli_progress *progress, const char *verb, const char *unit,
                   uint64_t total)
{
    *progress = (struct cli_progress){ .verb = verb, .unit = unit, .total = total };
    bool is_json = cli_progress_form == CLI_PROGRESS_JSON;
    progress->enabled = !cli_is_quiet() && (is_json || isatty(STDERR_FILENO));
    progress->start_ns = progress->last_ns = pack_clock_ns();
}

enum { LINE_MAX_BYTES = 256 };

/* Into line[LINE_MAX_BYTES]; returns line. */
static const char *
progress_line(const struct cli_progress *progress, uint64_t done, uint64_t bytes,
              double seconds, char *line)
{
    char number[32], total[32], eta[32];
    size_t room = LINE_MAX_BYTES;
    double rate = (double)(done - progress->first_done) / seconds;
    int n = snprintf(line, room, "%s  %s", progress->verb, cli_thousands(done, number));
    if (progress->total)
        n += snprintf(line + n, room - (size_t)n, "/%s %s  %.0f%%",
                      cli_thousands(progress->total, total), progress->unit,
                      100.0 * (double)done / (double)progress->total);
    else
        n += snprintf(line + n, room - (size_t)n, " %s", progress->unit);
    n += snprintf(line + n, room - (size_t)n, "  %.0f/s", rate);
    if (bytes)
        n += snprintf(line + n, room - (size_t)n, "  %.0f MB/s",
                      (double)(bytes - progress->first_bytes) / seconds / 1e6);
    if (rate > 0 && done < progress->total)
        n += snprintf(line + n, room - (size_t)n, "  ETA %s",
                      cli_duration((double)(progress->total - done) / rate, eta));
    if (progress->note)
        snprintf(line + n, room - (size_t)n, "  %.80s", progress->note);
    return line;
}

static int
terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10 ? size.ws_col
                                                                            : 80;
}

/* The writer's indented object in one line: no text has a line's end in it. */
static void
put_on_one_line(const struct pack_buf *text)
{
    struct pack_buf line = { 0 };
    const char *end = (const char *)text->data + text->size;
    for (const char *c = (const char *)text->data, *at = c; c < end; at = ++c) {
        bool ends = *c == '\n';
        while (ends && c + 1 < end && c[1] == ' ')
            c++;
        if (pack_buf_append(&line, ends ? " " : at, 1, NULL) != PACK_OK)
            break;
    }
    if (line.size)
        ((char *)line.data)[line.size - 1] = '\n';
    fwrite(line.data, 1, line.size, stderr);
    pack_buf_done(&line);
}

static void
tell_json(struct cli_progress *progress)
{
    struct pack_buf text = { 0 };
    struct pack_json json;
    pack_json_begin(&json, &text);
    pack_json_object(&json, NULL);
    pack_json_text(&json, "progress", progress->verb);
    pack_json_text(&json, "unit", progress->unit);
    pack_json_u64(&json, "done", progress->done);
    if (progress->total)
        pack_json_u64(&json, "total", progress->total);
    else
        pack_json_null(&json, "total");
    pack_json_u64(&json, "bytes", progress->bytes);
    pack_json_text(&json, "note", progress->note);
    pack_json_close(&json);
    if (pack_json_end(&json, NULL) == PACK_OK)
        put_on_one_line(&text);
    pack_buf_done(&text);
    progress->is_due = false;
}

void
cli_progress_update(struct cli_progress *progress, uint64_t done, uint64_t bytes)
{
    if (!progress->enabled)
        return;
    if (!progress->started) {
        progress->started = true;
        progress->first_done = done;
        progress->first_bytes = bytes;
    }
    progress->done = done;
    progress->bytes = bytes;
    progress->is_due = true;
    uint64_t now = pack_clock_ns();
    if (now - progress->last_ns < 200 * UINT64_C(1000000))
        return;
    progress->last_ns = now;
    if (cli_progress_form == CLI_PROGRESS_JSON) {
        tell_json(progress);
        return;
    }
    fprintf(stderr, "\r\033[K%.*s", terminal_width() - 1,
            progress_line(progress, done, bytes, (double)(now - progress->start_ns) / 1e9,
                          (char[LINE_MAX_BYTES]){ 0 }));
    fflush(stderr);
    progress->shown = true;
}

void
cli_progress_hide(struct cli_progress *progress)
{
    if (progress->shown)
        fprintf(stderr, "\r\033[K");
    progress->shown = false;
}

void
cli_progress_end(struct cli_progress *progress)
{
    if (progress->enabled && progress->is_due && cli_progress_form == CLI_PROGRESS_JSON)
        tell_json(progress);
    cli_progress_hide(progress);
    progress->enabled = false;
}

static void
show(void *context, const struct pack_progress *now)
{
    struct cli_progress *progress = context;
    if (!progress->verb || strcmp(progress->verb, now->stage) != 0) {
        cli_progress_end(progress);
        cli_progress_begin(progress, now->stage, now->unit, now->total);
    }
    progress->total = now->total;
    progress->note = now->note;
    cli_progress_update(progress, now->done, now->bytes);
    progress->note = NULL;
}

static bool
is_signalled(void *context)
{
    (void)context;
    return cli_signal != 0;
}

struct pack_watch
cli_watch(struct cli_progress *progress)
{
    *progress = (struct cli_progress){ 0 };
    return (struct pack_watch){ progress, show, is_signalled };
}
