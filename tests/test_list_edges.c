/* The edges of what lists may be: each form at its limits, each refusal in its words. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "libpack/source/list.h"
#include "libpack/source/list_form_parts.h"
#include "libpack/source/list_survey.h"
#include "libpack/source/mask_names.h"
#include "tests/tap.h"

#define BYTES(text) text, sizeof text - 1

struct sample {
    const char *bytes;
    size_t size;
    const char *there; /* files, "|" around each; folders end in a slash */
    struct pack_list_params params;
    const char *want; /* what it is taken as, the paths, "=" and label; or why not */
};

static const struct sample samples[] = {
    /* other files */
    { BYTES("\x89HDF\r\n\x1a\n"), "", { 0 }, "'l' is an HDF5 file, not a list of images" },
    { BYTES("\xff\xd8\xff\xe0"), "", { 0 }, "'l' is an image (JPEG), not a list of images (list)" },
    { BYTES("\x89PNG\r\n\x1a\n"), "", { 0 }, "'l' is an image (PNG), not a list of images (list)" },
    { BYTES("GIF87a"), "", { 0 }, "'l' is an image (GIF), not a list of images (list)" },
    { BYTES("GIF89a"), "", { 0 }, "'l' is an image (GIF), not a list of images (list)" },
    { BYTES("RIFFxxxxWEBPVP8"), "", { 0 }, "'l' is an image (WebP), not a list of images (list)" },
    { BYTES("II*\0"), "", { 0 }, "'l' is an image (TIFF), not a list of images (list)" },
    { BYTES("MM\0*"), "", { 0 }, "'l' is an image (TIFF), not a list of images (list)" },
    { BYTES("BMxxxx\0\0\0\0"), "", { 0 }, "'l' is an image (BMP), not a list of images (list)" },
    { BYTES("ABxxxx\0\0\0\0"), "", { 0 }, "l:1: a NUL byte (the list is to be UTF-8 text)" },
    { BYTES("\0\0\0\0\0\0\0\0\n"), "", { 0 }, "l:1: a NUL byte (the list is to be UTF-8 text)" },
    { BYTES("\x1f\x8b\x08"), "", { 0 }, "'l' is compressed (gzip), not a list of images: unpack it first" },
    { BYTES("\x28\xb5\x2f\xfd"), "", { 0 }, "'l' is compressed (zstd), not a list of images: unpack it first" },
    { BYTES("BZh"), "", { 0 }, "'l' is compressed (bzip2), not a list of images: unpack it first" },
    { BYTES("\xfd" "7zXZ\0"), "", { 0 }, "'l' is compressed (xz), not a list of images: unpack it first" },
    { BYTES("PK\3\4"), "", { 0 },
      "'l' is a ZIP archive or an Excel workbook, not a list of images: unpack it, or save it as CSV" },
    { BYTES("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "", { 0 },
      "'l' is an Excel workbook, not a list of images: save it as CSV" },
    { BYTES("PAR1"), "", { 0 },
      "'l' is a Parquet file, not a list of images: pandas' read_parquet().to_csv() makes one" },
    { BYTES("\x80\4\x95"), "", { 0 },
      "'l' is a Python pickle, not a list of images: pandas' read_pickle().to_csv() makes one" },
    { BYTES("\x80\5\x95"), "", { 0 },
      "'l' is a Python pickle, not a list of images: pandas' read_pickle().to_csv() makes one" },
    { BYTES("\x93NUMPY"), "", { 0 },
      "'l' is a NumPy array, not a list of images: its paths are to be lines of a text" },
    { BYTES("MATLAB 5.0"), "", { 0 },
      "'l' is a MATLAB file, not a list of images: writetable() makes a CSV of a table" },
    { BYTES("SQLite format 3\0"), "", { 0 },
      "'l' is an SQLite database, not a list of images: export a table of it as CSV" },
    { BYTES("<?xml"), "", { 0 }, "'l' is an XML file, not a list of images" },

    /* tables */
    { BYTES("sep=\t\npath\tlabel\na.jpg\t1\n"), "", { 0 },
      "takes column 1, 'path', as path, column 2, 'label', as label; header: a.jpg=1" },
    { BYTES("path,label\na.jpg,1,,\n"), "", { 0 },
      "takes column 1, 'path', as path, column 2, 'label', as label; header: a.jpg=1" },
    { BYTES("path,label\na.jpg,1,,x\n"), "", { 0 },
      "l:2: 4 cells where the header has 2" },
    { BYTES("path,source_index\na.jpg,1\n"), "", { 0 },
      "l:1: column 2 has the name of a dataset that h5pack writes, 'source_index'; rename it" },
    { BYTES("path,source_indexes\na.jpg,1\n"), "", { 0 },
      "takes column 1, 'path', as path, 1 more as dataset; header: a.jpg source_indexes=1" },
    { BYTES("path,x,\na.jpg\n"), "", { 0 }, "l:2: 1 cell where the header has 3" },
    { BYTES("path,,\na.jpg\nb.jpg,,\n"), "", { 0 },
      "takes column 1, 'path', as path, leaves out 2; header: a.jpg b.jpg" },
    { BYTES(",path\n5,a.jpg\n"), "", { 0 },
      "takes column 2, 'path', as path, leaves out 1; header: a.jpg" },
    { BYTES("path,\"Unnamed: \",Unnamed: 1x\na.jpg,1,2\n"), "", { 0 },
      "takes column 1, 'path', as path, 2 more as datasets; header: a.jpg Unnamed: =1 "
      "Unnamed: 1x=2" },
    { BYTES("path,Unnamed: 7\na.jpg,\n"), "", { 0 },
      "takes column 1, 'path', as path, leaves out 1; header: a.jpg" },
    { BYTES("label\nclass\n"), "", { 0 },
      "takes each line as path; no header: label class" },
    { BYTES("label image\n3 my a.jpg\n"), "", { 0 },
      "takes column 2, 'image', as path, column 1, 'label', as label; header: my a.jpg=3" },
    { BYTES("image x\n3 4\n"), "", { 0 },
      "'l': no column of it is known to be the path, it starts with 'image x' "
      "(path_column)" },
    { BYTES("path\treason\na\\q.jpg\tx\n"), "", { 0 },
      "l:2: not the stored form of a name: it has a backslash before neither a "
      "backslash nor xHH, at '\\\\q.jpg'" },
    { BYTES("picture,label\na.jpg,b.jpg\n"), "", { 0 },
      "'l': no column of its header is known to be the path (path_column)" },
    { BYTES("image,path\na.jpg,b.jpg\n"), "", { .path_column = "IMAGE" },
      "takes column 1, 'image', as path, 1 more as dataset; header: a.jpg path='b.jpg'" },
    { BYTES("image,path\na.jpg,b.jpg\n"), "", { .path_column = "3" },
      "path_column: 'l' has no column '3', its header has 2 (path_column)" },
    { BYTES("image,path\na.jpg,b.jpg\n"), "", { .path_column = "1234567" },
      "path_column: 'l' has no column '1234567', its header has 2 (path_column)" },

    /* CelebA's */
    { BYTES("1\nlabel x\na.jpg 3 4\n"), "", { 0 },
      "takes column 1 as path, column 2 as label, 1 more as dataset; CelebA's table: "
      "a.jpg=3 x=4" },
    { BYTES("1\nimage_id x label\na.jpg 3 4\n"), "", { 0 },
      "takes column 1 as path, column 3 as label, 1 more as dataset; CelebA's table: "
      "a.jpg=4 x=3" },
    { BYTES("1\nx y\na.jpg 3 4\n"), "", { .no_label = true },
      "takes column 1 as path, 2 more as datasets; CelebA's table: a.jpg x=3 y=4" },
    { BYTES("12345678901234567890\nx y\na.jpg 3 4\n"), "", { 0 },
      "'l': no column of it is known to be the path, it starts with "
      "'12345678901234567890' (path_column)" },
    { BYTES("1234567890123456789\nx y\na.jpg 3 4\n"), "", { 0 },
      "list 'l' has 1 row, its first line says 1234567890123456789" },
    { BYTES("1\nx y\na.jpg 3 4\n"), "", { .label_column = "4" },
      "label_column: 'l' has no column '4', its header has 2 (label_column)" },

    /* without a header */
    { BYTES("a\tb.jpg\nc\td.jpg\n"), "|b.jpg|a\tb.jpg|", { 0 },
      "takes column 2 as path, column 1 as label; no header: b.jpg='a' d.jpg='c'" },
    { BYTES("a b c d\nb c d e\n"), "|d|", { 0 },
      "'l': columns 1 and 2 may both be the label, of which an image has one "
      "(label_column)" },
    { BYTES("a b c d e f g h\n"), "|h|", { 0 },
      "'l': columns 1 and 2 may both be the label, of which an image has one "
      "(label_column)" },
    { BYTES("a b c d e f g h i\n"), "|i|", { 0 },
      "takes column 2 as path, column 1 as label; no header: i='a b c d e f g h'" },
    { BYTES("1 cat a.jpg\n2 dog b.jpg\n"), "|a.jpg|", { 0 },
      "takes column 3 as path, column 2 as label, leaves out 1; no header: a.jpg='cat' "
      "b.jpg='dog'" },
    { BYTES("1 cat a.jpg\n2 dog b.jpg\n"), "|cat a.jpg|", { 0 },
      "takes column 2 as path, column 1 as label; no header: cat a.jpg=1 dog b.jpg=2" },
    { BYTES("1 cat a.jpg\n2 dog b.jpg\n"), "|1 cat a.jpg|", { 0 },
      "takes each line as path; no header: 1 cat a.jpg 2 dog b.jpg" },
    { BYTES("a.jpg 1 x\nb.jpg 2 y\n"), "", { .path_column = "1" },
      "takes column 1 as path, column 2 as label; no header: a.jpg='1 x' b.jpg='2 y'" },
    { BYTES("my a.jpg 1\nb.jpg 2\n"), "", { .path_column = "1" },
      "takes column 1 as path, column 2 as label; no header: my a.jpg=1 b.jpg=2" },
    { BYTES("3 my a.jpg\n4 b.jpg\n"), "", { .path_column = "2" },
      "takes column 2 as path, column 1 as label; no header: my a.jpg=3 b.jpg=4" },
    { BYTES("3 x a.jpg\n4 y b.jpg\n"), "", { .path_column = "2" },
      "takes column 2 as path, column 1 as label; no header: x a.jpg=3 y b.jpg=4" },
    { BYTES("3 a 4\n4 b 5\n"), "", { .path_column = "2" },
      "takes column 2 as path, column 3 as label, leaves out 1; no header: a=4 b=5" },
    { BYTES("3 x a\n4 b\n"), "", { .path_column = "2" },
      "takes column 2 as path, column 1 as label; no header: x a=3 b=4" },
    { BYTES("3 x a.jpg\n4 y b.jpg\n"), "", { .path_column = "3" },
      "takes column 3 as path, column 2 as label, leaves out 1; no header: a.jpg='x' "
      "b.jpg='y'" },
    { BYTES("a\nb\n"), "", { .path_column = "1" },
      "takes each line as path; no header: a b" },
    { BYTES("a\nb\n"), "", { .path_column = "2" },
      "path_column: 'l' has no column 2, its first line has 1 (path_column)" },
    { BYTES("a.jpg,1\n"), "", { .label_column = "x" },
      "label_column: 'l' has no header with a column 'x' (label_column)" },
    { BYTES("a.jpg,1\n"), "", { .label_column = "3" },
      "label_column: 'l' has no column 3, its first line has 2 (label_column)" },
    { BYTES("a.jpg,1\n"), "", { .label_column = "2" },
      "takes column 1 as path, column 2 as label; no header: a.jpg=1" },
    { BYTES("x://a.jpg\n"), "", { 0 }, "takes each line as path; no header: x://a.jpg" },
    { BYTES("ab+1://a.jpg\n"), "", { 0 },
      "l:1: 'ab+1://a.jpg' is an address, not a file: the images are to be on this "
      "machine, and their paths in the list" },
    { BYTES("https://a.jpg\n"), "|https://a.jpg|", { 0 },
      "takes each line as path; no header: https://a.jpg" },
    { BYTES("a \nb.jpg\n"), "|a |", { 0 },
      "takes each line as path; no header: a  b.jpg" },
    { BYTES("a.jpg ,1\n"), "|a.jpg |", { 0 },
      "takes column 1 as path, column 2 as label; no header: a.jpg =1" },
    { BYTES("a.jpg ,1\n"), "|a.jpg |a.jpg|", { 0 },
      "takes column 1 as path, column 2 as label; no header: a.jpg =1" },
    { BYTES("a.abcdef\n"), "", { .path_column = "1" },
      "takes each line as path; no header: a.abcdef" },
    { BYTES("x/\nx/a.jpg\ny/\nx y/\n"), "|x/|y/|x y/|", { 0 },
      "takes each line as path; no header: x/a.jpg; 3 folders, first x/" },
    { BYTES("a.jpg\tx y.z\n"), "", { 0 },
      "takes column 1 as path, column 2 as label; no header: a.jpg='x y.z'" },
    { BYTES("a.jpg .jpg\n"), "", { 0 },
      "takes column 1 as path, column 2 as label; no header: a.jpg='.jpg'" },
    { BYTES("10,a.jpg,x\n11,b.jpg,x\n"), "", { 0 },
      "takes column 2 as path, column 3 as label, leaves out 1; no header: a.jpg='x' "
      "b.jpg='x'" },
    { BYTES("10,a.jpg,x\n12,b.jpg,x\n"), "", { 0 },
      "'l': columns 1 and 3 may both be the label, of which an image has one "
      "(label_column)" },
    { BYTES("1234567890123456,a.jpg,x\n1234567890123457,b.jpg,x\n"), "", { 0 },
      "'l': columns 1 and 3 may both be the label, of which an image has one "
      "(label_column)" },

    { BYTES("pictures\na.jpg\nb.jpg\n"), "", { 0 },
      "takes each line as path; no header: pictures a.jpg b.jpg" },
    { BYTES("a.jpg\npictures\nb.jpg\n"), "", { 0 },
      "takes each line as path; no header: a.jpg pictures b.jpg" },
    { BYTES("pictures,x\na.jpg,1\nb.jpg,2\n"), "", { 0 },
      "takes column 1, 'pictures', as path, 1 more as dataset; header: a.jpg x=1 b.jpg x=2" },
    { BYTES("pictures,x\na.jpg,1\nbb,2\n"), "", { 0 },
      "'l': no column of it is known to be the path, it starts with 'pictures,x' "
      "(path_column)" },
    { BYTES("pictures,x\na.jpg,1\nbb,2\n"), "|a.jpg|", { 0 },
      "takes column 1 as path, column 2 as label; no header: pictures='x' a.jpg='1' bb='2'" },
    { BYTES("pictures,x\na.dat,1\nb.dat,2\n"), "", { .path_column = "1" },
      "takes column 1 as path, column 2 as label; no header: pictures='x' a.dat='1' b.dat='2'" },
    { BYTES("pictures,x\na.jpg,1\nb.dat,2\n"), "", { .path_column = "1" },
      "takes column 1, 'pictures', as path, 1 more as dataset; header: a.jpg x=1 b.dat x=2" },
    { BYTES("sep=;\r\npath;label\r\na.jpg;1\r\n"), "", { 0 },
      "takes column 1, 'path', as path, column 2, 'label', as label; header: a.jpg=1" },
    { BYTES("sep=,\npath,label\na.jpg,1\n"), "", { 0 },
      "takes column 1, 'path', as path, column 2, 'label', as label; header: a.jpg=1" },
    { BYTES("sep=|\n"), "", { 0 }, "takes each line as path; no header: sep=|" },
    { BYTES("sep=;"), "", { 0 },
      "'l': no column of it is known to be the path, it starts with 'sep=;' (path_column)" },
    { BYTES("sep=;\n"), "", { 0 }, "list 'l' is empty" },
    { BYTES("sep=;x.jpg\n"), "", { 0 },
      "'l': a line such as 'sep=;x.jpg' may be one path, or a label and a path, and there is "
      "no file of either name (path_column)" },
    { BYTES("\xef\xbb\xbfsep=;\npath;label\na.jpg;1\n"), "", { 0 },
      "takes column 1, 'path', as path, column 2, 'label', as label; header: a.jpg=1" },
    { BYTES("\xef\xbb\xbf" "a.jpg\n"), "", { 0 }, "takes each line as path; no header: a.jpg" },
    { BYTES("path,label\n a.jpg ,  1 \n\n , \nb.jpg,2\n"), "", { 0 },
      "takes column 1, 'path', as path, column 2, 'label', as label; header: a.jpg=1 b.jpg=2" },
    { BYTES("path,label\n\" a.jpg \",1\n"), "", { 0 },
      "takes column 1, 'path', as path, column 2, 'label', as label; header:  a.jpg =1" },
    { BYTES("path,label\n\"a\"\"b.jpg\" ,1\n"), "", { 0 },
      "takes column 1, 'path', as path, column 2, 'label', as label; header: a\"b.jpg=1" },
    { BYTES("path,label\n\"a.jpg\"x,1\n"), "", { 0 },
      "l:2: column 1: text behind the closing quote" },
    { BYTES("path,label\na.jpg,\"1\n2\n3\n"), "", { 0 },
      "l:2: column 2: the quote is not closed" },
    { BYTES("path,label\na.jpg,\"1\n2\"\nb.jpg\n"), "", { 0 },
      "l:4: 1 cell where the header has 2" },
    { BYTES("path,label\n,1\n"), "", { 0 }, "l:2: column 1: the path is empty" },
    { BYTES("path,,x\na.jpg,1,2\n"), "", { 0 },
      "l:2: column 2 has no name, but a value here" },
    { BYTES("path,x,x\na.jpg,1,2\n"), "", { 0 }, "l:1: columns 2 and 3 are both 'x'" },
    { BYTES("path,a/b\na.jpg,1\n"), "", { 0 },
      "l:1: column 2, 'a/b', cannot name a dataset: it is '.', has a '/' or is not UTF-8" },
    { BYTES("path,.\na.jpg,1\n"), "", { 0 },
      "l:1: column 2, '.', cannot name a dataset: it is '.', has a '/' or is not UTF-8" },
    { BYTES("path,labels\na.jpg,1\n"), "", { 0 },
      "l:1: column 2 has the name of a dataset that h5pack writes, 'labels'; rename it "
      "(label_column)" },

    /* JSON */
    { BYTES("{\"images\": [{\"id\": 7, \"file_name\": \"a.jpg\"}, {\"id\": -3, \"file_name\": "
            "\"b.jpg\"}, {\"id\": 9007199254740993, \"file_name\": \"c.jpg\"}], \"annotations\": "
            "[{\"image_id\": 7, \"category_id\": 2}, {\"image_id\": 9007199254740993, "
            "\"category_id\": 5}, {\"image_id\": 7, \"category_id\": 2}, {\"image_id\": 7, "
            "\"category_id\": 5}, {\"image_id\": 9007199254740993, \"category_id\": 5}, "
            "{\"image_id\": 99, \"category_id\": 77}], \"categories\": [{\"id\": 5, \"name\": \"y\"}, "
            "{\"id\": 2, \"name\": \"x\"}]}"),
      "", { 0 },
      "takes file_name as path, the first category of each image as label (1 have several, 1 "
      "none), image_id as dataset; COCO: a.jpg='x' image_id=7 b.jpg='' image_id=-3 c.jpg='y' "
      "image_id=9007199254740993" },
    { BYTES("{\"images\": [{\"id\": 3, \"file_name\": \"a.jpg\"}, {\"id\": 1, \"file_name\": "
            "\"b.jpg\"}, {\"id\": 3, \"file_name\": \"c.jpg\"}]}"),
      "", { 0 }, "'l': two images have id 3" },
    { BYTES("{\"images\": [{\"id\": 3, \"file_name\": \"a.jpg\"}, {\"id\": 1, \"file_name\": "
            "\"b.jpg\"}]}"),
      "", { 0 }, "takes file_name as path, image_id as dataset; COCO: a.jpg image_id=3 b.jpg "
      "image_id=1" },
    { BYTES("{\"images\": [{\"id\": 3, \"file_name\": \"a.jpg\"}], \"annotations\": "
            "[{\"image_id\": 3}]}"),
      "", { 0 }, "'l': an annotation has no 'category_id', and so gives no label" },
    { BYTES("{\"images\": [{\"id\": 3, \"file_name\": \"a.jpg\", \"file_name\": \"b\"}]}"), "", { 0 },
      "'l': line 1, column 56: the same key a second time" },
    { BYTES("{\"images\": {}}"), "", { 0 }, "'l': 'images' is no array" },
    { BYTES("{\"images\": [3]}"), "", { 0 }, "'l': an image is no object" },
    { BYTES("{\"annotations\": []}"), "", { 0 }, "'l': there is no 'images'" },
    { BYTES("{\"images\": []}"), "", { 0 }, "'l': 'images' is empty" },
    { BYTES("{\"images\": [{\"id\": 1}]}"), "", { 0 },
      "'l': an image has no 'file_name'" },
    { BYTES("{\"images\": [{\"id\": 1.5, \"file_name\": \"a.jpg\"}]}"), "", { 0 },
      "'l': 'id' of an image is no whole number" },
    { BYTES("{\"images\": [{\"id\": 9223372036854775808, \"file_name\": \"a.jpg\"}]}"), "", { 0 },
      "'l': 'id' of an image is beyond 64 bits, such as ids are to fit" },
    { BYTES("{\"images\": [{\"id\": 1, \"file_name\": 2}]}"), "", { 0 },
      "'l': 'file_name' of an image is no text" },
    { BYTES("{\"images\": [{\"id\": 1, \"file_name\": \"\"}]}"), "", { 0 },
      "'l': image 1 has no file_name" },
    { BYTES("{\"images\": [{\"id\": 1, \"file_name\": \"a.jpg\"}], \"categories\": "
            "[{\"id\": 4, \"name\": \"x\"}, {\"id\": 3, \"name\": \"x\"}, {\"id\": 4, \"name\": \"y\"}]}"),
      "", { 0 }, "'l': two categories have id 4" },
    { BYTES("{\"images\": [{\"id\": 1, \"file_name\": \"a.jpg\"}], \"annotations\": "
            "[{\"image_id\": 1, \"category_id\": 4}]}"),
      "", { 0 }, "'l': image 1 has category 4, which is none of its categories" },
    { BYTES("{\"images\": [{\"id\": 1, \"file_name\": \"a.jpg\"}], \"annotations\": "
            "[{\"image_id\": 1, \"category_id\": 4}]}"),
      "", { .no_label = true, .label_column = "x" },
      "takes file_name as path, image_id as dataset; COCO: a.jpg image_id=1" },
    { BYTES("{\"images\": [{\"id\": 1, \"file_name\": \"a.jpg\"}], \"annotations\": []}"),
      "", { 0 },
      "takes file_name as path, the first category of each image as label (0 have "
      "several, 1 none), image_id as dataset; COCO: a.jpg='' image_id=1" },
    { BYTES("{\"images\": []}"), "", { .path_column = "1" },
      "'l': this is COCO's object, which has no columns (path_column)" },
    { BYTES("{\"images\": []}"), "", { .label_column = "1" },
      "'l': this is COCO's object, which has no columns (label_column)" },
    { BYTES("{\"Images\": [1], \"path\": \"a.jpg\"}"), "", { 0 },
      "takes 'path' as path; JSON lines: a.jpg" },
    { BYTES("{\"path\": [1]}"), "", { 0 },
      "'l' is a table in pandas' form 'list', not an object for each image: "
      "to_json(orient=\"records\") writes such a list" },
    { BYTES("{\"x\": [1]}\n"), "", { 0 },
      "l:1: the object has no member that is a text or a number" },
    { BYTES("{\"path\": \"a.jpg\", \"x\": 1}\n{\"path\": \"b.jpg\", \"x\": {}}\n"), "", { 0 },
      "l:2: 'x' holds several values, the first object has one there" },
    { BYTES("{\"path\": \"a.jpg\"}\n\n{\"path\": }\n"), "", { 0 },
      "l:3: line 1, column 10: not a number" },
    { BYTES("{\"path\": \"a.jpg\", \"x\": -Infinity}\n"), "", { 0 },
      "l:1: line 1, column 24: NaN and Infinity are no numbers of JSON, which has null for want of one" },
    { BYTES("{\"images\": [{\"id\": NaN}]}"), "", { 0 },
      "'l': line 1, column 20: NaN and Infinity are no numbers of JSON, which has null for want of one" },
    { BYTES("{\"path\": \"NaN.jpg\", \"x\": NaN}\n{\"path\": \"b.jpg\", \"x\": 2.5}\n"), "", { 0 },
      "takes 'path' as path, 1 more as dataset; JSON lines: NaN.jpg x=nanf b.jpg x=2.5f" },
    { BYTES("{\"path\": \"a.jpg\", \"label\": NaN,\"x\":[NaN]}\n{\"path\": \"b.jpg\", \"label\": 2}\n"),
      "", { 0 }, "takes 'path' as path, 'label' as label; JSON lines: a.jpg=nanf b.jpg=2f" },
    { BYTES("[[\"a\\\"NaN.jpg\", NaN], [\"b.jpg\", 7]]"), "", { 0 },
      "takes column 1 as path, column 2 as label; JSON array: a\"NaN.jpg=nanf b.jpg=7f" },
    { BYTES("{\"path\": \"a.jpg\"}\n[]\n"), "", { 0 }, "l:2: is no JSON object" },
    { BYTES("{\"path\": \"a.jpg\", \"x\": true, \"y\": 0.1, \"z\": 12345678.9}\n"), "", { 0 },
      "takes 'path' as path, 3 more as datasets; JSON lines: a.jpg x=1 "
      "y=0.10000000000000001f z=12345678.9f" },
    { BYTES("{\"\": {\"0\": \"a.jpg\"}}"), "", { 0 },
      "'l' is a table in pandas' form 'columns', not an object for each image: "
      "to_json(orient=\"records\") writes such a list" },
    { BYTES("{\"0\": {\"path\": \"a.jpg\"}}"), "", { 0 },
      "'l' is a table in pandas' form 'index', not an object for each image: "
      "to_json(orient=\"records\") writes such a list" },
    { BYTES("{\"path\": {\"0\": \"a.jpg\"}}"), "", { 0 },
      "'l' is a table in pandas' form 'columns', not an object for each image: "
      "to_json(orient=\"records\") writes such a list" },
    { BYTES("{\"path\": [\"a.jpg\"], \"label\": [1]}"), "", { 0 },
      "'l' is a table in pandas' form 'list', not an object for each image: "
      "to_json(orient=\"records\") writes such a list" },
    { BYTES("{\"columns\": [], \"data\": []}"), "", { 0 },
      "'l' is a table in pandas' form 'split', not an object for each image: "
      "to_json(orient=\"records\") writes such a list" },
    { BYTES("{\"schema\": {}, \"data\": []}"), "", { 0 },
      "'l' is a table in pandas' form 'table', not an object for each image: "
      "to_json(orient=\"records\") writes such a list" },
    { BYTES("{\"a-name-of-more-than-31-bytes-before-its-end.jpg\": 1, \"b.jpg\": 2}"), "", { 0 },
      "takes each key as path, each value as label; JSON object: "
      "a-name-of-more-than-31-bytes-before-its-end.jpg=1 b.jpg=2" },
    { BYTES("{\"a-name-of-more-than-31-bytes-before-its-end\": 1, \"path\": \"b.jpg\"}"), "", { 0 },
      "takes 'path' as path, 1 more as dataset; JSON lines: b.jpg "
      "a-name-of-more-than-31-bytes-before-its-end=1" },
    { BYTES("[{\"path\": \"a.jpg\", \"at\": \"C:\\\\\"}, {\"path\": \"b.jpg\", \"at\": \"D:\\\\\"}]"), "", { 0 },
      "takes 'path' as path, 1 more as dataset; JSON array: a.jpg at='C:\\' b.jpg at='D:\\'" },
    { BYTES("# path label\na.jpg 1\nb.jpg 2\n"), "", { 0 },
      "takes column 1, 'path', as path, column 2, 'label', as label; header: a.jpg=1 b.jpg=2" },
    { BYTES("#\t file,age,class\na.jpg,7,1\n"), "", { 0 },
      "takes column 1, 'file', as path, column 3, 'class', as label, 1 more as dataset; header: "
      "a.jpg=1 age=7" },
    { BYTES("# age,path\n7,a.jpg\n"), "", { 0 },
      "takes column 2, 'path', as path, 1 more as dataset; header: a.jpg age=7" },
    { BYTES("#path,class\na.jpg,1\n"), "", { 0 },
      "takes column 1, '#path', as path, column 2, 'class', as label; header: a.jpg=1" },
    { BYTES("# 1.jpg\n# 2.jpg\n"), "", { .path_column = "0" },
      "takes each line as path; no header: # 1.jpg # 2.jpg" },
    { BYTES("{\"labels\": null}"), "", { 0 },
      "'l': 'labels' is null, it names no images: the folder that they are in is the "
      "source, without a list (no_labels)" },
    { BYTES("{\"labels\": []}"), "", { 0 }, "list 'l' is empty" },
    { BYTES("[]"), "", { 0 }, "list 'l' is empty" },
    { BYTES("[] a.jpg\n"), "", { 0 },
      "'l': a line such as '[] a.jpg' may be one path, or a label and a path, and "
      "there is no file of either name (path_column)" },
    { BYTES("[\"a.jpg\"]"), "", { 0 }, "takes column 1 as path; JSON array: a.jpg" },
    { BYTES("[\"a.jpg\" b]\n"), "", { 0 },
      "'l': no column of it is known to be the path, it starts with '[\"a.jpg\" b]' "
      "(path_column)" },
    { BYTES("[[-1, \"a.jpg\"]]"), "", { 0 },
      "takes column 2 as path, column 1 as label; JSON array: a.jpg=-1" },
    { BYTES("[[1, \"a.jpg\"], [2, \"b.jpg\"]] x"), "", { 0 },
      "l:1: unexpected text behind the list" },
    { BYTES("{\"labels\": [[\"a.jpg\", 1]] }"), "", { 0 },
      "takes column 1 as path, column 2 as label; StyleGAN's dataset.json: a.jpg=1" },
    { BYTES("{\"labels\": [[\"a.jpg\", 1]] ]"), "", { 0 },
      "l:1: unexpected text behind the list" },
    { BYTES("[[\"a.jpg\", 1]]"), "", { .path_column = "2" },
      "takes column 2 as path, column 1 as label; JSON array: 1='a.jpg'" },
    { BYTES("[[\"a.jpg\", 1]]"), "", { .path_column = "x" },
      "path_column: 'l' has no column 'x', its first row has 2 (path_column)" },
};

static enum pack_list_look
look(void *context, const char *path)
{
    const struct sample *s = context;
    char key[512];
    snprintf(key, sizeof key, "|%s|", path);
    if (strstr(s->there, key))
        return key[strlen(key) - 2] == '/' ? PACK_LOOK_FOLDER : PACK_LOOK_FILE;
    snprintf(key, sizeof key, "|%s/|", path);
    return strstr(s->there, key) ? PACK_LOOK_FOLDER : PACK_LOOK_NOTHING;
}

static void
print_cell(FILE *out, const struct pack_column *c, uint64_t row)
{
    if (c->kind == PACK_COLUMN_INT64)
        fprintf(out, "%lld", (long long)c->integers[row]);
    else if (c->kind == PACK_COLUMN_FLOAT64)
        fprintf(out, "%.17gf", c->floats[row]);
    else
        fprintf(out, "'%s'", c->strings[row]);
}

static void
print_list(FILE *out, const struct pack_list *list)
{
    fprintf(out, "%s:", list->taken);
    for (uint64_t row = 0; row < list->n_rows && row < 4; row++) {
        fprintf(out, " %s", list->path.strings[row]);
        if (list->label) {
            putc('=', out);
            print_cell(out, list->label, row);
        }
        for (int i = 0; i < list->n_columns; i++) {
            fprintf(out, " %s=", list->columns[i].name);
            print_cell(out, &list->columns[i], row);
        }
    }
    if (list->n_folders)
        fprintf(out, "; %d folders, first %s", (int)list->n_folders, list->folder);
}

/* What becomes of a list, in words. */
static void
read_text(const char *bytes, size_t size, const struct sample *s, char *text, size_t text_size)
{
    struct pack_list_params params = s->params;
    struct pack_list *list = NULL;
    struct pack_error err = { .text = "" };
    FILE *file = fmemopen((void *)bytes, size, "r"), *out = fmemopen(text, text_size, "w");
    params.look = look;
    params.look_context = (void *)s;
    if (pack_list_read(file, "l", &params, &list, &err) == PACK_OK)
        print_list(out, list);
    else
        fprintf(out, "%s%s%s%s", err.text, err.param ? " (" : "", err.param ? err.param : "",
                err.param ? ")" : "");
    fclose(out);
    fclose(file);
    pack_list_free(list);
}

static void
test_samples(void)
{
    char text[2048], shown[64];
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const struct sample *s = &samples[i];
        size_t n = 0;
        for (; n < s->size && n + 1 < sizeof shown; n++)
            shown[n] = s->bytes[n] < ' ' || s->bytes[n] == '#' ? '.' : s->bytes[n];
        shown[n] = '\0';
        read_text(s->bytes, s->size, s, text, sizeof text);
        is_text(text, s->want, shown);
    }
}

/* ------------------------------------------------------------------ long lists */

/* A list of `n` lines as the first, and what follows. */
static void
is_long(const char *line, int n, const char *rest, const char *want, const char *what)
{
    static const struct sample nothing = { .there = "" };
    size_t size = strlen(line);
    char *bytes = malloc(size * (size_t)n + strlen(rest) + 1), text[1024];
    for (int i = 0; i < n; i++)
        memcpy(bytes + size * (size_t)i, line, size);
    strcpy(bytes + size * (size_t)n, rest);
    read_text(bytes, strlen(bytes), &nothing, text, sizeof text);
    is_text(text, want, what);
    free(bytes);
}

static void
test_long(void)
{
    is_long("\n", 1200000, "", "list 'l' is empty", "a million empty lines are an empty list");
    is_long("a.jpg red cat\n", 600, "b c\n",
            "l:601: 'b' is no file's name like those in the lines above; with blanks in names and "
            "in labels, let tabs or commas stand between them",
            "what is no file's name behind the first 500 rows is refused");
    is_long("x", 1200000, "\n", "l:1: a row of more than 1048576 bytes",
            "a first line of more than a row may have is refused as one");
    is_long("{\"path\": \"a.jpg\"}\n", 3, "{\"path\": \"b",
            "l:4: line 1, column 11: string without an end", "a JSON line that ends too early is refused");
}

/* ---------------------------------------------------------------------- words */

/* Whether a word is known, in any case, and neither cut short nor made longer. */
static int
wrong_words(bool (*is_known)(const char *), const char *const *words, const char *in_front)
{
    int wrong = 0;
    for (; *words; words++) {
        char text[64];
        snprintf(text, sizeof text, "%s%s", in_front, *words);
        size_t n = strlen(text);
        int bad = !is_known(text);
        text[n - 1] = (char)toupper((unsigned char)text[n - 1]);
        bad += !is_known(text);
        text[n - 1] = '\0';
        bad += is_known(text) && strcmp(text, "image") != 0 && strcmp(text, "a.tif") != 0;
        snprintf(text, sizeof text, "%s%sx", in_front, *words);
        bad += is_known(text);
        if (bad)
            note("'%s%s'", in_front, *words);
        wrong += bad;
    }
    return wrong;
}

static void
test_words(void)
{
    static const char *const paths[] = { "path", "file", "filename", "file_name", "filepath",
                                         "file_path", "image", "image_id", "imageid",
                                         "image_path", "image_name", "img_path", NULL };
    static const char *const labels[] = { "label", "class", "target", "category", NULL };
    static const char *const endings[] = { ".jpg",  ".jpeg", ".png",  ".ppm",  ".bmp",
                                           ".pgm",  ".tif",  ".tiff", ".webp", ".gif",
                                           ".heic", ".heif", ".avif", ".jp2",  ".jfif", NULL };
    is_number(wrong_words(pack_list_names_path, paths, ""), 0, "columns of paths have these names");
    is_number(wrong_words(pack_list_names_label, labels, ""), 0, "columns of labels these");
    is_number(wrong_words(pack_survey_image_name, endings, "a"), 0, "and images these endings");
    ok(!pack_survey_image_name("jpg") && pack_survey_image_name(".jpg") &&
           pack_survey_image_name("a.b.jpg") && !pack_survey_image_name("a.jpg.txt") &&
           !pack_list_names_path("") && !pack_list_names_label(""),
       "behind the last dot");
    static const struct {
        const char *name;
        bool is_file;
    } files[] = {
        { "a.b", true },      { "a.12345", false }, { "a.1234b", true }, { "a.1234bc", false },
        { "a.", false },      { ".b", false },      { "x/.b", false },   { "x/a.b", true },
        { "a.b c", false },   { "a.b-", false },    { "a b.c", true },   { "ab", false },
        { "x.y/a", false },   { "a.Zz9", true },    { "a..b", true },    { "a.\xc3\xa9", false },
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        wrong += pack_survey_file_name(files[i].name) != files[i].is_file;
    is_number(wrong, 0, "a file's name ends in up to five letters and digits");
    static const struct {
        const char *name;
        bool is_made_up;
    } columns[] = { { "", true },           { "Unnamed: 0", true },  { "Unnamed: 12", true },
                    { "Unnamed: ", false }, { "Unnamed: 1a", false }, { "unnamed: 0", false },
                    { "Unnamed:0", false }, { " ", false } };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        wrong += pack_list_leaves_out(columns[i].name) != columns[i].is_made_up;
    is_number(wrong, 0, "pandas calls columns without name so");
}

/* Folders and files of masks and of images: the kind, and what is left of the name. */
static void
test_mask_names(void)
{
    enum { PLAIN = PACK_MASK_FOLDER_PLAIN, OF_IMAGES = PACK_MASK_FOLDER_IMAGES,
           OF_MASKS = PACK_MASK_FOLDER_MASKS };
    static const char *const masks[] = {
        "mask", "masks", "label", "labels", "annotation", "annotations", "annot", "gt",
        "groundtruth", "seg", "segmentation", "segmentations", "labelmap", "labelmaps",
        "semantic", "ground_truth", "label_map", "label_maps", "labelsTr", "labelsTs", "gtFine",
        "gtCoarse", "target", "targets", "SegmentationClass", "SegmentationObject",
        "SegmentationClassAug", "trimaps",
    };
    static const char *const images[] = { "image", "images", "img", "IMGS", "JPEGImages",
                                          "imagesTr", "imagesTs", "leftImg8bit" };
    static const struct {
        const char *name, *rest;
        int kind;
    } folders[] = {
        { "train_masks", "train", OF_MASKS }, { "mask-train", "train", OF_MASKS },
        { "train_images", "train", OF_IMAGES }, { "img-train", "train", OF_IMAGES },
        { "image_2", "", OF_IMAGES }, { "image_2b", "2b", OF_IMAGES },
        { "a_b_labels", "a_b", OF_MASKS }, { "gt_a_b", "a_b", OF_MASKS },
        { "unmasked", "unmasked", PLAIN }, { "masker", "masker", PLAIN },
        { "mask_", "mask_", PLAIN }, { "_mask", "_mask", PLAIN }, { "", "", PLAIN },
        { "imagesx", "imagesx", PLAIN }, { "a_masks_b", "a_masks_b", PLAIN },
        { "target_a", "target_a", PLAIN },
    };
    struct pack_mask_text rest;
    int wrong = 0;
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
        wrong += pack_mask_folder((struct pack_mask_text){ masks[i], strlen(masks[i]) }, &rest) !=
                     PACK_MASK_FOLDER_MASKS || rest.n;
    is_number(wrong, 0, "folders of masks are called so");
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        wrong += pack_mask_folder((struct pack_mask_text){ images[i], strlen(images[i]) }, &rest) !=
                     PACK_MASK_FOLDER_IMAGES || rest.n;
    is_number(wrong, 0, "and of images");
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        struct pack_mask_text name = { folders[i].name, strlen(folders[i].name) };
        int kind = (int)pack_mask_folder(name, &rest);
        bool right = kind == folders[i].kind && rest.n == strlen(folders[i].rest) &&
                     memcmp(rest.at, folders[i].rest, rest.n) == 0;
        if (!right)
            note("'%s': %d, '%.*s'", folders[i].name, kind, (int)rest.n, rest.at);
        wrong += !right;
    }
    is_number(wrong, 0, "with other words in front or behind");
    static const struct {
        const char *stem, *in_folder, *beside; /* NULL: nothing is taken away */
    } stems[] = {
        { "1_mask", "1", "1" }, { "1-masks", "1", "1" }, { "1.seg", "1", "1" },
        { "1_segmentation", "1", "1" }, { "1_gt", "1", "1" }, { "1_label", "1", "1" },
        { "1_labels", "1", "1" }, { "1_groundtruth", "1", "1" }, { "1_annot", "1", "1" },
        { "1_labelIds", "1", "1" }, { "1_annotation", "1", "1" }, { "1_gtFine", "1", NULL },
        { "1_gtCoarse", "1", NULL }, { "1_instanceIds", "1", NULL }, { "1_color", "1", NULL },
        { "1_labelTrainIds", "1", NULL }, { "1_L", "1", NULL }, { "mask_1", "1", "1" },
        { "labels-1", "1", "1" }, { "color_1", NULL, NULL }, { "1_mask_2", "1", "1" },
        { "1_mask-23", "1", "1" }, { "1_mask2", NULL, NULL }, { "mask", NULL, NULL },
        { "_mask", NULL, NULL }, { "mask_", NULL, NULL }, { "1", NULL, NULL },
        { "unmask", NULL, NULL }, { "a_b_mask", "a_b", "a_b" },
    };
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
        for (int in_folder = 0; in_folder < 2; in_folder++) {
            struct pack_mask_text stem = { stems[i].stem, strlen(stems[i].stem) };
            const char *want = in_folder ? stems[i].in_folder : stems[i].beside;
            bool right = pack_mask_strip(&stem, in_folder) == (want != NULL);
            want = want ? want : stems[i].stem;
            right = right && stem.n == strlen(want) && memcmp(stem.at, want, stem.n) == 0;
            if (!right)
                note("'%s': '%.*s'", stems[i].stem, (int)stem.n, stem.at);
            wrong += !right;
        }
    is_number(wrong, 0, "files of masks lose these words");
    static const struct {
        const char *stem, *in_folder, *beside;
    } pictures[] = {
        { "1_image", "1", "1" }, { "1-img", "1", "1" }, { "1_leftImg8bit", "1", "1" },
        { "1_rgb", "1", "1" }, { "1_sat", "1", "1" }, { "1_0000", "1", NULL },
        { "1_000", NULL, NULL }, { "1_00000", NULL, NULL }, { "1_000x", NULL, NULL },
        { "image", NULL, NULL }, { "_image", NULL, NULL }, { "image_1", NULL, NULL },
        { "1.image", NULL, NULL }, { "1_images", NULL, NULL },
    };
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++)
        for (int in_folder = 0; in_folder < 2; in_folder++) {
            struct pack_mask_text stem = { pictures[i].stem, strlen(pictures[i].stem) };
            const char *want = in_folder ? pictures[i].in_folder : pictures[i].beside;
            bool right = pack_mask_strip_image(&stem, in_folder) == (want != NULL);
            want = want ? want : pictures[i].stem;
            right = right && stem.n == strlen(want) && memcmp(stem.at, want, stem.n) == 0;
            if (!right)
                note("'%s': '%.*s'", pictures[i].stem, (int)stem.n, stem.at);
            wrong += !right;
        }
    is_number(wrong, 0, "and files of images these");
}

int
main(void)
{
    test_words();
    test_mask_names();
    test_samples();
    test_long();
    return done();
}
