# Before the program starts: compile it.  A task finds the library's header and libdet.so
# by itself.
cc -O2 -std=c99 -o train train.c -ldet -lm
