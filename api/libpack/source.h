/* Lists the images to pack, in a stable order, with their labels and further columns. */
#ifndef LIBPACK_SOURCE_H
#define LIBPACK_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <libpack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PACK_SOURCE_HEAD_BYTES = 16,   /* what is_image gets to see of a file */
    PACK_SOURCE_DEPTH_MAX = 256,   /* folders inside one another, else refused */
    PACK_SOURCE_PROBES_MAX = 1000, /* files looked into where names alone decide */
};

enum pack_list_format {
    PACK_LIST_ANY = 0,   /* recognised by its content, see pack_source_open_list() */
    PACK_LIST_LINES,     /* one path per line, no header */
    PACK_LIST_NULL       /* paths that each end with a NUL byte, as find -print0 writes */
};

/* Zeroed by the caller; what pointers lead to is used during the call only. */
struct pack_source_params {
    bool no_labels;          /* folders: take all images below, without classes */
    bool any_name;           /* class folders: content decides where the name does not */
    bool splits_are_classes; /* folders: train/ and val/ are classes like others */
    bool masks_are_classes;  /* folders: masks/ and labels/ are, too, 1_mask.png an image */
    bool label_from_folder;  /* an image's class is the folder that it is in */

    /* Names of the classes trained on, in the order of their numbers: class_names of
     * another file, or a list read as PACK_LIST_LINES. None: the source tells. */
    const char *const *classes;
    size_t n_classes;

    /* Whether a file that starts with these bytes (up to PACK_SOURCE_HEAD_BYTES) is an
     * image; pack_image_is_known() is such a function. NULL: names alone decide. */
    bool (*is_image)(const void *head, size_t size);

    enum pack_list_format list_format;
    const char *list_root; /* where paths in a list start; NULL: its own folder; for a
                              list of rejects the current one, which counts also where
                              no file is there */
    /* Columns of a list, by a name in its header, else by their number, from 1. NULL: they
     * are recognised. */
    const char *path_column;  /* "0": each line is a path */
    const char *label_column; /* "0": there is none */
    bool no_header;           /* its first line is like the others */

    struct pack_watch watch; /* "listing", in images, their number not known */
};

/* What a user may want to know about a listing. */
enum pack_source_note_kind {
    PACK_NOTE_HIDDEN = 0,    /* names with a leading dot, ignored */
    PACK_NOTE_OTHER,         /* files that are no images, ignored */
    PACK_NOTE_UNNAMED_IMAGE, /* images by content only, ignored unless any_name */
    PACK_NOTE_ROOT_IMAGE,  /* images beside class folders, ignored as ImageFolder does */
    PACK_NOTE_FOLDER,      /* folders without images in a flat folder, ignored */
    PACK_NOTE_EMPTY_CLASS, /* class folders without images; they keep their number */
    PACK_NOTE_UNREADABLE,  /* files without image extension that may not be read */
    PACK_NOTE_BROKEN_LINK, /* links without image extension to nowhere, ignored */
    PACK_NOTE_LOOP,        /* links to a folder that they are in, not followed */
    PACK_NOTE_LISTED_FOLDER, /* folders in a list of paths, as find prints them, ignored */
    PACK_NOTE_THUMBNAIL,   /* images in thumbs/ and the like beside images, ignored */
    PACK_NOTE_MASK, /* images that look like masks of others; they are taken as pictures */
    PACK_NOTE_OTHER_SOURCE, /* sources that are neither images nor folders, ignored */
    PACK_NOTE_COMMENT,      /* lines of a list that begin with "#" and a blank, ignored */
    PACK_NOTE_KINDS
};

/* Why an image that came to a source since it was listed cannot follow the others. */
enum pack_source_left_out {
    PACK_LEFT_OUT_NOT = 0,  /* it can */
    PACK_LEFT_OUT_NOT_LAST, /* listed anew, it would come before others */
    PACK_LEFT_OUT_SHUFFLED, /* anew, the whole order would be another */
    PACK_LEFT_OUT_CLASS,    /* it has a class, or a label, such as there was none */
    PACK_LEFT_OUT_COLUMN,   /* it changes the type of a list's column */
    PACK_LEFT_OUT_FOLDER    /* it is in a folder that was not given */
};

struct pack_source_additions {
    uint64_t n_added, n_left_out;
    const char *first; /* left out: its name in the new listing */
    enum pack_source_left_out why;
};

/*
 * Images listed, in the order to store them, with names, labels and what else a list says
 * of them. One is changed by pack_source_shuffle() and pack_source_limit() only; from one
 * thread then, else from any number.
 */
struct pack_source;

/*
 * Lists `n_folders` folders or image files, at least one; `source` is for
 * pack_source_close(). Needs 24 to 60 bytes per image and its name, and one open folder per
 * level of depth.
 *
 * One subfolder per class. Labels, order and names are those of torchvision's ImageFolder
 * (find_classes and make_dataset of torchvision/datasets/folder.py): classes are the
 * subfolders, links to folders included, sorted by code point and numbered from 0; the
 * images of a class are those of its folder and all folders below, folders sorted by path
 * and files by name, whose name ends in .jpg .jpeg .png .ppm .bmp .pgm .tif .tiff .webp
 * in any case. Names are relative to the source: "cat/kitten/1.jpg". Differences: names
 * with a leading dot are ignored, classes may be empty, and links that lead back up end a
 * walk.
 *
 * A flat folder: no subfolder holds an image, and the folder itself does. There are no
 * labels, and a file without image extension counts as an image when its content is one.
 * Where both the folder and its subfolders hold images the former are ignored, as
 * ImageFolder does; it is refused when they are the majority. Folders called thumbs,
 * thumbnails or @eaDir beside images do not count. With `no_labels` all images
 * below are taken, in ImageFolder's order, as if the source were one class.
 *
 * Several folders: their images follow one another in the order given; classes are the
 * sorted union. All are to be flat or all to have classes. Names have the last component
 * of the folder's argument in front ("2019/cat/1.jpg"); where two of these are equal or
 * one is missing, "." or "..", the arguments as given, less slashes at the end.
 *
 * Files: they are stored in the order given, under the names given, without labels; those
 * that neither name nor content makes images are ignored. Folders may be among them, which
 * then are to be flat, and all names have the arguments in front.
 *
 * `label_from_folder`: images and their order are those of `no_labels`, and the class of
 * each is called as the folder that it is in, the innermost one.
 *
 * `classes`: a class folder has the number of its name in there. One with images that is
 * not there is refused, and so is a flat folder.
 *
 * train/ and val/: when more than half of the class folders, or of those with images, are
 * called train, training, val, valid, validation, test or testing, in any case, perhaps
 * with two to four digits, "set", "data" or "images" behind (train2017, val_images), the
 * answer is PACK_ERR_ARGUMENT with the calls to make instead.
 *
 * Masks, a label for each pixel, are not packed as such. A source is refused when most
 * images in folders of it called masks, labels, train_masks, SegmentationClass or the like
 * belong to others by their names, and these are in images/ or the like beside, without
 * folders of other names; or the files are called masks, too (1_mask.png); or have one
 * channel or a palette where the others have colours, or few colours where they have shades
 * (of the first 16 all; images that are not too large are decoded for it). It is also
 * refused when a quarter of all, and no JPEG, lies beside its image and is called as this
 * with _mask or the like behind or in front, or with _L if its colours are few; or when all
 * images are in two folders of any names, one of which has nothing but PNG of few colours,
 * each named after, and as large as, an image in the other. What is noted instead: fewer,
 * any without such evidence, and all with `no_labels`. Nothing is looked at with
 * `masks_are_classes`, nor in folders called as one of `classes`.
 *
 * A file that has an image extension is listed whatever it is (link to nowhere, damaged,
 * unreadable), so that reading it later says why it is no image. Folders that cannot be
 * read are an error: leaving them out would lose data in silence.
 *
 * Returns PACK_OK, else PACK_ERR_ARGUMENT, PACK_ERR_NOT_FOUND (no such folder, or no
 * images in it), PACK_ERR_LIMIT (too deep), PACK_ERR_IO, PACK_ERR_MEMORY,
 * PACK_ERR_INTERRUPTED.
 */
enum pack_status pack_source_open(const char *const *folders, size_t n_folders,
                                  const struct pack_source_params *params,
                                  struct pack_source **source, struct pack_error *err);

/*
 * Takes the images from a list; `file` stays the caller's, `name` is what messages call
 * it, as in "faces.csv:12: 3 cells where the header has 4". Paths are stored as they are
 * in the list, and opened relative to params->list_root, else to the folder part of
 * `name`; absolute ones as they are.
 *
 * Labels that are all whole numbers are taken as they are (classes then have no names);
 * others are names of classes, sorted by code point and numbered from 0. An empty cell is
 * an image without label, -1. Numbers with fractions are refused: they want a column of
 * another name. With `classes`, labels that are all names in there have their numbers,
 * else they must all be numbers of classes in there. With `label_from_folder` the class is
 * the last folder in an image's path, list_root counting as in front of it.
 *
 * Forms, recognised by the first MiB; pack_source_list_form() says which it was:
 *
 *   one path per line   What find prints; folders in it are ignored.
 *   path and label      In either order, apart by tabs, commas, semicolons or blanks,
 *                       without header.
 *                       Where blanks separate, the path or the label may hold blanks, not
 *                       both.
 *   im2rec's            index, label and path apart by tabs, without header.
 *   a table             CSV, TSV, or apart by semicolons or blanks, with a header. The path is
 *                       the column path, file, filename, file_name, filepath, file_path,
 *                       image, image_id, ImageId, image_name, image_path or img_path, in any
 *                       case; the label is label, class, target or category; all others are
 *                       stored. Where the header has only names of labels the path is the
 *                       column of file names. A column without name, or "Unnamed: 0", is left
 *                       out: pandas' index, Excel's comma at the end.
 *   CelebA's            A first line that is a number alone: that number of rows, a line of
 *                       column names, then rows of a path and a value per column (where the
 *                       first column is `image_id` it is the path), all apart by blanks.
 *   rejects             A TSV of path and reason as h5pack writes it: paths are in their
 *                       stored form, the reason is left out.
 *   JSON lines          An object in each line, its members being columns of a header;
 *                       arrays and objects in it are left out. true is 1, false 0. Or an
 *                       array of cells in each, or a text in quotes, its path.
 *   JSON arrays         Of such objects (pandas' orient="records"), of arrays of cells as
 *                       ["a.jpg", 3], or of paths; StyleGAN's dataset.json, which has one as
 *                       "labels"; an object whose keys are paths, its values labels. They
 *                       are read in passing, whatever their size. Several values where the
 *                       label is to be are refused. Objects may also follow one another
 *                       without an array, each on several lines.
 *   COCO's              {"images", "annotations", "categories"}: file_name is the path, the
 *                       first category of an image its label; classes are the categories
 *                       in the order of their ids. It is read in passing, whatever its size.
 *
 * A list that can be read in two ways, "cat a.jpg" for one, is read in the way in which files
 * are there; where that does not decide, PACK_ERR_ARGUMENT names the parameter that does:
 * path_column, label_column.
 *
 * CSV follows RFC 4180: a cell may be in double quotes, a quote inside being doubled, and
 * then hold commas and newlines; quotes inside an unquoted cell stand for themselves. In
 * TSV a cell may be in such quotes, too, and hold tabs and newlines (64 KiB behind the
 * first); where they are not in their places they stand for themselves, as they do in a list
 * of rejects. Blanks around cells of tables go, but for those of quoted ones, and of
 * paths whose files are called so. Lines end in LF, CRLF or CR, the last one may do without;
 * empty lines and a UTF-8 byte order mark are skipped, and of lists whose columns blanks
 * separate, or that have one, lines that begin with "#" and a blank, unless they end as an
 * image's name does. Every row has as many cells as the
 * header, empty ones at the end aside.
 *
 * Paths with backslashes, of which none is there as it stands but one with slashes, get
 * slashes. Paths in front of which a scheme stands ("https://") are refused unless there is
 * a file of that name.
 *
 * Types. A column is int64 when all its cells are integers of that range; else float64
 * when all are numbers, "nan" or "inf", an empty cell giving NaN; else, and when all are
 * empty, strings. What would not come back as it was written stays a string: numbers with
 * superfluous leading zeros or beyond float64, and integers from 2^53 on where the column
 * is not all int64. `label` is typed in the same way.
 *
 * Refused, with line and column: cells too many or too few, a NUL byte or UTF-16, an
 * unfinished quote or text behind a closing one, an empty path, rows above 1 MiB, more
 * than 4096 columns, values in a column without name, a column with the name of another or
 * of a dataset that h5pack itself writes, or with '/' or invalid UTF-8 in its name, a
 * CelebA list with another number of rows than it says; annotations that do not name one
 * category each; and files of other kinds (HDF5, images, archives), by their first bytes.
 *
 * PACK_ERR_FORMAT for what is no such list, PACK_ERR_LIMIT, PACK_ERR_NOT_FOUND for one
 * without rows, PACK_ERR_IO, PACK_ERR_MEMORY, and PACK_ERR_ARGUMENT.
 */
enum pack_status pack_source_open_list(FILE *file, const char *name,
                                       const struct pack_source_params *params,
                                       struct pack_source **source,
                                       struct pack_error *err);
void pack_source_close(struct pack_source *source);

/* What a list was recognised as, "takes column 1 as path, column 2 as label; no header";
 * NULL for folders. Valid until the source is closed. */
const char *pack_source_list_form(const struct pack_source *source);

/* Images in the source, which count from 0 below. */
uint64_t pack_source_count(const struct pack_source *source);
/* The name to store for image `i`, as it is on disk: any bytes but NUL. Valid until the
 * source is closed; NULL behind the last. */
const char *pack_source_name(const struct pack_source *source, uint64_t i);
/* Its label; -1: none. */
int64_t pack_source_label(const struct pack_source *source, uint64_t i);
bool pack_source_has_labels(const struct pack_source *source);
/* The names of the *n classes by their numbers, as they are on disk, valid until the
 * source is closed. NULL, with *n 0, where labels are plain integers. */
const char *const *pack_source_classes(const struct pack_source *source, size_t *n);

/*
 * Puts the images into a random order, the same everywhere for a seed (Fisher-Yates from
 * the end); pack_convert() stores which it was. Once per source, before
 * pack_source_limit(), so that a limit leaves a random sample. PACK_ERR_MEMORY: 8 bytes an
 * image.
 */
enum pack_status pack_source_shuffle(struct pack_source *source, uint64_t seed,
                                     struct pack_error *err);

/* Keeps the first `n` images, all when there are fewer; classes and columns stay as they
 * are. */
void pack_source_limit(struct pack_source *source, uint64_t n);

/*
 * The path of image `i` as a user would write it, cut to `size` bytes with its NUL.
 * Returns its full length, as snprintf() does; 0, and an empty text, where there is no
 * such image.
 */
size_t pack_source_path(const struct pack_source *source, uint64_t i, char *text,
                        size_t size);

/*
 * Opens image `i` for reading; waits only for a file on which another program has a lease,
 * a minute at most (a named pipe is refused, as is all that is no regular file, with
 * PACK_ERR_FORMAT). Paths longer than PATH_MAX are followed piece
 * by piece. The sentence leaves the name to the caller, see pack_source_path(); errno is
 * what the system said, 0 when it did not refuse. The caller closes *fd. Safe from
 * several threads at a time.
 */
enum pack_status pack_source_open_file(const struct pack_source *source, uint64_t i,
                                       int *fd, struct pack_error *err);

enum { PACK_SOURCE_NOTE_TEXT_MAX = 512 };
/* "3 hidden files and folders ignored, first 'cat/.DS_Store'". Returns text, NULL when
 * there is nothing to say. */
char *pack_source_note_text(const struct pack_source *source,
                            enum pack_source_note_kind kind,
                            char text[PACK_SOURCE_NOTE_TEXT_MAX]);

/* Whether a kind hints at a mistake, rather than at files that anyone would ignore. */
bool pack_source_note_warns(enum pack_source_note_kind kind);

#ifdef __cplusplus
}
#endif
#endif
