/* What calibrations have in common, and what of them goes with another storage. */
#include <math.h>

#include "libpack/advise/calibrate_parts.h"
#include "libpack/model/profile_terms.h"
#include "tests/tap.h"

static void
test_fastest(void)
{
    double seven[] = { 70, 20, 60, 10, 50, 30, 40 }, two[] = { 4, 3 }, three[] = { 3, 1, 2 };
    ok(pack_lab_fastest(seven, 7) == 20, "of seven times, the mean of the fastest three");
    ok(pack_lab_fastest(two, 2) == 3 && pack_lab_fastest(three, 3) == 1,
       "of two or three, the fastest");
    ok(pack_lab_positive(0.02) == 0.02 && pack_lab_positive(0.01) == 0.01 &&
           pack_lab_positive(-5) == 0.01,
       "what noise makes negative is next to nothing");
}

/* Every term of a profile, numbered from a value on. */
static void
number_terms(struct pack_profile *profile, double from)
{
    const struct pack_profile_term *term;
    for (size_t i = 0; (term = pack_profile_term(i)) != NULL; i++)
        *(double *)((char *)profile + term->offset) = from + (double)i;
}

static void
test_take(void)
{
    struct pack_profile storage, processor;
    const struct pack_profile_term *term;
    size_t n_storage = 0;
    bool right = true;
    (void)pack_profile_named("nfs", &storage, NULL);
    (void)pack_profile_named("nvme", &processor, NULL);
    number_terms(&storage, 1000);
    number_terms(&processor, 2000);
    storage.n_cpus = 3;
    processor.n_cpus = 5;
    processor.is_measured = true;
    processor.copy = (struct pack_profile_curve){ 1, { 10 }, { 77 } };
    pack_profile_take_processor(&storage, &processor);
    for (size_t i = 0; (term = pack_profile_term(i)) != NULL; i++) {
        double value = *(const double *)((const char *)&storage + term->offset);
        bool is_storage = strcmp(term->key, "latency_ns") == 0 || strstr(term->key, "per_s");
        n_storage += is_storage;
        right = right && value == (is_storage ? 1000 : 2000) + (double)i;
    }
    ok(right && n_storage == 4, "storage keeps its four terms, all others are the processor's");
    ok(storage.n_cpus == 3 && !storage.is_measured && strcmp(storage.name, "nfs") == 0,
       "the profile keeps its name, and what it was");
    ok(storage.copy.n == 1 && pack_profile_at(&storage.copy, 10) == 77, "curves come along");
}

int
main(void)
{
    test_fastest();
    test_take();
    return done();
}
