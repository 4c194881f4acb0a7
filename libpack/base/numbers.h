/* Numbers for people: a count with its noun, and figures that fit a column. */
#ifndef LIBPACK_NUMBERS_H
#define LIBPACK_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

/* "1 batch", "12 batches". Used as pack_counted(...).text, which lives to the end of the
 * expression that it stands in; cut where nouns are long. */
struct pack_counted {
    char text[96];
};
struct pack_counted pack_counted(uint64_t n, const char *one, const char *many);
/* "1 dimension", "4 dimensions". */
struct pack_counted pack_dimensions(int rank);
/* Likewise "0.964", "48", "11459": three digits, or all of what is a thousand and more. */
struct pack_figure {
    char text[24];
};
struct pack_figure pack_figure(double n);
/* "0.5 loads", "1 load". */
struct pack_counted pack_figured(double n, const char *one, const char *many);

/* Each of these writes into text and returns it. */
enum { PACK_SHORT_MAX = 16 };
/* At most five columns: "147K", "1.2M", "23G", in powers of 1024. */
char *pack_short_bytes(double bytes, char text[PACK_SHORT_MAX]);
/* At most five columns: "950", "9.5K", "85K", "1.2M", in powers of 1000. */
char *pack_short_thousands(double n, char text[PACK_SHORT_MAX]);
/* At most six columns: "1234", "12.3", "0.12". */
char *pack_short_count(double n, char text[PACK_SHORT_MAX]);
/* At most seven columns: "41040", "98.7", "3.21", "1.2M". */
char *pack_short_rate(double rate, char text[PACK_SHORT_MAX]);

/* As strtod(), and as snprintf() with "%.*g": with a point whatever locale the caller has
 * set. */
double pack_double_read(const char *text, char **end);
void pack_double_print(double value, int digits, char *text, size_t size);

#endif
