# Prints the declarations in which something follows the error that is to be written. Those
# whose last parameters are a sentence (..., va_list) and those that only make one are let be.
FNR == 1 { text = "" }
{ text = text " " $0 }
/[;{}]/ {
    if (text ~ /struct pack_error \*[a-z_]*,/ && text !~ /const struct pack_error|\.\.\.|va_list/ &&
        text !~ /pack_fail[a-z_]*\(|pack_error_[a-z]+\(/) {
        sub(/^.*[ *]enum pack_status/, "enum pack_status", text)
        gsub(/[ \t]+/, " ", text)
        print FILENAME ":" FNR ": " text
    }
    text = ""
}
