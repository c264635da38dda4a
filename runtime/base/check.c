/* check.c - see check.h. */
#include "runtime/base/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void check_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "penstock: %s:%d: this cannot happen: %s is false (a bug of ours)\n", file,
            line, what);
    abort();
}
