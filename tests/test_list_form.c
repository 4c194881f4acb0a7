/* What form lists are recognised to have, in words, and what is asked where two are
 * possible. */
#include <stdlib.h>
#include <string.h>

#include "libpack/source/list_form.h"
#include "tests/tap.h"

#define BYTES(text) text, sizeof text - 1

struct sample {
    const char *what, *bytes;
    size_t size;
    const char *there; /* files, "|" around each; folders end in a slash */
    struct pack_list_params params;
    const char *want;
};

#define TAKES(text) "takes " text

static const struct sample samples[] = {
    /* paths alone */
    { "paths, one per line", BYTES("a/1.jpg\na/2.jpg\n"), "", { 0 },
      TAKES("each line as path; no header") },
    { "what find prints, its folders too", BYTES(".\n./a b\n./a b/1.jpg\n./a b/2.png\n"),
      "|./|./a b/|", { 0 }, TAKES("each line as path; no header") },
    { "names with blanks, here and there", BYTES("a b.jpg\nc.jpg\nd e f.jpg\n"), "", { 0 },
      TAKES("each line as path; no header") },
    { "names with a blank each, that are there", BYTES("IMG 1.jpg\nIMG 2.jpg\n"),
      "|IMG 1.jpg|IMG 2.jpg|", { 0 }, TAKES("each line as path; no header") },
    { "names with a comma each, that are there", BYTES("Smith, J.jpg\nDoe, A.jpg\n"),
      "|Smith, J.jpg|", { 0 }, TAKES("each line as path; no header") },
    { "names with a tab each, that are there", BYTES("a\tb.jpg\nc\td.jpg\n"),
      "|a\tb.jpg|", { 0 }, TAKES("each line as path; no header") },
    { "names with a mark in front", BYTES("# 1.jpg\n# 2.jpg\n"), "|# 1.jpg|# 2.jpg|", { 0 },
      TAKES("each line as path; no header") },
    { "names without endings", BYTES("1\n2\n3\n"), "", { 0 },
      TAKES("each line as path; no header") },
    { "names without endings, with blanks, that are there", BYTES("a 1\na 2\n"), "|a 1|",
      { 0 }, TAKES("each line as path; no header") },
    { "a file called as a header might be", BYTES("image\nimage2\n"), "|image|", { 0 },
      TAKES("each line as path; no header") },
    { "a folder in front of what is in it", BYTES("image\nimage/a.jpg\n"), "|image/|",
      { 0 }, TAKES("each line as path; no header") },
    { "upper case, odd bytes", BYTES("\xff\xfe.JPG\n\xc3\xa9 \\x.Jpeg\n"), "", { 0 },
      TAKES("each line as path; no header") },
    { "line ends of old Macs", BYTES("a.jpg\rb.jpg\r"), "", { 0 },
      TAKES("each line as path; no header") },

    /* path and label */
    { "ImageNet's val.txt", BYTES("ILSVRC2012_val_00000001.JPEG 65\nv.JPEG 970\n"), "",
      { 0 }, TAKES("column 1 as path, column 2 as label; no header") },
    { "identity_CelebA.txt", BYTES("000001.jpg 2880\r\n000002.jpg 2937\r\n"), "", { 0 },
      TAKES("column 1 as path, column 2 as label; no header") },
    { "Caffe's list.txt with a blank in a name", BYTES("my cat.jpg 0\ndog.jpg 1\n"), "",
      { 0 }, TAKES("column 1 as path, column 2 as label; no header") },
    { "labels of two words", BYTES("a.jpg golden retriever\nb.jpg cat\n"), "", { 0 },
      TAKES("column 1 as path, column 2 as label; no header") },
    { "labels of two words in each line", BYTES("a.jpg golden fish\nb.jpg red cat\n"), "",
      { 0 }, TAKES("column 1 as path, column 2 as label; no header") },
    { "tabs", BYTES("a b.jpg\tred cat\nc d.jpg\tdog\n"), "", { 0 },
      TAKES("column 1 as path, column 2 as label; no header") },
    { "commas", BYTES("a.jpg,1\nb.jpg,2\n"), "", { 0 },
      TAKES("column 1 as path, column 2 as label; no header") },
    { "commas and blanks", BYTES("a.jpg, cat\nb.jpg, \"dog\"\n"), "", { 0 },
      TAKES("column 1 as path, column 2 as label; no header") },
    { "a label alone names no file", BYTES("a.jpg mr.x\nb.jpg st.y\n"), "", { 0 },
      TAKES("column 1 as path, column 2 as label; no header") },
    { "files without endings that are there", BYTES("img1 3\nimg2 4\n"), "|img1|img2|",
      { 0 }, TAKES("column 1 as path, column 2 as label; no header") },
    { "label first, apart by tabs", BYTES("3\ta.jpg\n4\tb.jpg\n"), "", { 0 },
      TAKES("column 2 as path, column 1 as label; no header") },
    { "label first, as the files say", BYTES("3 a b.jpg\n4 c.jpg\n"), "|c.jpg|", { 0 },
      TAKES("column 2 as path, column 1 as label; no header") },
    { "label first and a comma, as the files say", BYTES("cat,a.jpg\ndog,b.jpg\n"),
      "|a.jpg|", { 0 }, TAKES("column 2 as path, column 1 as label; no header") },
    { "label and path or a name with a blank: asked", BYTES("cat a.jpg\ndog b.jpg\n"), "",
      { 0 },
      "'l': a line such as 'cat a.jpg' may be one path, or a label and a path, and there is "
      "no file of either name (path_column)" },
    { "both are there: asked", BYTES("cat a.jpg\n"), "|cat a.jpg|a.jpg|", { 0 },
      "'l': a line such as 'cat a.jpg' may be one path, or a label and a path, and there are "
      "files of both names (path_column)" },
    { "a column given settles it", BYTES("cat a.jpg\ndog b.jpg\n"), "",
      { .path_column = "2" }, TAKES("column 2 as path, column 1 as label; no header") },
    { "so does the whole line", BYTES("cat a.jpg\ndog b.jpg\n"), "", { .path_column = "0" },
      TAKES("each line as path; no header") },
    { "two columns of file names: asked", BYTES("a.jpg\tb.png\nc.jpg\td.png\n"), "", { 0 },
      "'l': columns 1 and 2 may both be the path (path_column)" },
    { "two columns of file names, one given", BYTES("a.jpg,b.png\nc.jpg,d.png\n"), "",
      { .path_column = "2", .label_column = "0" },
      TAKES("column 2 as path, leaves out 1; no header") },
    { "a comma in some names is no column", BYTES("a,b.jpg\nc.jpg\n"), "", { 0 },
      TAKES("each line as path; no header") },
    { "a label that lacks: asked", BYTES("a.jpg 1\nb.jpg\n"), "", { 0 },
      "'l': no column of it is known to be the path, it starts with 'a.jpg 1' "
      "(path_column)" },

    { "a long ending is no file's: asked", BYTES("b.jpg\na.jpg x.retriever\n"), "", { 0 },
      "'l': no column of it is known to be the path, it starts with 'b.jpg' "
      "(path_column)" },

    /* more columns */
    { "im2rec's list", BYTES("3\t1.000000\ta.jpg\n0\t0.000000\tb c.jpg\n"), "", { 0 },
      TAKES("column 3 as path, column 2 as label, leaves out 1; no header") },
    { "im2rec's list of several labels: asked", BYTES("3\t1.0\t2.0\ta.jpg\n0\t0.5\t1\tb.jpg\n"),
      "", { 0 },
      "'l': columns 2 and 3 may both be the label, of which an image has one "
      "(label_column)" },
    { "one of them given", BYTES("3\t1.0\t2.0\ta.jpg\n0\t0.5\t1\tb.jpg\n"), "",
      { .label_column = "3" },
      TAKES("column 4 as path, column 3 as label, leaves out 2; no header") },
    { "labels from elsewhere need no column", BYTES("3\t1.0\t2.0\ta.jpg\n"), "",
      { .no_label = true }, TAKES("column 4 as path, leaves out 3; no header") },
    { "pandas' index without header", BYTES("0,a.jpg,cat\n1,b.jpg,dog\n"), "", { 0 },
      TAKES("column 2 as path, column 3 as label, leaves out 1; no header") },
    { "semicolons without a header", BYTES("a.jpg;cat\nb,1.jpg;dog\n"), "", { 0 },
      TAKES("column 1 as path, column 2 as label; no header") },
    { "a label, a semicolon, a path, as the files say", BYTES("cat;a.jpg\ndog;b.jpg\n"),
      "|b.jpg|", { 0 }, TAKES("column 2 as path, column 1 as label; no header") },
    { "names with a semicolon each, that are there", BYTES("x;a.jpg\ny;b.jpg\n"),
      "|x;a.jpg|", { 0 }, TAKES("each line as path; no header") },
    { "semicolons, a column given", BYTES("x;a.jpg\ny;b.jpg\n"), "",
      { .path_column = "2" }, TAKES("column 2 as path, column 1 as label; no header") },
    { "Excel's comma at the end", BYTES("a.jpg,cat,\nb.jpg,dog,\n"), "", { 0 },
      TAKES("column 1 as path, column 2 as label, leaves out 1; no header") },
    { "labels by blanks, several numbers: asked", BYTES("a.jpg 1 2\nb.jpg 3 4\n"), "", { 0 },
      "'l': columns 2 and 3 may both be the label, of which an image has one "
      "(label_column)" },

    { "two file names in each line are one with a blank", BYTES("a.jpg b.jpg\nc.jpg d.jpg\n"),
      "", { 0 }, TAKES("each line as path; no header") },

    /* headers */
    { "a header", BYTES("path,label,x\na.jpg,1,2\n"), "", { 0 },
      TAKES("column 1, 'path', as path, column 2, 'label', as label, 1 more as dataset; "
            "header") },
    { "any case, other names", BYTES("Target\tFileName\n1\ta.jpg\n"), "", { 0 },
      TAKES("column 2, 'FileName', as path, column 1, 'Target', as label; header") },
    { "Kaggle's list_attr_celeba.csv", BYTES("image_id,Smiling,Young\n000001.jpg,-1,1\n"),
      "", { 0 },
      TAKES("column 1, 'image_id', as path, 2 more as datasets; header") },
    { "pandas' index", BYTES(",path,label\n0,a.jpg,1\n"), "", { 0 },
      TAKES("column 2, 'path', as path, column 3, 'label', as label, leaves out 1; "
            "header") },
    { "pandas' index, saved again", BYTES("Unnamed: 0,image,class\n0,a.jpg,1\n"), "", { 0 },
      TAKES("column 2, 'image', as path, column 3, 'class', as label, leaves out 1; "
            "header") },
    { "blanks around names", BYTES(" Image , Category \n a.jpg , 1\n"), "", { 0 },
      TAKES("column 1, 'Image', as path, column 2, 'Category', as label; header") },
    { "semicolons", BYTES("file;label\na,b.jpg;1\n"), "", { 0 },
      TAKES("column 1, 'file', as path, column 2, 'label', as label; header") },
    { "a header and blanks", BYTES("image label\nmy a.jpg 1\n"), "", { 0 },
      TAKES("column 1, 'image', as path, column 2, 'label', as label; header") },
    { "a header, blanks, several columns", BYTES("x image y\n1 a.jpg 2\n"), "", { 0 },
      TAKES("column 2, 'image', as path, 2 more as datasets; header") },
    { "a header of other names, by its rows", BYTES("picture,breed\na.jpg,cat\nb.jpg,dog\n"),
      "", { 0 }, TAKES("column 1, 'picture', as path, 1 more as dataset; header") },
    { "a header that names the label only", BYTES("picture,class\na.jpg,cat\nb.jpg,dog\n"),
      "", { 0 }, TAKES("column 1, 'picture', as path, column 2, 'class', as label; header") },
    { "'path' before others", BYTES("image_id,path,class,label\n1,a.jpg,x,y\n"), "", { 0 },
      TAKES("column 2, 'path', as path, column 4, 'label', as label, 2 more as datasets; "
            "header") },
    { "two names of paths, as the files say", BYTES("image_id,filename\n1,a.jpg\n"),
      "|a.jpg|", { 0 },
      TAKES("column 2, 'filename', as path, 1 more as dataset; header") },
    { "two names of paths: asked", BYTES("image_id,filename\n1,a.jpg\n"), "", { 0 },
      "'l': columns 1, 'image_id', and 2, 'filename', may both be the path "
      "(path_column)" },
    { "two names of labels: asked", BYTES("path,class,category\na.jpg,1,2\n"), "", { 0 },
      "'l': columns 2, 'class', and 3, 'category', may both be the label "
      "(label_column)" },
    { "columns by name", BYTES("image,breed,x\na.jpg,cat,b.png\n"), "",
      { .path_column = "x", .label_column = "breed" },
      TAKES("column 3, 'x', as path, column 2, 'breed', as label, 1 more as dataset; "
            "header") },
    { "columns by name, in another case", BYTES("Image,Breed,x\na.jpg,cat,b.png\n"), "",
      { .path_column = "X", .label_column = "bREED" },
      TAKES("column 3, 'x', as path, column 2, 'Breed', as label, 1 more as dataset; "
            "header") },
    { "the same case wins", BYTES("path,BREED,breed\na.jpg,cat,dog\n"), "",
      { .label_column = "breed" },
      TAKES("column 1, 'path', as path, column 3, 'breed', as label, 1 more as dataset; "
            "header") },
    { "columns by number, under a header", BYTES("image,breed,x\na.jpg,cat,b.png\n"), "",
      { .path_column = "3", .label_column = "2" },
      TAKES("column 3, 'x', as path, column 2, 'breed', as label, 1 more as dataset; "
            "header") },
    { "no label", BYTES("path,label\na.jpg,1\n"), "", { .label_column = "0" },
      TAKES("column 1, 'path', as path, 1 more as dataset; header") },
    { "a column that is not there", BYTES("path,label\na.jpg,1\n"), "",
      { .label_column = "breed" },
      "label_column: 'l' has no column 'breed', its header has 2 (label_column)" },
    { "nor by its number", BYTES("a.jpg,1\n"), "", { .path_column = "7" },
      "path_column: 'l' has no column 7, its first line has 2 (path_column)" },
    { "a name without a header", BYTES("a.jpg,1\n"), "", { .path_column = "x" },
      "path_column: 'l' has no header with a column 'x' (path_column)" },
    { "one column for both", BYTES("a.jpg,1\n"), "",
      { .path_column = "1", .label_column = "1" },
      "'l': column 1 cannot be both path and label (label_column)" },
    { "no header, though it looks like one", BYTES("path,1\nb.jpg,2\n"), "",
      { .no_header = true, .path_column = "1" },
      TAKES("column 1 as path, column 2 as label; no header") },

    /* forms of their own */
    { "CelebA's attributes", BYTES("1\nSmiling Young \n000001.jpg -1  1\n"), "", { 0 },
      TAKES("column 1 as path, 2 more as datasets; CelebA's table") },
    { "CelebA's, a column by its number", BYTES("1\nSmiling Young\n1.jpg -1 1\n"), "",
      { .label_column = "2" },
      TAKES("column 1 as path, column 2 as label, 1 more as dataset; CelebA's table") },
    { "CelebA's, a column by its name", BYTES("1\nSmiling Young\n1.jpg -1 1\n"), "",
      { .label_column = "Young" },
      TAKES("column 1 as path, column 3 as label, 1 more as dataset; CelebA's table") },
    { "CelebA's, the last column", BYTES("1\nSmiling Young\n1.jpg -1 1\n"), "",
      { .label_column = "3" },
      TAKES("column 1 as path, column 3 as label, 1 more as dataset; CelebA's table") },
    { "CelebA's, its path as label", BYTES("1\nimage_id Young\n1.jpg 1\n"), "",
      { .label_column = "image_id" },
      "'l': column 1 cannot be both path and label (label_column)" },
    { "CelebA's, its implied path as label", BYTES("1\nSmiling Young\n1.jpg -1 1\n"), "",
      { .label_column = "1" },
      "'l': column 1 cannot be both path and label (label_column)" },
    { "rejects", BYTES("path\treason\na\\\\b.jpg\tdamaged\n"), "", { 0 },
      TAKES("column 1, 'path', as path, leaves out 1; a list of rejects") },
    { "JSON lines", BYTES("{\"file_name\": \"a.jpg\", \"label\": 3, \"x\": 1.5}\n"), "", { 0 },
      TAKES("'file_name' as path, 'label' as label, 1 more as dataset; JSON lines") },
    { "JSON objects of several lines, as jq prints them",
      BYTES("{\n  \"path\": \"a.jpg\",\n  \"label\": 3\n}\n{\n  \"path\": \"b.jpg\"\n}\n"), "",
      { 0 }, TAKES("'path' as path, 'label' as label; JSON objects") },
    { "JSON lines with several labels", BYTES("{\"path\": \"a.jpg\", \"label\": [1, 2]}\n"),
      "", { 0 },
      "'l': 'label' of the first object holds several values, an image has one label "
      "(label_column)" },
    { "quoted lines, as jq .path prints", BYTES("\"a.jpg\"\n\"b \\u00e9.jpg\"\n"), "", { 0 },
      TAKES("column 1 as path; JSON values") },
    { "an array in each line, as jq -c prints", BYTES("[\"a.jpg\",\"cat\"]\n[\"b.jpg\",\"dog\"]\n"),
      "", { 0 }, TAKES("column 1 as path, column 2 as label; JSON values") },
    { "arrays on several lines, as jq prints", BYTES("[\n  \"a.jpg\",\n  3\n]\n[\n  \"b.jpg\",\n  4\n]\n"),
      "", { 0 }, TAKES("column 1 as path, column 2 as label; JSON values") },
    { "one line in quotes", BYTES("\"a.jpg\"\n"), "", { 0 },
      TAKES("column 1 as path; JSON values") },
    { "the same without its end", BYTES("\"a.jpg\""), "", { 0 },
      TAKES("column 1 as path; JSON values") },
    { "arrays of label and path", BYTES("[1,\"a.jpg\"]\n[-2, \"b.jpg\"]\n"), "", { 0 },
      TAKES("column 2 as path, column 1 as label; JSON values") },
    { "quotes that names have", BYTES("\"a.jpg\"\n\"b.jpg\"\n"), "", { .path_column = "0" },
      TAKES("each line as path; no header") },
    { "braces that names have", BYTES("{\"a.jpg\"\n{\"b.jpg\"\n"), "", { .path_column = "0" },
      TAKES("each line as path; no header") },
    { "quoted cells of CSV are none", BYTES("\"a.jpg\",\"cat\"\n\"b.jpg\",\"dog\"\n"), "",
      { 0 }, TAKES("column 1 as path, column 2 as label; no header") },
    { "nor is a header", BYTES("\"path\"\n\"b.jpg\"\n"), "", { 0 },
      TAKES("column 1, 'path', as path; header") },
    { "quoted cells of TSV", BYTES("\"a.jpg\"\t\"my \"\"cat\"\"\"\n\"b.jpg\"\tdog\n"), "",
      { 0 }, TAKES("column 1 as path, column 2 as label; no header") },
    { "a JSON array of objects, as pandas writes its records",
      BYTES("[{\"file\":\"a\\/b.jpg\",\"label\":3},{\"file\":\"c.jpg\",\"label\":4}]\n"), "",
      { 0 }, TAKES("'file' as path, 'label' as label; JSON array") },
    { "a JSON array with several labels", BYTES("[{\"path\": \"a.jpg\", \"label\": [1, 2]}]\n"),
      "", { 0 },
      "'l': 'label' of the first object holds several values, an image has one label "
      "(label_column)" },
    { "several labels that nobody wants",
      BYTES("[{\"path\": \"a.jpg\", \"label\": [1, 2]}]\n"), "", { .label_column = "0" },
      TAKES("'path' as path; JSON array") },
    { "an array of cells", BYTES("[[0, \"a.jpg\", \"cat\"],\n [1, \"b.jpg\", \"dog\"]]\n"), "",
      { 0 }, TAKES("column 2 as path, column 3 as label, leaves out 1; JSON array") },
    { "an array of two paths and a label: asked", BYTES("[[\"a.jpg\", \"b.png\", 1]]\n"), "",
      { 0 }, "'l': columns 1 and 2 may both be the path (path_column)" },
    { "one of them given", BYTES("[[\"a.jpg\", \"b.png\", 1]]\n"), "",
      { .path_column = "2", .label_column = "3" },
      TAKES("column 2 as path, column 3 as label, leaves out 1; JSON array") },
    { "a column of cells that is not there", BYTES("[[\"a.jpg\", 1]]\n"), "",
      { .path_column = "3" },
      "path_column: 'l' has no column '3', its first row has 2 (path_column)" },
    { "an array of paths", BYTES("[\"a.jpg\", \"b.jpg\"]\n"), "", { 0 },
      TAKES("column 1 as path; JSON array") },
    { "StyleGAN's dataset.json",
      BYTES("{\"labels\": [[\"00000/img00000000.png\", 6], [\"00000/img00000001.png\", 9]]}\n"),
      "", { 0 }, TAKES("column 1 as path, column 2 as label; StyleGAN's dataset.json") },
    { "StyleGAN's behind other members",
      BYTES("{\"size\": [1, {\"labels\": 3}],\n\"labels\": [[\"a.png\", 6]]}\n"), "", { 0 },
      TAKES("column 1 as path, column 2 as label; StyleGAN's dataset.json") },
    { "StyleGAN's with cameras as labels", BYTES("{\"labels\": [[\"a.png\", [0.5, 1]]]}\n"),
      "", { 0 },
      "l:1: element 1: value 2 is an array or object: an image has one label, a number or a "
      "text (label_column)" },
    { "which are left out when asked", BYTES("{\"labels\": [[\"a.png\", [0.5, 1]]]}\n"), "",
      { .label_column = "0" },
      TAKES("column 1 as path, leaves out 1; StyleGAN's dataset.json") },
    { "StyleGAN's without labels", BYTES("{\"labels\": null}\n"), "", { 0 },
      "'l': 'labels' is null, it names no images: the folder that they are in is the source, "
      "without a list (no_labels)" },
    { "StyleGAN's, empty", BYTES("{\"labels\": [] }\n"), "", { 0 }, "list 'l' is empty" },
    { "JSON lines with a member called so", BYTES("{\"labels\": [1], \"path\": \"a.jpg\"}\n"),
      "", { 0 }, TAKES("'path' as path; JSON lines") },
    { "an object of labels", BYTES("{\"a.jpg\": 3,\n\"b/c.PNG\": 4}\n"), "", { 0 },
      TAKES("each key as path, each value as label; JSON object") },
    { "an object of several labels", BYTES("{\"a.jpg\": [3, 4]}\n"), "", { 0 },
      "l:1: element 1: value 2 is an array or object: an image has one label, a number or a "
      "text (label_column)" },
    { "pandas' columns",
      BYTES("{\"file\":{\"0\":\"a.jpg\",\"1\":\"b.jpg\"},\"label\":{\"0\":3,\"1\":4}}\n"), "",
      { 0 },
      "'l' is a table in pandas' form 'columns', not an object for each image: "
      "to_json(orient=\"records\") writes such a list" },
    { "pandas' index", BYTES("{\"0\":{\"file\":\"a.jpg\"},\"1\":{\"file\":\"b.jpg\"}}\n"), "",
      { 0 },
      "'l' is a table in pandas' form 'index', not an object for each image: "
      "to_json(orient=\"records\") writes such a list" },
    { "pandas' split",
      BYTES("{\"columns\":[\"file\"],\"index\":[0],\"data\":[[\"a.jpg\"]]}\n"), "", { 0 },
      "'l' is a table in pandas' form 'split', not an object for each image: "
      "to_json(orient=\"records\") writes such a list" },
    { "pandas' table",
      BYTES("{\"schema\":{\"fields\":[]},\"data\":[{\"file\":\"a.jpg\"}]}\n"), "", { 0 },
      "'l' is a table in pandas' form 'table', not an object for each image: "
      "to_json(orient=\"records\") writes such a list" },
    { "lists by column", BYTES("{\"path\": [\"a.jpg\"], \"label\": [3]}\n"), "", { 0 },
      "'l' is a table in pandas' form 'list', not an object for each image: "
      "to_json(orient=\"records\") writes such a list" },
    { "an empty array", BYTES("[ ]\n"), "", { 0 }, "list 'l' is empty" },
    { "names in brackets", BYTES("[1].jpg\n[2].jpg\n"), "", { 0 },
      TAKES("each line as path; no header") },
    { "a name in braces", BYTES("{7c0}.jpg\n{7c1}.jpg\n"), "", { 0 },
      TAKES("each line as path; no header") },

    /* no lists */
    { "HDF5", BYTES("\x89HDF\r\n\x1a\n\0\0\0"), "", { 0 },
      "'l' is an HDF5 file, not a list of images" },
    { "JPEG", BYTES("\xff\xd8\xff\xe0\0\x10JFIF"), "", { 0 },
      "'l' is an image (JPEG), not a list of images (list)" },
    { "PNG", BYTES("\x89PNG\r\n\x1a\n\0\0"), "", { 0 },
      "'l' is an image (PNG), not a list of images (list)" },
    { "BMP", BYTES("BM\x36\x10\x00\x00\x00\x00\x00\x00\x36"), "", { 0 },
      "'l' is an image (BMP), not a list of images (list)" },
    { "WebP", BYTES("RIFF\x10\0\0\0WEBPVP8 "), "", { 0 },
      "'l' is an image (WebP), not a list of images (list)" },
    { "gzip", BYTES("\x1f\x8b\x08\0\0\0"), "", { 0 },
      "'l' is compressed (gzip), not a list of images: unpack it first" },
    { "an Excel workbook", BYTES("PK\3\4\x14\0\6\0"), "", { 0 },
      "'l' is a ZIP archive or an Excel workbook, not a list of images: unpack it, or save it "
      "as CSV" },
    { "UTF-16 as Excel writes it", BYTES("\xff\xfep\0a\0t\0h\0\n\0"), "", { 0 },
      "'l' is UTF-16 text, as Excel's \"Unicode Text\" and PowerShell write it: save it as "
      "CSV UTF-8, or convert it, by iconv -f UTF-16 -t UTF-8 l" },
    { "UTF-16 in the other order", BYTES("\xfe\xff\0p\0a\0t\0h\0\n"), "", { 0 },
      "'l' is UTF-16 text, as Excel's \"Unicode Text\" and PowerShell write it: save it as "
      "CSV UTF-8, or convert it, by iconv -f UTF-16 -t UTF-8 l" },
    { "UTF-16 without a byte order mark", BYTES("a\0.\0j\0p\0g\0\n\0"), "", { 0 },
      "'l' is UTF-16 text, as Excel's \"Unicode Text\" and PowerShell write it: save it as "
      "CSV UTF-8, or convert it, by iconv -f UTF-16LE -t UTF-8 l" },
    { "of which the high bytes are first", BYTES("\0p\0\xe4\0t\0h\0\n"), "", { 0 },
      "'l' is UTF-16 text, as Excel's \"Unicode Text\" and PowerShell write it: save it as "
      "CSV UTF-8, or convert it, by iconv -f UTF-16BE -t UTF-8 l" },
    { "paths of a letter each, apart by NUL", BYTES("a\0b\0c\0d\0e\0"), "",
      { .format = PACK_LIST_NULL }, TAKES("each line as path; no header") },
    { "a name that starts as a BMP does", BYTES("BMW/1.jpg\nBMW/2.jpg\n"), "", { 0 },
      TAKES("each line as path; no header") },
    { "nothing", BYTES(""), "", { 0 }, "list 'l' is empty" },
};

static enum pack_list_look
look(void *context, const char *path)
{
    char text[256];
    snprintf(text, sizeof text, "|%s|", path);
    if (strstr(context, text))
        return PACK_LOOK_FILE;
    snprintf(text, sizeof text, "|%s/|", path);
    return strstr(context, text) ? PACK_LOOK_FOLDER : PACK_LOOK_NOTHING;
}

static void
recognise(const struct sample *s, const char *bytes, size_t size, char text[2048])
{
    struct pack_error err = { .text = "" };
    struct pack_list_form *form = calloc(1, sizeof *form);
    struct pack_list_params params = s->params;
    struct pack_list_head head = { .size = size, .capacity = size, .is_whole = true };
    head.bytes = malloc(size ? size : 1); /* so that sanitizers see the end */
    memcpy(head.bytes, bytes, size);
    head.start = size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    params.look = look;
    params.look_context = (void *)s->there;
    if (pack_list_recognise(&head, "l", &params, form, &err) == PACK_OK)
        snprintf(text, 2048, "%s", form->is_coco ? "COCO" : form->taken);
    else
        snprintf(text, 2048, "%s%s%s%s", err.text, err.param ? " (" : "",
                 err.param ? err.param : "", err.param ? ")" : "");
    free(head.bytes);
    free(form);
}

static void
test_samples(void)
{
    char text[2048];
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        recognise(&samples[i], samples[i].bytes, samples[i].size, text);
        is_text(text, samples[i].want, samples[i].what);
    }
}

/* A byte order mark, CRLF, and a last line without end change nothing. */
static void
test_line_ends(void)
{
    int wrong = 0;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        const struct sample *s = &samples[i];
        char text[2048], bytes[1024] = "\xef\xbb\xbf";
        size_t n = 3;
        if (memchr(s->bytes, '\0', s->size) || memchr(s->bytes, '\r', s->size) ||
            s->size == 0 || s->bytes[s->size - 1] != '\n')
            continue;
        for (size_t k = 0; k + 1 < s->size; k++) {
            if (s->bytes[k] == '\n')
                bytes[n++] = '\r';
            bytes[n++] = s->bytes[k];
        }
        recognise(s, bytes, n, text);
        if (strcmp(text, s->want) == 0)
            continue;
        note("%s: '%s'", s->what, text);
        wrong++;
    }
    ok(wrong == 0, "a byte order mark, CRLF and a last line without an end change nothing");
}

/* A list that goes on behind the head is judged by the rows that are there whole. */
static void
test_cut_head(void)
{
    static const char list[] = "a.jpg 1\nb.jpg 2\nc.jp";
    struct pack_list_head head = { .bytes = (unsigned char *)list,
                                   .size = sizeof list - 1,
                                   .capacity = sizeof list - 1 };
    struct pack_list_params params = { 0 };
    struct pack_list_form *form = calloc(1, sizeof *form);
    pack_list_recognise(&head, "l", &params, form, NULL);
    is_text(form->taken, TAKES("column 1 as path, column 2 as label; no header"),
            "a row that the head cuts short does not count");
    free(form);
}

static void
test_coco(void)
{
    static const struct sample s = { .there = "" };
    static const char *const texts[] = {
        "{\"info\": {\"images\": 3}, \"images\": [], \"annotations\": []}",
        "{\n \"licenses\": [{\"a\": \"}\\\"\"}],\n \"annotations\" : []}",
    };
    char text[2048];
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        recognise(&s, texts[i], strlen(texts[i]), text);
        is_text(text, "COCO", "an object with images, annotations or categories is COCO's");
    }
    static const char line[] = "{\"x\": {\"images\": 1}, \"path\": \"a.jpg\"}\n";
    recognise(&s, line, sizeof line - 1, text);
    is_text(text, "takes 'path' as path; JSON lines", "one with them further in is not");
    static const char ended[] = "{\"images\" \n";
    recognise(&s, ended, sizeof ended - 1, text);
    ok(strcmp(text, "COCO") != 0, "nor is one that ends behind such a key");
}

/* Lists that end anywhere: sanitizers see what is read beside them. */
static void
test_every_end(void)
{
    int n_silent = 0;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++)
        for (size_t size = 0; size < samples[i].size; size++) {
            char text[2048] = "";
            recognise(&samples[i], samples[i].bytes, size, text);
            n_silent += !text[0];
        }
    ok(n_silent == 0, "a list that ends anywhere is taken or refused in words");

    static const struct sample s = { .there = "" };
    char text[2048];
    recognise(&s, "\"", 1, text);
    is_text(text,
            "'l': no column of it is known to be the path, it starts with '\"' (path_column)",
            "a quote alone is no path");
}

int
main(void)
{
    test_samples();
    test_every_end();
    test_line_ends();
    test_cut_head();
    test_coco();
    return done();
}
