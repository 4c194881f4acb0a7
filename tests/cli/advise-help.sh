# the whole option table, within 80 columns
h5advise --help
h5advise --help | awk 'length > 80 { print "too long: " $0 }' >&2
h5advise --version
