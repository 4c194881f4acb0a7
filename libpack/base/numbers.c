#include "libpack/base/numbers.h"

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pack_counted
pack_counted(uint64_t n, const char *one, const char *many)
{
    struct pack_counted counted;
    snprintf(counted.text, sizeof counted.text, "%" PRIu64 " %s", n, n == 1 ? one : many);
    return counted;
}

struct pack_figure
pack_figure(double n)
{
    struct pack_figure figure;
    snprintf(figure.text, sizeof figure.text, n < 999.5 || n >= 1e15 ? "%.3g" : "%.0f",
             n);
    return figure;
}

struct pack_counted
pack_figured(double n, const char *one, const char *many)
{
    const struct pack_figure figure = pack_figure(n);
    struct pack_counted counted;
    snprintf(counted.text, sizeof counted.text, "%s %s", figure.text,
             strcmp(figure.text, "1") == 0 ? one : many);
    return counted;
}

struct pack_counted
pack_dimensions(int rank)
{
    return pack_counted((uint64_t)rank, "dimension", "dimensions");
}

char *
pack_short_bytes(double bytes, char text[PACK_SHORT_MAX])
{
    static const char units[] = "BKMGTPE";
    int unit = 0;
    while (bytes >= 999.5 && unit < 6) {
        bytes /= 1024;
        unit++;
    }
    if (unit == 0)
        snprintf(text, PACK_SHORT_MAX, "%.0f", bytes);
    else
        snprintf(text, PACK_SHORT_MAX, bytes < 9.95 ? "%.1f%c" : "%.0f%c", bytes,
                 units[unit]);
    return text;
}

char *
pack_short_count(double n, char text[PACK_SHORT_MAX])
{
    if (n >= 999.5)
        snprintf(text, PACK_SHORT_MAX, n < 1e15 ? "%.0f" : "%.3g", n);
    else
        snprintf(text, PACK_SHORT_MAX, n >= 1 ? "%.3g" : n >= 1e-4 ? "%.2g" : "%.0f", n);
    return text;
}

char *
pack_short_thousands(double n, char text[PACK_SHORT_MAX])
{
    static const char units[] = " KMGTP";
    int unit = 0;
    while (n >= 999.5 && unit < 5) {
        n /= 1000;
        unit++;
    }
    if (unit == 0)
        snprintf(text, PACK_SHORT_MAX, "%.0f", n);
    else
        snprintf(text, PACK_SHORT_MAX, n < 9.95 ? "%.1f%c" : "%.0f%c", n, units[unit]);
    return text;
}

char *
pack_short_rate(double rate, char text[PACK_SHORT_MAX])
{
    if (rate >= 99999.5)
        snprintf(text, PACK_SHORT_MAX, rate >= 9.9995e6 ? "%.3gM" : "%.0fK",
                 rate >= 9.9995e6 ? rate / 1e6 : rate / 1e3);
    else
        snprintf(text, PACK_SHORT_MAX,
                 rate >= 100  ? "%.0f"
                 : rate >= 10 ? "%.1f"
                              : "%.2f",
                 rate);
    return text;
}

/* For this thread alone; where there is no memory for it the caller's stays. */
static locale_t
enter_c_locale(locale_t *before)
{
    locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    *before = c ? uselocale(c) : (locale_t)0;
    return c;
}

static void
leave_c_locale(locale_t c, locale_t before)
{
    if (!c)
        return;
    uselocale(before);
    freelocale(c);
}

double
pack_double_read(const char *text, char **end)
{
    locale_t before, c = enter_c_locale(&before);
    double value = strtod(text, end);
    leave_c_locale(c, before);
    return value;
}

void
pack_double_print(double value, int digits, char *text, size_t size)
{
    locale_t before, c = enter_c_locale(&before);
    snprintf(text, size, "%.*g", digits, value);
    leave_c_locale(c, before);
}
