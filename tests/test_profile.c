/* Machine profiles: written and read again, each member on both sides of what it may be;
 * curves between their points and beyond them. */
#include <math.h>
#include <string.h>

#include <libpack/profile.h>
#include "libpack/base/buf.h"
#include "libpack/model/profile_terms.h"
#include "tests/tap.h"

static struct pack_profile profile;
static struct pack_error err;

static double *
term_of(struct pack_profile *of, size_t i)
{
    const struct pack_profile_term *term = pack_profile_term(i);
    return term ? (double *)((char *)of + term->offset) : NULL;
}

/* The profile as JSON with the first `old` in it replaced; what reading that gives. */
static enum pack_status
read_with(const char *old, const char *new, struct pack_profile *got)
{
    static char text[8192];
    struct pack_buf buf = { 0 };
    err = (struct pack_error){ 0 };
    if (pack_profile_print(&profile, &buf, &err) != PACK_OK ||
        pack_buf_append(&buf, "", 1, &err) != PACK_OK)
        return PACK_ERR_MEMORY;
    const char *all = (const char *)buf.data, *at = strstr(all, old);
    if (!at)
        note("there is no %s in %s", old, all);
    int n = at ? (int)(at - all) : 0;
    snprintf(text, sizeof text, "%.*s%s%s", n, all, new, at ? at + strlen(old) : "");
    pack_buf_done(&buf);
    return pack_profile_parse(text, strlen(text), got, &err);
}

static void
refuses(const char *old, const char *new, const char *sentence)
{
    struct pack_profile got;
    enum pack_status status = read_with(old, new, &got);
    if (!ok(status == PACK_ERR_FORMAT && strcmp(err.text, sentence) == 0, "%s", sentence))
        note("%s for %s: %d, %s", new, old, (int)status, err.text);
}

static void
takes(const char *old, const char *new, const char *sentence)
{
    struct pack_profile got;
    ok(read_with(old, new, &got) == PACK_OK, "%s %s", sentence, err.text);
}

static void
setup(void)
{
    (void)pack_profile_named("nvme", &profile, NULL);
    for (size_t i = 0; pack_profile_term(i); i++)
        *term_of(&profile, i) = 1000.5 + (double)i;
    profile.n_cpus = 4;
    profile.is_measured = true;
    profile.copy = (struct pack_profile_curve){ 2, { 10, 1000 }, { 2, 200 } };
    profile.page = (struct pack_profile_curve){ 1, { 77 }, { 5 } };
}

static void
test_terms(void)
{
    struct pack_profile got;
    bool same = read_with("\"name\"", "\"name\"", &got) == PACK_OK && got.n_cpus == 4 &&
                got.is_measured && strcmp(got.name, "nvme") == 0 && got.copy.n == 2 &&
                got.copy.bytes[1] == 1000 && got.copy.value[0] == 2 && got.page.n == 1 &&
                got.page.bytes[0] == 77 && got.page.value[0] == 5;
    size_t n = 0;
    for (; pack_profile_term(n); n++)
        same = same && *term_of(&got, n) == 1000.5 + (double)n;
    ok(same && n == 25, "what is written is read again, term by term %s", err.text);
    bool named = true;
    for (size_t i = 0; i < n; i++) {
        char key[64], without[64], sentence[128];
        snprintf(key, sizeof key, "\"%s\"", pack_profile_term(i)->key);
        snprintf(without, sizeof without, "\"not_%s\"", pack_profile_term(i)->key);
        snprintf(sentence, sizeof sentence, "profile needs \"%s\", a positive number",
                 pack_profile_term(i)->key);
        bool right = read_with(key, without, &got) == PACK_ERR_FORMAT &&
                     strcmp(err.text, sentence) == 0;
        if (!right)
            note("without %s: %s", key, err.text);
        named = named && right;
    }
    ok(named, "each term that is not there is named");
    static const char *const bad[] = { "0", "-1", "1e18", "\"5\"", "null" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuses("1000.5", bad[i], "profile needs \"call_ns\", a positive number");
    takes("1000.5", "9.9e17", "large numbers are");
    takes("1000.5", "1e-300", "and small ones");
}

static void
test_members(void)
{
    char long_name[100];
    refuses("\"nvme\"", "5", "profile needs a \"name\" of up to 63 bytes");
    refuses("\"name\"", "\"nome\"", "profile needs a \"name\" of up to 63 bytes");
    snprintf(long_name, sizeof long_name, "\"%064d\"", 0);
    refuses("\"nvme\"", long_name, "profile needs a \"name\" of up to 63 bytes");
    snprintf(long_name, sizeof long_name, "\"%063d\"", 0);
    takes("\"nvme\"", long_name, "63 bytes are");
    refuses("profile/2", "profile/1",
            "not a machine profile: \"schema\" is not \"profile/2\"");
    refuses("\"n_cpus\"", "\"cpus\"", "profile needs \"n_cpus\", 1 to 1000000");
    static const char *const cpus[] = { "0", "1.5", "1000001", "\"4\"" };
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++) {
        char text[40];
        snprintf(text, sizeof text, "\"n_cpus\": %s, \"was\"", cpus[i]);
        refuses("\"n_cpus\"", text, "profile needs \"n_cpus\", 1 to 1000000");
    }
    takes("\"n_cpus\"", "\"n_cpus\": 1000000, \"was\"", "a million processors are enough");
    takes("\"n_cpus\"", "\"n_cpus\": 1, \"was\"", "and one is");
    struct pack_profile got;
    ok(read_with("\"is_measured\"", "\"is\"", &got) == PACK_OK && !got.is_measured,
       "a profile is assumed unless it says that it was measured");
}

static void
test_curves(void)
{
    static const struct {
        const char *points, *sentence; /* NULL: taken */
    } cases[] = {
        { "5", "profile needs \"page_ns_by_bytes\" with 1 to 12 points" },
        { "[]", "profile needs \"page_ns_by_bytes\" with 1 to 12 points" },
        { "[[1,1],[2,1],[3,1],[4,1],[5,1],[6,1],[7,1],[8,1],[9,1],[10,1],[11,1],[12,1],"
          "[13,1]]",
          "profile needs \"page_ns_by_bytes\" with 1 to 12 points" },
        { "[[1,1],[2,1],[3,1],[4,1],[5,1],[6,1],[7,1],[8,1],[9,1],[10,1],[11,1],[12,1]]",
          NULL },
        { "[5]", "point 1 of \"page_ns_by_bytes\" is not a pair of positive numbers" },
        { "[[1,1],[2]]", "point 2 of \"page_ns_by_bytes\" is not a pair of positive numbers" },
        { "[[1,1],[2,3,4]]",
          "point 2 of \"page_ns_by_bytes\" is not a pair of positive numbers" },
        { "[[1,1],[2,0]]",
          "point 2 of \"page_ns_by_bytes\" is not a pair of positive numbers" },
        { "[[0,1]]", "point 1 of \"page_ns_by_bytes\" is not a pair of positive numbers" },
        { "[[1,1e18]]", "point 1 of \"page_ns_by_bytes\" is not a pair of positive numbers" },
        { "[[1,1],[3,1],[3,1]]", "the bytes of \"page_ns_by_bytes\" do not ascend" },
        { "[[1,1],[3,1],[2,1]]", "the bytes of \"page_ns_by_bytes\" do not ascend" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        snprintf(text, sizeof text, "\"page_ns_by_bytes\": %s, \"was\"", cases[i].points);
        if (cases[i].sentence)
            refuses("\"page_ns_by_bytes\"", text, cases[i].sentence);
        else
            takes("\"page_ns_by_bytes\"", text, "twelve points are");
    }
    refuses("\"copy_ns_by_bytes\"", "\"copy\"",
            "profile needs \"copy_ns_by_bytes\" with 1 to 12 points");
}

/* One that a program fills itself. */
static void
test_check(void)
{
    ok(pack_profile_check(&profile, &err) == PACK_OK, "a whole profile is taken");
    bool noticed = true;
    for (size_t i = 0; pack_profile_term(i); i++) {
        static const double bad[] = { 0, -1, 1e18, NAN, INFINITY };
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            struct pack_profile p = profile;
            *term_of(&p, i) = bad[k];
            noticed = noticed && pack_profile_check(&p, &err) == PACK_ERR_ARGUMENT &&
                      strcmp(err.param, "profile") == 0;
        }
    }
    ok(noticed, "no term may be 0, negative, endless or no number");
    struct pack_profile p = profile;
    p.n_cpus = 0;
    bool right = pack_profile_check(&p, &err) == PACK_ERR_ARGUMENT;
    p = profile;
    memset(p.name, 'x', sizeof p.name);
    ok(right && pack_profile_check(&p, &err) == PACK_ERR_ARGUMENT,
       "nor a profile without processors, nor with a name that does not end");
    static const struct pack_profile_curve curves[] = {
        { 0, { 1 }, { 1 } },          { 13, { 1 }, { 1 } },
        { 1, { 0 }, { 1 } },          { 2, { 1, 1 }, { 1, 1 } },
        { 2, { 2, 1 }, { 1, 1 } },    { 2, { 1, 2 }, { 1, 0 } },
        { 2, { 1, 1e18 }, { 1, 1 } }, { 2, { 1, 2 }, { 1, 1e18 } },
    };
    noticed = true;
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++) {
        p = profile;
        p.copy = curves[i];
        noticed = noticed && pack_profile_check(&p, &err) == PACK_ERR_ARGUMENT;
        p = profile;
        p.page = curves[i];
        noticed = noticed && pack_profile_check(&p, &err) == PACK_ERR_ARGUMENT;
    }
    ok(noticed, "nor curves of no points, too many, or that do not ascend");
    p = profile;
    p.copy = (struct pack_profile_curve){ .n = PACK_PROFILE_POINTS_MAX };
    for (int i = 0; i < PACK_PROFILE_POINTS_MAX; i++)
        p.copy.bytes[i] = p.copy.value[i] = i + 1;
    ok(pack_profile_check(&p, &err) == PACK_OK, "twelve points may be");
}

/* Straight lines on logarithmic axes: from 2 at 10 to 200 at 1000, and to 800 at 2000. */
static void
test_at(void)
{
    const struct pack_profile_curve curve = { 3, { 10, 1000, 2000 }, { 2, 200, 800 } };
    static const double points[][2] = {
        { 1, 2 },      { 10, 2 },      { 20, 4 },      { 500, 100 },
        { 1000, 200 }, { 1500, 450 },  { 2000, 800 },  { 4000, 3200 },
    };
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        ok(fabs(pack_profile_at(&curve, points[i][0]) / points[i][1] - 1) < 1e-12,
           "%g at %g", points[i][1], points[i][0]);
    const struct pack_profile_curve one = { 1, { 10 }, { 3 } };
    ok(pack_profile_at(&one, 5) == 3 && pack_profile_at(&one, 1e9) == 3,
       "a curve of one point is level");
}

int
main(void)
{
    setup();
    test_terms();
    test_members();
    test_curves();
    test_check();
    test_at();
    return done();
}
