# the whole option table, within 80 columns
h5pack --help
h5pack --help | awk 'length > 80 { print "too long: " $0 }' >&2
h5pack --version
