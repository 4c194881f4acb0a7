/* TAP for tests in C: ok() counts a sentence, done() prints the plan and gives the exit
 * status. */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_n, tap_failed;

/* One test: prints "ok N - sentence" or "not ok N - sentence". Returns `passed`. */
__attribute__((format(printf, 2, 3), unused)) static bool
ok(bool passed, const char *format, ...)
{
    va_list args;
    printf("%sok %d - ", passed ? "" : "not ", ++tap_n);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
    tap_failed += !passed;
    return passed;
}

/* A line of explanation, for people. */
__attribute__((format(printf, 1, 2), unused)) static void
note(const char *format, ...)
{
    va_list args;
    fputs("# ", stdout);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
}

/* One test that could not run, and why. */
__attribute__((format(printf, 1, 2), unused)) static void
skip(const char *format, ...)
{
    va_list args;
    printf("ok %d # SKIP ", ++tap_n);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
}

/* Two texts are equal; says both when not. */
__attribute__((unused)) static bool
is_text(const char *got, const char *want, const char *what)
{
    bool same = got && want && strcmp(got, want) == 0;
    ok(same, "%s", what);
    if (!same)
        note("  got  '%s'\n#   want '%s'", got ? got : "(null)", want ? want : "(null)");
    return same;
}

/* Two whole numbers are equal; says both when not. */
__attribute__((unused)) static bool
is_number(long long got, long long want, const char *what)
{
    ok(got == want, "%s", what);
    if (got != want)
        note("  got %lld, want %lld", got, want);
    return got == want;
}

/* The plan; returns the program's exit status. */
__attribute__((unused)) static int
done(void)
{
    printf("1..%d\n", tap_n);
    return tap_failed != 0;
}

/*
 * The folder of shared test data beside the checkout ("../shared" seen from the source
 * folder, or $H5PACK_SHARED), with `path` below it; NULL when it is not there, so that a
 * test can skip.
 */
__attribute__((unused)) static const char *
shared_path(const char *path)
{
    static char text[4096];
    const char *dir = getenv("H5PACK_SHARED"), *top = getenv("top_srcdir");
    if (dir)
        snprintf(text, sizeof text, "%s/%s", dir, path);
    else
        snprintf(text, sizeof text, "%s/../shared/%s", top ? top : ".", path);
    FILE *f = fopen(text, "r");
    if (!f)
        return NULL;
    fclose(f);
    return text;
}

#endif
