# Before the program starts: compile it.  A task finds the library's header and libdet.so by
# itself; BLAS is OpenBLAS (Debian: libopenblas-serial-dev).
echo '#include <cblas.h>' | cc -E - >/dev/null 2>&1 || {
    echo "cblas.h is missing: install OpenBLAS (Debian and Ubuntu: libopenblas-serial-dev)" >&2
    exit 1
}
cc -O2 -std=c99 -o train train.c net.c draw.c -ldet -lopenblas -lm
