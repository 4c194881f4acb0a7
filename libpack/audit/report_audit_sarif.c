/*
 * SARIF 2.1.0 (OASIS, "Static Analysis Results Interchange Format"), which systems that run
 * checks show beside what was checked: all rules, and a result for each finding. What it leaves
 * open and GitHub wants, it has too: help, tags and a severity of rules, a line of each result,
 * and a fingerprint by which a result is known again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libpack/audit/report_audit.h"
#include "libpack/base/checksum.h"
#include "libpack/base/json.h"
#include "libpack/base/name.h"
#include "libpack/findings/rules.h"

static const char *
level_name(enum pack_finding_severity severity)
{
    static const char *const names[] = {
        [PACK_FINDING_NOTE] = "note",
        [PACK_FINDING_COST] = "warning",
        [PACK_FINDING_HAZARD] = "error",
    };
    return names[severity];
}

/* As GitHub calls it where it is no matter of security. */
static const char *
problem_name(enum pack_finding_severity severity)
{
    static const char *const names[] = {
        [PACK_FINDING_NOTE] = "recommendation",
        [PACK_FINDING_COST] = "warning",
        [PACK_FINDING_HAZARD] = "error",
    };
    return names[severity];
}

/* What a rule is about, by the hundreds of its code. */
static const char *
tag_of(int code)
{
    static const char *const tags[] = { "layout", "cache", "reading", "storage", "file", "contents" };
    return tags[code / 100 - 1];
}

/* {"text": ...}, in which all messages are wrapped. */
static void
put_message(struct pack_json *json, const char *key, const char *text)
{
    pack_json_object(json, key);
    pack_json_text(json, "text", text);
    pack_json_close(json);
}

static void
put_help(struct pack_json *json, const struct pack_rule *rule, const char *code)
{
    char text[2048];
    int n = snprintf(text, sizeof text, "%s", rule->why);
    for (int i = 0; i < PACK_RULE_THRESHOLDS_MAX && rule->threshold[i].name; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "\n\nThreshold %s.%s=%.12g (%s).", code,
                      rule->threshold[i].name, rule->threshold[i].value, rule->threshold[i].what);
    put_message(json, "help", text);
}

static void
put_rules(struct pack_json *json)
{
    const struct pack_rule *rule;
    char code[16];
    pack_json_array(json, "rules");
    for (size_t i = 0; (rule = pack_rule_at(i)) != NULL; i++) {
        snprintf(code, sizeof code, "H5A%03d", rule->code);
        pack_json_object(json, NULL);
        pack_json_text(json, "id", code);
        pack_json_text(json, "name", rule->id);
        put_message(json, "shortDescription", rule->title);
        put_message(json, "fullDescription", rule->why);
        pack_json_object(json, "defaultConfiguration");
        pack_json_text(json, "level", level_name(rule->severity));
        pack_json_close(json);
        put_help(json, rule, code);
        pack_json_object(json, "properties");
        pack_json_array(json, "tags");
        pack_json_text(json, NULL, "hdf5");
        pack_json_text(json, NULL, tag_of(rule->code));
        pack_json_close(json);
        pack_json_text(json, "precision", "high");
        pack_json_text(json, "problem.severity", problem_name(rule->severity));
        pack_json_close(json);
        pack_json_close(json);
    }
    pack_json_close(json);
}

/* A path from the report's folder, where it lies there; "./" says nothing. */
static const char *
shorten(const char *path, const char *folder)
{
    size_t n = folder ? strlen(folder) : 0;
    while (n > 0 && folder[n - 1] == '/')
        n--;
    if (folder && *path == '/' && strncmp(path, folder, n) == 0 && path[n] == '/')
        path += n + strspn(path + n, "/");
    while (path[0] == '.' && path[1] == '/')
        path += 1 + strspn(path + 1, "/");
    return path;
}

static enum pack_status
put_uri(const char *path, struct pack_buf *uri, struct pack_error *err)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789-._~/";
    enum pack_status status = pack_buf_printf(uri, err, "%s", *path == '/' ? "file:///" : "");
    for (path += strspn(path, "/"); *path && status == PACK_OK; path++)
        status = strchr(plain, *path)
                     ? pack_buf_append(uri, path, 1, err)
                     : pack_buf_printf(uri, err, "%%%02X", (unsigned char)*path);
    return status == PACK_OK ? pack_buf_append(uri, "", 1, err) : status;
}

/* Line 1: viewers want one, and there are no lines. */
static void
put_place(struct pack_json *json, const char *path)
{
    struct pack_buf uri = { 0 };
    if (json->status == PACK_OK)
        json->status = put_uri(path, &uri, &json->err);
    pack_json_object(json, "physicalLocation");
    pack_json_object(json, "artifactLocation");
    pack_json_text(json, "uri", (const char *)uri.data);
    if (*path != '/')
        pack_json_text(json, "uriBaseId", "%SRCROOT%");
    pack_json_close(json);
    pack_json_object(json, "region");
    pack_json_u64(json, "startLine", 1);
    pack_json_close(json);
    pack_json_close(json);
    pack_buf_done(&uri);
}

static void
put_location(struct pack_json *json, const char *path, const char *dataset)
{
    struct pack_buf name = { 0 };
    if (json->status == PACK_OK && dataset)
        json->status = pack_buf_printf(&name, &json->err, "/%s", dataset);
    if (json->status == PACK_OK && dataset)
        json->status = pack_buf_append(&name, "", 1, &json->err);
    pack_json_array(json, "locations");
    pack_json_object(json, NULL);
    put_place(json, path);
    if (dataset) {
        pack_json_array(json, "logicalLocations");
        pack_json_object(json, NULL);
        pack_json_text(json, "fullyQualifiedName", (const char *)name.data);
        pack_json_text(json, "kind", "dataset");
        pack_json_close(json);
        pack_json_close(json);
    }
    pack_json_close(json);
    pack_json_close(json);
    pack_buf_done(&name);
}

/* Which rule, of which dataset of which file: not its numbers, which change with the data. */
static void
put_fingerprint(struct pack_json *json, int code, const char *path, const char *dataset)
{
    char text[32];
    uint64_t sum = pack_checksum(path, strlen(path) + 1, (uint64_t)code);
    if (dataset)
        sum = pack_checksum(dataset, strlen(dataset) + 1, sum);
    snprintf(text, sizeof text, "%016" PRIx64 ":1", sum);
    pack_json_object(json, "partialFingerprints");
    pack_json_text(json, "primaryLocationLineHash", text); /* as GitHub calls its own */
    pack_json_close(json);
}

static size_t
index_of(int code)
{
    size_t i = 0;
    while (pack_rule_at(i)->code != code)
        i++;
    return i;
}

static void
put_result(struct pack_json *json, const struct pack_audit_report *report,
           const struct pack_audit_finding *a)
{
    const struct pack_finding *f = &a->finding;
    char code[16], text[PACK_FINDING_TEXT_MAX + PACK_FINDING_REMEDY_MAX +
                        PACK_AUDIT_COMMAND_MAX + PACK_AUDIT_PRICE_MAX + 64];
    char growth[PACK_AUDIT_PRICE_MAX];
    const char *then = pack_report_audit_growth(a, growth);
    snprintf(code, sizeof code, "H5A%03d", f->code);
    snprintf(text, sizeof text, "%s%s%s%s%s%s%s", f->evidence, f->remedy[0] ? "; " : "",
             f->remedy, a->command[0] ? "; this mends it: " : "", a->command,
             then ? "; " : "", then ? then : "");
    pack_json_object(json, NULL);
    pack_json_text(json, "ruleId", code);
    pack_json_u64(json, "ruleIndex", index_of(f->code));
    pack_json_text(json, "level", level_name(f->severity));
    put_message(json, "message", text);
    const char *path = shorten(report->result->files[a->file].path, report->folder);
    put_location(json, path, a->dataset);
    put_fingerprint(json, f->code, path, a->dataset);
    pack_json_object(json, "properties");
    pack_json_double(json, "value", f->value);
    pack_json_double(json, "price_bytes", f->price_bytes);
    pack_json_double(json, "price_s_per_epoch", f->price_s);
    pack_json_text(json, "command", a->command[0] ? a->command : NULL);
    pack_json_close(json);
    pack_json_close(json);
}

static void
put_notification(struct pack_json *json, const char *level, const char *text)
{
    pack_json_object(json, NULL);
    pack_json_text(json, "level", level);
    put_message(json, "message", text);
    pack_json_close(json);
}

/* Samples that could not be read. */
static void
put_unread(struct pack_json *json, const struct pack_audit_file *file)
{
    char text[2 * PACK_NAME_TEXT_MAX + PACK_SURVEY_TEXT_MAX + 64], one[PACK_NAME_TEXT_MAX],
        other[PACK_NAME_TEXT_MAX];
    for (size_t i = 0; file->contents && i < file->survey.n_datasets; i++) {
        const char *path = file->survey.datasets[i].facts.path;
        if (!file->contents[i].why_not[0])
            continue;
        snprintf(text, sizeof text, "'%s': samples of '/%s' could not be read: %s",
                 pack_name_text(file->path, one),
                 pack_name_text(path + strspn(path, "/"), other), file->contents[i].why_not);
        put_notification(json, "error", text);
    }
    if (file->contents_why_not[0])
        put_notification(json, "error", file->contents_why_not);
}

static void
put_left_out(struct pack_json *json, const struct pack_audit_file *file)
{
    char text[PACK_NAME_TEXT_MAX + PACK_AUDIT_LEFT_OUT_MAX + 8], name[PACK_NAME_TEXT_MAX],
        left_out[PACK_AUDIT_LEFT_OUT_MAX];
    if (!pack_report_audit_left_out(file, left_out))
        return;
    snprintf(text, sizeof text, "'%s': %s", pack_name_text(file->path, name), left_out);
    put_notification(json, "warning", text);
}

/* What could not be looked at. */
static void
put_invocation(struct pack_json *json, const struct pack_audit_report *report)
{
    const struct pack_audit_result *r = report->result;
    pack_json_array(json, "invocations");
    pack_json_object(json, NULL);
    pack_json_bool(json, "executionSuccessful",
                   r->n_failed == 0 && report->n_unlisted == 0 && pack_audit_is_read(r) &&
                       !report->is_stopped);
    pack_json_array(json, "toolExecutionNotifications");
    if (report->is_stopped)
        put_notification(json, "error", "stopped before it came to its end");
    for (size_t i = 0; i < report->n_unlisted; i++)
        put_notification(json, "error", report->unlisted[i]);
    for (size_t i = 0; i < r->n_files; i++) {
        if (r->files[i].status != PACK_OK)
            put_notification(json, "error", r->files[i].failure.text);
        put_unread(json, &r->files[i]);
        put_left_out(json, &r->files[i]);
    }
    pack_json_close(json);
    pack_json_close(json);
    pack_json_close(json);
}

enum pack_status
pack_report_audit_sarif(const struct pack_audit_report *report, struct pack_buf *buf,
                        struct pack_error *err)
{
    const struct pack_audit_result *r = report->result;
    struct pack_json json;
    pack_json_begin(&json, buf);
    pack_json_object(&json, NULL);
    pack_json_text(&json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    pack_json_text(&json, "version", "2.1.0");
    pack_json_array(&json, "runs");
    pack_json_object(&json, NULL);
    pack_json_object(&json, "tool");
    pack_json_object(&json, "driver");
    pack_json_text(&json, "name", report->program);
    pack_json_text(&json, "version", report->version);
    pack_json_text(&json, "semanticVersion", report->version);
    put_rules(&json);
    pack_json_close(&json);
    pack_json_close(&json);
    put_invocation(&json, report);
    pack_json_array(&json, "results");
    for (size_t i = 0; i < r->n_findings; i++)
        put_result(&json, report, &r->findings[i]);
    for (int i = 0; i < 4; i++) /* results, the run, runs, all */
        pack_json_close(&json);
    return pack_json_end(&json, err);
}
